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

def SplitSendsPass : Pass<"dist-optimize-split-sends", "mlir::ModuleOp"> {
  let summary = "sends what several ranks have in pieces, one from each";
  let description = [{
    A value that a stage of a pipeline sends, and that is replicated over other axes of ranks, would be sent whole by each of these ranks. Of each
    it takes its own piece instead, and the ranks that receive them gather: over the link between the stages go 1/n of the bytes,
    over the others what the gather takes. All axes on which the value is replicated take part, or the fastest of them, such that
    their sizes divide a dimension of what a rank has, the outermost one if there are several. Below `least-kilobytes` a value is
    sent as it is: the gather would take longer to start than the link is spared. So is what is sent once, before the first of several
    micro-batches, a parameter that two stages use: every micro-batch would gather it. Nothing here is needed for correctness.

    Example: of two ranks along `tp` each sends a half.
    ```mlir
    %1 = dist.c_send %0 axes ["pp"] from <dims = [[]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [1]}> shape [8]
    // becomes
    %1 = dist.shard %0 at (%tp) axes ["tp"] from <dims = [[]], on {"pp" = [0]}> to <dims = [["tp"]], on {"pp" = [0]}> shape [8]
    %2 = dist.c_send %1 axes ["pp"] from <dims = [["tp"]], on {"pp" = [0]}> to <dims = [["tp"]], on {"pp" = [1]}> shape [8]
    %3 = dist.c_allgather %2 axes ["tp"] from <dims = [["tp"]], on {"pp" = [1]}> to <dims = [[]], on {"pp" = [1]}> shape [8]
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let options = [
    Option<"leastKilobytes", "least-kilobytes", "double", "16",
           "What a rank has at least of a value that is sent in pieces, in kilobytes (10^3 bytes)">
  ];
  let statistics = [Statistic<"numSplit", "split", "Number of values sent in pieces">];
}

def KeepFetchesPass : Pass<"dist-optimize-keep-fetches", "mlir::ModuleOp"> {
  let summary = "fetches parameters once in a step of several slices";
  let description = [{
    Every slice of a batch fetches the sharded parameters that it reads, and in a pipeline each task does, forward and backward. After this pass
    one fetch of a parameter is left for forward and backward together. It is done once in a step (`dist.once`): before the first
    micro-batch of a pipeline, else in the first slice. Its result is kept as long as the step. Fetches in loops stay as they are.

    Example: `%1` and `%2` gather the same parameter, in forward and in backward
    ```mlir
    %1 = dist.c_allgather %0 axes ["dp"] … {net.role = #net.role<forward>}
    %2 = dist.c_allgather %0 axes ["dp"] … {net.role = #net.role<backward>}
    // becomes, with %1 in the place of %2
    %1 = dist.c_allgather %0 axes ["dp"] … {dist.once, net.role = #net.role<forward>}
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let statistics = [Statistic<"numShared", "shared", "Number of fetches that an equal one stands for">];
}

#endif
