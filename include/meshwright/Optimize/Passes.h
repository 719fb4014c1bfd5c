//===- Passes.h - the passes of Optimize ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that merge, defer, move and split conversions. A program is correct without any of them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_PASSES_H
#define MESHWRIGHT_OPTIMIZE_PASSES_H

#include "meshwright/Support/Units.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshwright::optimize {

#define GEN_PASS_DECL
#include "meshwright/Optimize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Optimize/Passes.h.inc"

/// The strategy's options for Optimize.
struct Options {
  /// True to fetch each parameter once per step and keep it over all slices of the batch.
  bool keepFetches = false;
};

/// Adds the passes of Optimize, in order.
void buildPipeline(mlir::OpPassManager &manager, const Options &options = {});

} // namespace meshwright::optimize

#endif
