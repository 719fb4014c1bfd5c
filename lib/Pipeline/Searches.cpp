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
#include "PlanBlocks.h"
#include "PlanPrograms.h"
#include "PlanSegments.h"
#include "StrategyOptions.h"
#include "dialects/Net/Net.h"
#include "meshwright/Annotate/Passes.h"
#include "meshwright/Support/Units.h"
#include <map>

using namespace mlir;
using namespace meshwright;

/// The largest number of divisions of a network into stages that are compiled.
static constexpr int kMostCuts = 16;

namespace {

/// Copies the step of a compilation, to try a choice on it, and puts everything back in the end.
class Attempt {
public:
  explicit Attempt(Compilation &c)
      : c(c), planBefore(c.plan), serialBefore(std::move(c.programs.serial)),
        evaluationBefore(std::move(c.programs.evaluation)), stepBefore(c.programs.step->clone()),
        // Warnings are printed when the program is compiled for good.
        silent(&c.context,
               [](Diagnostic &diagnostic) { return success(diagnostic.getSeverity() != DiagnosticSeverity::Error); }) {}
  ~Attempt() {
    c.plan = planBefore;
    c.programs.step = std::move(stepBefore);
    c.programs.serial = std::move(serialBefore);
    c.programs.evaluation = std::move(evaluationBefore);
  }

  /// Compiles the copy from Partition up to its memory, which the plan then tells of.
  LogicalResult schedule() {
    for (Stage stage : {Stage::Partition, Stage::Optimize, Stage::Schedule})
      if (failed(runStage(c, stage)))
        return failure();
    addMemory(c.plan, *c.programs.step);
    return success();
  }

private:
  Compilation &c;
  const Plan planBefore;
  OwningOpRef<ModuleOp> serialBefore, evaluationBefore, stepBefore;
  ScopedDiagnosticHandler silent;
};

} // namespace

/// The clones of a completed step with their places. Steps with the same ones are the same, whatever their prices.
static std::vector<int64_t> findRecomputed(ModuleOp step) {
  std::vector<int64_t> clones;
  int64_t position = 0;
  step.walk([&](Operation *op) {
    ++position;
    if (IntegerAttr number = net::kRecomputesAttr.get(op))
      clones.insert(clones.end(), {position, number.getInt()});
  });
  return clones;
}

LogicalResult meshwright::fitMemory(Compilation &c) {
  const auto &recompute = c.strategy.get().train().recompute();
  if (!c.strategy.get().train().has_recompute() || !recompute.has_fit())
    return success();
  std::map<std::vector<int64_t>, FitTrial> known;
  auto compile = [&](const FitChoice &choice) -> std::optional<FitTrial> {
    setRecompute(c.completeOptions.recompute, choice);
    Attempt attempt(c);
    if (failed(completeStep(c)))
      return std::nullopt;
    auto [trial, isNew] = known.try_emplace(findRecomputed(*c.programs.step));
    if (isNew) {
      if (failed(attempt.schedule()))
        return std::nullopt;
      PlannedBlock sum = sumBlocks(getBlocks(c.plan));
      trial->second = {getPeakBytes(c.plan), sum.recomputeFlops / std::max(sum.forwardFlops, 1.0)};
    }
    return trial->second;
  };
  std::optional<FitResult> result = findFit(recompute.fit(), complete::kForwardParts, compile);
  if (!result)
    return failure();
  if (!result->choice)
    return emitError(c.strategy.getLoc(&c.context, "train.recompute.fit"))
           << "the arena is to fit " << recompute.fit() << " bytes but takes at least " << result->least
           << ", with as little kept as recomputation allows";
  setRecompute(c.completeOptions.recompute, *result->choice);
  return success();
}

LogicalResult meshwright::annotateStep(Compilation &c) {
  const auto &stages = c.strategy.get().pipeline().stages();
  if (!stages.has_max_megabytes())
    return annotate::annotate(*c.programs.step, c.strategy);
  int64_t limit = Megabytes(stages.max_megabytes()).getBytes(), least = kUnboundedBytes;
  OwningOpRef<ModuleOp> before = std::move(c.programs.step);
  annotate::StageBound bound;
  int numTried = 0;
  for (; numTried < kMostCuts; ++numTried, bound.bytes = bound.largest - 1) {
    c.programs.step = before->clone();
    if (failed(annotate::annotate(*c.programs.step, c.strategy, &bound))) {
      if (!bound.isImpossible)
        return failure();
      break;
    }
    Attempt attempt(c);
    if (failed(runStage(c, Stage::Complete)) || failed(attempt.schedule()))
      return failure();
    int64_t peak = getPeakBytes(c.plan);
    if (peak <= limit)
      return success();
    least = std::min(least, peak);
  }
  return emitError(c.strategy.getLoc(&c.context, "pipeline.stages.max_megabytes"))
         << "the arena of a rank is to have at most " << limit << " bytes, but the largest has at least " << least
         << " in " << numTried << (numTried == 1 ? " cut" : " cuts") << " of the network into stages; recompute, more "
         << "stages, or fewer micro-batches in flight take less";
}
