//===- Passes.h - the passes of Optimize ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions merged, deferred, moved and split. A program is right without any of them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_PASSES_H
#define MESHWRIGHT_OPTIMIZE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshwright::optimize {

#define GEN_PASS_DECL
#include "meshwright/Optimize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Optimize/Passes.h.inc"

/// What a strategy says about Optimize.
struct Options {
  /// Whether fetched parameters are kept as long as the step, over all slices of its batch.
  bool keepFetches = false;
};

/// Adds the passes of Optimize, in order.
void buildPipeline(mlir::OpPassManager &manager, const Options &options = {});

} // namespace meshwright::optimize

#endif
