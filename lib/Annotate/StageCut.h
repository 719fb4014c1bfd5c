//===- StageCut.h - where the strategy cuts the network ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STAGECUT_H
#define MESHWRIGHT_LIB_ANNOTATE_STAGECUT_H

#include "StageFlow.h"
#include "StageProgram.h"
#include "meshwright/Strategy/Strategy.h"

namespace meshwright::annotate {

/// What the strategy says of the stages of operations.
struct StageCut {
  /// The stages of what lies in blocks, or matches a glob.
  llvm::DenseMap<mlir::Operation *, StageRange> ofPlace;
  /// Those of what makes a value behind which a stage ends, and of what reads it.
  llvm::DenseMap<mlir::Operation *, StageRange> ofEnd;
};

/// Finds the blocks of `program` and cuts it as `pipeline.stages` of the strategy asks, for that many micro-batches in
/// flight on a rank at most. Errors are at the strategy's lines.
mlir::FailureOr<StageCut> findCut(const StageProgram &program, const strategy::StrategyFile &file, int64_t numStages,
                                  int64_t inFlight);

} // namespace meshwright::annotate

#endif
