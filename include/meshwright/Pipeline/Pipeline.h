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
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the passes of all stages by their flags.
void registerAllPasses();

} // namespace meshwright

#endif
