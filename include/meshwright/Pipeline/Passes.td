//===- Passes.td - the whole compiler as a pass ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PIPELINE_PASSES_TD
#define MESHWRIGHT_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def CompilePass : Pass<"dist-compile", "::mlir::ModuleOp"> {
  let summary = "runs all stages by a strategy";
  let description = [{
    Compiles the module as `dist-opt --strategy=FILE` does, and leaves the distributed step. For tools that load the
    plugin, and for pipelines of which this is a part.

    Example: `mlir-opt --load-dialect-plugin=libMeshwrightPlugin.so --load-pass-plugin=libMeshwrightPlugin.so
    model.mlir --pass-pipeline='builtin.module(dist-compile{strategy=s.textproto to=partition})'`
  }];
  let options = [
    Option<"strategy", "strategy", "std::string", "\"\"", "Strategy in protobuf text format: a file, or the text itself">,
    Option<"ranks", "ranks", "int64_t", "0", "Number of ranks, for an axis of size 0">,
    Option<"to", "to", "std::string", "\"schedule\"", "The last stage: import, train, annotate, complete, partition, optimize, schedule">,
    Option<"emit", "emit", "std::string", "\"\"", "Folder of a package to write; the last stage is Emit then">];
}

#endif
