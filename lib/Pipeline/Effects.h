//===- Effects.h - warnings about strategies without effect ------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warnings about legal settings that silently cost the user ranks, memory or time. Each is given once, at the field of
// the strategy that causes it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_EFFECTS_H
#define MESHWRIGHT_LIB_PIPELINE_EFFECTS_H

#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// Warns of fields of a checked strategy that nothing reads, because of what other fields say.
void warnOfUnusedFields(mlir::MLIRContext *context, const strategy::StrategyFile &file);

/// Warns of rules of `init` and `train.group` that match, but only what an earlier rule decides. After Import.
void warnOfUnusedRules(mlir::ModuleOp module, const strategy::StrategyFile &file);

/// Warns of axes along which all ranks have the same values. After Complete.
void warnOfUnusedAxes(mlir::ModuleOp module, const strategy::StrategyFile &file);

/// Warns where ranks together do more than twice the floating-point operations of the serial step.
void warnOfReplicatedWork(mlir::MLIRContext *context, const strategy::StrategyFile &file, double flopsOfRanks,
                          double serialFlops);

} // namespace meshwright

#endif
