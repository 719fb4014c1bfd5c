//===- Searches.cpp - choices that are compiled before they are made ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of a step is known only when it has been scheduled, so a choice that depends on it is tried on a copy.
// Nothing before the stage of the choice is done again.
//
//===----------------------------------------------------------------------===//

#include "Searches.h"
#include "Fit.h"
#include "PlanPrograms.h"
#include "PlanSegments.h"
#include "StrategyOptions.h"
#include "meshwright/Annotate/Passes.h"
#include "meshwright/Support/Units.h"

using namespace mlir;
using namespace meshwright;

/// The largest number of divisions of a network into stages that are compiled.
static constexpr int kMostCuts = 16;

/// Compiles a copy of the program, from Complete, which `complete` runs, up to its memory, and leaves the plan to tell
/// of it.
static LogicalResult compileCopy(Compilation &c, llvm::function_ref<LogicalResult()> complete) {
  // Warnings are printed when the program is compiled for good.
  ScopedDiagnosticHandler silent(&c.context, [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
  });
  OwningOpRef<ModuleOp> serialBefore = std::move(c.programs.serial),
                        evaluationBefore = std::move(c.programs.evaluation);
  OwningOpRef<ModuleOp> before = c.programs.step->clone();
  LogicalResult compiled = complete();
  for (Stage stage : {Stage::Partition, Stage::Optimize, Stage::Schedule})
    compiled = success(succeeded(compiled) && succeeded(runStage(c, stage)));
  if (succeeded(compiled))
    addMemory(c.plan, *c.programs.step);
  c.programs.step = std::move(before);
  c.programs.serial = std::move(serialBefore);
  c.programs.evaluation = std::move(evaluationBefore);
  return compiled;
}

LogicalResult meshwright::fitMemory(Compilation &c) {
  const auto &recompute = c.strategy.get().train().recompute();
  if (!c.strategy.get().train().has_recompute() || !recompute.has_fit())
    return success();
  const Plan before = c.plan;
  // Those first from which most is gained.
  std::vector<FitBlock> blocks;
  FitSearch search(recompute.fit());
  while (!search.isOver()) {
    setRecompute(c.completeOptions.recompute, search.getChoice(), blocks);
    if (failed(compileCopy(c, [&] { return completeStep(c); })))
      return failure();
    if (search.getNumTried() == 0) {
      for (const auto &[name, block] : getBlocks(c.plan))
        if (!name.empty() && block.forwardFlops > 0)
          blocks.push_back({name, block.keptBytes, block.forwardFlops});
      sortByGain(blocks);
      search.setBlocks(blocks.size());
    }
    search.report(getPeakBytes(c.plan));
    c.plan = before;
  }
  setRecompute(c.completeOptions.recompute, search.getChoice(), blocks);
  if (!search.fits())
    return emitError(c.strategy.getLoc(&c.context, "train.recompute.fit"))
           << "the arena is to fit " << recompute.fit() << " bytes but takes at least " << search.getLeast()
           << ", with nothing kept of " << blocks.size() << " blocks";
  return success();
}

LogicalResult meshwright::annotateStep(Compilation &c) {
  const auto &stages = c.strategy.get().pipeline().stages();
  if (!stages.has_max_megabytes())
    return annotate::annotate(*c.programs.step, c.strategy);
  int64_t limit = Megabytes(stages.max_megabytes()).getBytes(), least = kUnboundedBytes;
  OwningOpRef<ModuleOp> before = std::move(c.programs.step);
  const Plan planBefore = c.plan;
  annotate::StageBound bound;
  int numTried = 0;
  for (; numTried < kMostCuts; ++numTried, bound.bytes = bound.largest - 1) {
    c.programs.step = before->clone();
    if (failed(annotate::annotate(*c.programs.step, c.strategy, &bound))) {
      if (!bound.isImpossible)
        return failure();
      break;
    }
    if (failed(compileCopy(c, [&] { return runStage(c, Stage::Complete); })))
      return failure();
    int64_t peak = getPeakBytes(c.plan);
    c.plan = planBefore;
    if (peak <= limit)
      return success();
    least = std::min(least, peak);
  }
  return emitError(c.strategy.getLoc(&c.context, "pipeline.stages.max_megabytes"))
         << "the arena of a rank is to have at most " << limit << " bytes, but the largest has at least " << least
         << " in " << numTried << (numTried == 1 ? " cut" : " cuts") << " of the network into stages; recompute, more "
         << "stages, or fewer micro-batches in flight take less";
}
