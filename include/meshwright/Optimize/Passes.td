//===- Passes.td - the passes of Optimize ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_PASSES_TD
#define MESHWRIGHT_OPTIMIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def MergeConversionsPass : Pass<"dist-optimize-merge-conversions", "mlir::ModuleOp"> {
  let summary = "merges equal conversions, and reductions whose results are added";
  let description = [{
    Merges conversions of the same value with the same placements: several targets of a value often begin with the same
    step. If reductions of partial sums are operands of an operation that is linear in them, and have no other use, one
    reduction after the operation replaces them: a + b is reduced instead of a and b. Results do not depend on this
    pass.

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
  let statistics = [Statistic<"numMerged", "merged", "Number of conversions replaced by an equal one">,
                    Statistic<"numJoined", "joined", "Number of reductions saved by reducing a sum instead of its terms">];
}

def SplitSendsPass : Pass<"dist-optimize-split-sends", "mlir::ModuleOp"> {
  let summary = "sends a replicated value in pieces, one from each replica";
  let description = [{
    A value that a pipeline stage sends, and that is replicated over n ranks of other axes, would be sent whole by each
    of these ranks. This pass lets each send 1/n of it, and the receivers all-gather the pieces: the links between the
    stages carry 1/n of the bytes, the others those of the gather. It uses all axes on which the value is replicated, or
    the fastest of them, such that their sizes divide a dimension of a rank's part, the outermost one if there are
    several. Values below `least-kilobytes` are sent whole: starting the gather would take longer than it saves. So are
    values sent once, before the first of several micro-batches, such as a parameter that two stages use: every
    micro-batch would gather it again. The program is correct without this pass.

    Example: each of two ranks along `tp` sends one half.
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
    Option<"leastSize", "least-kilobytes", "::meshwright::Kilobytes", "16",
           "Least bytes on a rank of a value that is sent in pieces, in kilobytes (10^3 bytes)">
  ];
  let statistics = [Statistic<"numSplit", "split", "Number of values sent in pieces">];
}

def KeepFetchesPass : Pass<"dist-optimize-keep-fetches", "mlir::ModuleOp"> {
  let summary = "fetches parameters once in a step of several slices";
  let description = [{
    Every slice of a batch fetches the sharded parameters that it reads, and in a pipeline every task does, forward and
    backward. This pass leaves one fetch of each parameter for forward and backward together, once in a step
    (`dist.once`): before the first micro-batch of a pipeline, otherwise in the first slice. Its result is kept until
    the end of the step. Fetches in loops stay as they are.

    Example: `%1` and `%2` gather the same parameter, in forward and in backward
    ```mlir
    %1 = dist.c_allgather %0 axes ["dp"] … {net.role = #net.role<forward>}
    %2 = dist.c_allgather %0 axes ["dp"] … {net.role = #net.role<backward>}
    // becomes, with %1 in the place of %2
    %1 = dist.c_allgather %0 axes ["dp"] … {dist.once, net.role = #net.role<forward>}
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let statistics = [Statistic<"numShared", "shared", "Number of fetches replaced by an equal one">];
}

#endif
