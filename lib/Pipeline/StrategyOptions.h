//===- StrategyOptions.h - pass options from a strategy ----------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_STRATEGYOPTIONS_H
#define MESHWRIGHT_LIB_PIPELINE_STRATEGYOPTIONS_H

#include "Fit.h"
#include "meshwright/Complete/Passes.h"
#include "meshwright/Import/Import.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Strategy/Strategy.h"
#include "meshwright/Train/Passes.h"

namespace meshwright {

/// The options of Import.
importer::Options getImportOptions(const strategy::Strategy &strategy);

/// The options of Train, with where the strategy has them.
train::Options getTrainOptions(const strategy::StrategyFile &file, mlir::MLIRContext *context);

/// The options of the values that the step returns (`fetch`).
train::FetchOptions getFetchOptions(const strategy::StrategyFile &file, mlir::MLIRContext *context);

/// The options of Complete, with where the strategy has them.
complete::Options getCompleteOptions(const strategy::StrategyFile &file, mlir::MLIRContext *context);

/// The options of Partition.
partition::LocalizeShapesPassOptions getPartitionOptions(const strategy::Strategy &strategy);

/// The options of Optimize.
optimize::Options getOptimizeOptions(const strategy::StrategyFile &file);

/// Writes a choice to the options of recompute.
void setRecompute(complete::RecomputePassOptions &options, const FitChoice &choice);

/// The options of Schedule; `optimize` says whether communication may overlap computation.
schedule::Options getScheduleOptions(const strategy::Strategy &strategy, bool optimize);

} // namespace meshwright

#endif
