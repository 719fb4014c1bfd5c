//===- Passes.td - the passes of Partition --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITION_PASSES_TD
#define MESHWRIGHT_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def MaterializeReshardsPass : Pass<"dist-partition-materialize-reshards", "mlir::ModuleOp"> {
  let summary = "inserts an operation for every conversion between placements";
  let description = [{
    Operations state the placements in which they read their operands (`dist.operands`), compute their results
    (`dist.computes`) and leave them (`dist.results`). This pass inserts a `dist.reshard` wherever two of these differ:
    from the computed placement to that of the result directly after the definition, and from the result's to the
    operand's before the first use that needs it. Uses with the same placement share one conversion, and uses that need
    a partial value reduced in several ways share the reduction. Variables are read and assigned in the placement in
    which they are kept.

    Example: the operand of `net.tanh` is gathered.
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
  let summary = "rewrites the global program to the shapes of one rank";
  let description = [{
    Rewrites every operation for one rank by its own `localize`, on operands of local shape. Padding beyond a rank's
    part is filled with the neutral element before an operation reads across it. A `dist.reshard` becomes the cheapest
    steps between its placements. Variables, arguments and results of functions get their local type; `net.global_type`
    keeps the global one. An operation whose placements do not follow its sharding rule is an error: it would compute
    another result.

    Along a time axis nothing is sent. A partial value is summed in a variable, `accumulator/…`, and the parts of a
    split value are collected in one; both are complete after the last slice of a batch. That is when results are
    returned and variables assigned (`dist.during`).

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
           "True to reduce-scatter a sum over slices in every slice instead of once, if ranks keep parts of it">
  ];
  let statistics = [Statistic<"numCollectives", "collectives", "Number of collectives made">,
                    Statistic<"numMasks", "masks", "Number of operands whose padding is filled">];
}

def FormConditionalsPass : Pass<"dist-partition-form-conditionals", "mlir::ModuleOp"> {
  let summary = "moves what only the last of several steps needs into a counted conditional";
  let description = [{
    Applies to meshes with an axis of accumulation steps. Operations that only the last step needs, by the times of
    assignments and results (`dist.during`), move into one `dist.when` at the end of the function: the reductions of
    gradients, the update, and their collectives. Assignments in it have no `dist.during` of that axis any more.

    Partition and Optimize end with this pass. `dist-partition-inline-conditionals` is its inverse.

    Example: over four steps
    ```mlir
    %total = dist.c_allreduce %sum …
    net.assign @p.w, %new {dist.during = {accumulation = array<i64: 3>}} : tensor<4xf32>
    // becomes
    dist.when {accumulation = array<i64: 3>} {
      %total = dist.c_allreduce %sum …
      net.assign @p.w, %new : tensor<4xf32>
      dist.yield
    }
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
}

def InlineConditionalsPass : Pass<"dist-partition-inline-conditionals", "mlir::ModuleOp"> {
  let summary = "puts the operations of counted conditionals in their place";
  let description = [{
    The inverse of `dist-partition-form-conditionals`, with which Optimize and Schedule begin: their passes work on one
    straight line, in which an operation may come to be needed at more times. An operation that is needed at times at
    which its conditional leaves it out is an error.
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
}

def VerifyPass : Pass<"dist-partition-verify", "mlir::ModuleOp"> {
  let summary = "checks that no global shape and no implicit conversion is left";
  let description = [{
    Checks that no `dist.reshard` and no operation with the placements of a global value is left, that arguments,
    results and variables have the local type of their placement, and that a conversion starts from its operand's
    placement, if the operand's maker states one. Then infers the placement of every value from what the operations
    compute, by a table that is not the sharding rules, and checks that no partial value is used as if it were whole and
    that what conversions, assignments and results state is what they get. A program with counted conditionals is checked
    without them, in a copy.
  }];
}

#endif
