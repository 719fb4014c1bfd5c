//===- StageCut.h - where the strategy cuts the network ---------*- C++ -*-===//
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

/// What the strategy says of the stages of operations.
struct StageCut {
  /// The one stage that the place of `op` says; none where that is several or any.
  std::optional<int64_t> getPlace(mlir::Operation *op) const;

  /// The stages of what lies in blocks, or matches a glob.
  llvm::DenseMap<mlir::Operation *, StageRange> ofPlace;
  /// Those of what makes a value behind which a stage ends, and of what reads it.
  llvm::DenseMap<mlir::Operation *, StageRange> ofEnd;
};

/// Cuts `program` into the stages of `order` as `pipeline.stages` of the strategy asks; stages of the same cost within
/// `bound`, unless it is null. Errors are at its lines.
mlir::FailureOr<StageCut> findCut(const StageProgram &program, const strategy::StrategyFile &file,
                                  const schedule::TaskOrder &order, StageBound *bound);

} // namespace meshwright::annotate

#endif
