//===- StageCut.h - pipeline stages as the strategy asks --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STAGECUT_H
#define MESHWRIGHT_LIB_ANNOTATE_STAGECUT_H

#include "StageFlow.h"
#include "StageProgram.h"
#include "meshwright/Annotate/Passes.h"
#include "meshwright/Strategy/Strategy.h"

namespace meshwright::annotate {

/// The stages that the strategy allows for operations.
struct StageCut {
  /// The stage of the block of `op`, if it is a single one.
  std::optional<int64_t> getPlace(mlir::Operation *op) const;

  /// Allowed stages of operations in blocks, or by globs.
  llvm::DenseMap<mlir::Operation *, StageRange> ofPlace;
  /// Allowed stages around named values at which a stage ends.
  llvm::DenseMap<mlir::Operation *, StageRange> ofEnd;
};

/// Cuts `program` into the stages of `order` as `pipeline.stages` of the strategy asks. Stages balanced by cost stay
/// within `bound`, unless it is null. Errors are located at the strategy's lines.
mlir::FailureOr<StageCut> findCut(const StageProgram &program, const strategy::StrategyFile &file,
                                  const schedule::TaskOrder &order, StageBound *bound);

} // namespace meshwright::annotate

#endif
