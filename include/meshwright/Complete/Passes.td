//===- Passes.td - passes of Complete -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COMPLETE_PASSES_TD
#define MESHWRIGHT_COMPLETE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagatePass : Pass<"dist-complete-propagate", "::mlir::ModuleOp"> {
  let summary = "gives every value a placement, one mesh axis at a time";
  let description = [{
    Starts from the mappings of arguments and variables (an axis that they do not mention is replicated) and of
    annotated results (an axis that they do not mention is free), and decides for every operation, on every axis,
    which factor is split, or that partial operands pass, or that it is computed whole. One forward sweep, one reverse
    sweep, and the same once more with what the second look annotated: linear in the number of operations.

    Writes `dist.results` and `dist.operands` on every operation, `dist.computes` where a result leaves the
    computation in another placement than it is kept in, and `dist.mapping` on the function's results.

    Example: a row-parallel product leaves a partial sum, which is reduced where it is first needed whole.
    ```mlir
    %w = net.read @w : tensor<8x4xf32>          // @w: dims = [["tp"], []]
    %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x4xf32>
    // becomes: dist.computes = [partial = sum ["tp"]], dist.results = [replicated]
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let statistics = [
    Statistic<"numConversions", "conversions", "Conversions between placements that the plan implies">,
    Statistic<"numReductions", "reductions", "Conversions that reduce a partial value">
  ];
}

def VerifyPass : Pass<"dist-complete-verify", "::mlir::ModuleOp"> {
  let summary = "checks that every value has a placement";
  let description = [{
    The gate of Complete: afterwards there is no value without a placement that resolves against the mesh, and
    every operation says how it reads its operands.

    Example: `dist-opt model.mlir --dist-complete-propagate --dist-complete-verify`
  }];
}

#endif
