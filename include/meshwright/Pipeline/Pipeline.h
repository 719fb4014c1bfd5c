//===- Pipeline.h - all stages together -------------------------*- C++ -*-===//
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

/// Adds the dialects of Meshwright, those that it lowers to, and what the operations of `net` mean.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Makes the passes of all stages known by their flags.
void registerAllPasses();

} // namespace meshwright

#endif
