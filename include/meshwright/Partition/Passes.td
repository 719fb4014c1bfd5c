//===- Passes.td - the passes of Partition --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITION_PASSES_TD
#define MESHWRIGHT_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def MaterializeReshardsPass : Pass<"dist-partition-materialize-reshards", "mlir::ModuleOp"> {
  let summary = "makes every conversion between placements an operation";
  let description = [{
    Every operation has stated in which placements it reads its operands (`dist.operands`), computes its results
    (`dist.computes`) and leaves them (`dist.results`). Where two that meet differ, a `dist.reshard` is inserted: from the
    computed placement to that of the result right after the definition, from the result's to the operand's before the first use
    that asks for it. Uses that ask for the same share one conversion, and uses that need a partial value reduced in several ways
    share the reduction. Variables are read from the placement in which they are kept, and assigned to it.

    Example: with `@a` below both products take the same gathered operand.
    ```mlir
    %0 = net.exponential %x {dist.results = [#dist.mapping<dims = [["tp"]]>]} : tensor<8xf32>
    %1 = net.tanh %0 {dist.operands = [#dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[]]>]} : tensor<8xf32>
    // becomes
    %r = dist.reshard %0 from <dims = [["tp"]]> to <dims = [[]]> : tensor<8xf32>
    %1 = net.tanh %r …
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let statistics = [Statistic<"numReshards", "reshards", "Number of conversions inserted">];
}

def LocalizeShapesPass : Pass<"dist-partition-localize-shapes", "mlir::ModuleOp"> {
  let summary = "turns the program of all ranks into the program of one";
  let description = [{
    Every operation is rewritten for one rank by its own `localize`, on operands of local shape. What lies beyond a rank's
    part is filled with the neutral element before an operation reads across it. A `dist.reshard` becomes the cheapest steps between
    its placements. Variables, arguments and results of functions get their local type; the whole one stays in `dist.global_type`.
    An operation whose placements do not follow its sharding rule is an error: it would compute something else.

    Along an axis of times nothing is sent. What is partial is added up in a variable, `accumulator/…`, and what is split is put
    together in one; behind the last of the slices of a batch it is whole. That is when results are returned and variables assigned
    (`dist.during`).

    Example:
    ```mlir
    %1 = dist.reshard %0 from <dims = [[]], partial = sum ["tp"]> to <dims = [["tp"]]> : tensor<8xf32>
    // becomes
    %1 = dist.c_reducescatter %0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [["tp"]]> shape [8]
         : tensor<8xf32> -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let options = [
    Option<"scatterSlices", "scatter-slices", "bool", "false",
           "Whether a sum over slices of which ranks keep parts is reduced to these for every slice, and not once">
  ];
  let statistics = [Statistic<"numCollectives", "collectives", "Number of collectives made">,
                    Statistic<"numMasks", "masks", "Number of operands whose rest is filled">];
}

def VerifyPass : Pass<"dist-partition-verify", "mlir::ModuleOp"> {
  let summary = "checks that no global shape and no implied movement of data is left";
  let description = [{
    Afterwards there is no `dist.reshard` and no operation with the placements of a global value; arguments, results and
    variables have the local type of their placement; and a conversion starts from the placement in which its operand is, as far as
    that is stated where the operand comes from.
  }];
}

#endif
