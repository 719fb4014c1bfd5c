//===- Passes.td - the passes of Emit -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EMIT_PASSES_TD
#define MESHWRIGHT_EMIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitPackagePass : Pass<"dist-emit", "mlir::ModuleOp"> {
  let summary = "writes the package of a scheduled module";
  let description = [{
    Compiles the kernels and writes the folder that `dist-run` executes. The module is not changed.

    Example: `dist-opt step.mlir --dist-schedule --dist-emit=path=out`
  }];
  let options = [Option<"path", "path", "std::string", "", "The folder of the package">,
                 ListOption<"targets", "targets", "std::string", "Targets that kernels are compiled for: x86-64-v3, native, sm_90, exact, twin">,
                 Option<"gpuReport", "gpu-report", "std::string", "", "Path of a JSON report of the kernels' launches and resources on GPUs">,
                 Option<"kernelCache", "kernel-cache", "std::string", "", "Path of a folder of compiled kernels, which are not compiled again">];
}

#endif
