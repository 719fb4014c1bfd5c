//===- Passes.td - the passes of Optimize ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_PASSES_TD
#define MESHWRIGHT_OPTIMIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def MergeConversionsPass : Pass<"dist-optimize-merge-conversions", "mlir::ModuleOp"> {
  let summary = "makes equal conversions one, and one of those that meet in a sum";
  let description = [{
    Two conversions of the same value with the same placements are one: several targets of a value often begin with the same
    step. Reductions of partial sums that meet in an operation which is linear in them, and are used nowhere else, are done once,
    after it: a + b is reduced instead of a and b. Nothing here is needed for correctness.

    Example:
    ```mlir
    %2 = dist.c_allreduce %0 axes ["tp"] …
    %3 = dist.c_allreduce %1 axes ["tp"] …
    %4 = net.add %2, %3 : tensor<8xf32>
    // becomes
    %2 = net.add %0, %1 : tensor<8xf32>
    %4 = dist.c_allreduce %2 axes ["tp"] …
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let statistics = [Statistic<"numMerged", "merged", "Number of conversions that an equal one stands for">,
                    Statistic<"numJoined", "joined", "Number of reductions saved because they meet in a sum">];
}

#endif
