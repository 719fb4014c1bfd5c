//===- Pipeline.h - registers all dialects and passes ------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PIPELINE_PIPELINE_H
#define MESHWRIGHT_PIPELINE_PIPELINE_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace meshwright {

/// Adds the dialects of Meshwright, the dialects they lower to, and the interfaces of the operations of `net`.
void registerCompilerDialects(mlir::DialectRegistry &registry);
/// The same, and the dialects of exported text: what `stablehlo`, `chlo` and `sdy` are parsed as. A context that has
/// StableHLO's own dialects does without.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the passes of all stages by their flags.
void registerAllPasses();

} // namespace meshwright

#endif
