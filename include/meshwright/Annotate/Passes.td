//===- Passes.td - passes of Annotate -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ANNOTATE_PASSES_TD
#define MESHWRIGHT_ANNOTATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlacementsPass : Pass<"dist-annotate-placements", "::mlir::ModuleOp"> {
  let summary = "adds the mesh and the placements that the strategy gives";
  let description = [{
    Creates the strategy's mesh. Splits the batch dimension of inputs over the data axes; parameters, and
    variables that are placed like them, over the tensor axis; with `sequence`, the value that enters the
    first block along its sequence dimension; and the values that `place` names. With `pipeline`, operations
    get `dist.stage` and variables are kept on the coordinate of their stage. Variables that `offload` names
    get `dist.memory` host. A glob without a match, and an axis that would split a value twice, are errors at
    the strategy's line.

    Example: with `data { axes: "dp" } model { batch { inputs: "ids" } }`
    ```mlir
    func.func @step(%ids: tensor<8x16xi32> {net.name = "ids"})
    // becomes
    func.func @step(%ids: tensor<8x16xi32> {net.name = "ids", dist.mapping = #dist.mapping<dims = [["dp"], []]>})
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let options = [
    Option<"strategy", "strategy", "std::string", "\"\"", "Strategy in protobuf text format: a file, or the text itself">,
    Option<"ranks", "ranks", "int64_t", "0", "Number of ranks, for an axis of size 0">
  ];
}

#endif
