//===- CompileStages.cpp - the stages of a compilation --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each stage runs its passes over the programs that it is for: the training step goes through all of them, its serial
// program is scheduled only, and evaluation waits for Schedule, because it lies beside the variables of training.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Effects.h"
#include "Evaluation.h"
#include "Metrics.h"
#include "PlanPrograms.h"
#include "PlanSegments.h"
#include "Searches.h"
#include "StrategyChecks.h"
#include "StrategyOptions.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Given/Given.h"
#include "dialects/Net/Net.h"
#include "meshwright/Annotate/Passes.h"
#include "meshwright/Codegen/Targets.h"
#include "meshwright/Export/Export.h"
#include "meshwright/Gpu/Targets.h"
#include "meshwright/Import/Partitioned.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Partition/Conditionals.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Train/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace meshwright;

/// Runs the passes that `build` adds over `program`, and verifies what they leave.
static LogicalResult runPasses(OwningOpRef<ModuleOp> &program, llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(program->getContext());
  // Every stage ends in a gate of its own, which runs the verifier.
  manager.enableVerifier(false);
  build(manager);
  return success(succeeded(manager.run(*program)) && succeeded(verify(*program)));
}

/// A graph of its own, whose variables are those that training has, or what is imported so far.
static LogicalResult importEvaluation(Compilation &c) {
  c.evaluationStrategy = c.strategy.forEvaluation();
  if (!c.programs.evaluation) {
    c.programs.evaluation = c.programs.step->clone();
    return cutEvaluation(*c.programs.evaluation, c.strategy);
  }
  importer::Options importOptions;
  importOptions.unrollLoops = getImportOptions(c.strategy.get()).unrollLoops;
  for (auto variable : c.programs.step->getOps<net::VariableOp>())
    importOptions.variables.push_back(variable.getSymName().str());
  if (failed(runPasses(c.programs.evaluation,
                       [&](OpPassManager &manager) { importer::buildImportPipeline(manager, importOptions); })))
    return failure();
  return success(succeeded(markInputs(*c.programs.evaluation, c.evaluationStrategy)) &&
                 succeeded(cutEvaluation(*c.programs.evaluation, c.strategy)));
}

static LogicalResult importStep(Compilation &c) {
  auto build = [&](OpPassManager &manager) {
    importer::buildImportPipeline(manager, getImportOptions(c.strategy.get()));
  };
  if (failed(runPasses(c.programs.step, build)))
    return failure();
  remarkOnNames(*c.programs.step);
  if (failed(checkGlobs(*c.programs.step, c.strategy)) || failed(markInputs(*c.programs.step, c.strategy)) ||
      failed(annotate::adoptShardings(*c.programs.step, c.strategy)))
    return failure();
  warnOfUnusedFields(&c.context, c.strategy);
  warnOfUnusedRules(*c.programs.step, c.strategy);
  return c.programs.evaluation || c.strategy.get().has_eval() ? importEvaluation(c) : success();
}

LogicalResult meshwright::importPartitioned(Compilation &c) {
  if (failed(runPasses(c.programs.serial, importer::buildPlainPipeline)) ||
      failed(runPasses(c.programs.step,
                       [&](OpPassManager &manager) { importer::buildPartitionedPipeline(manager, c.options.mesh); })))
    return failure();
  std::vector<importer::PortPlace> places;
  for (const auto &[name, dims] : c.options.places)
    places.push_back({name, dims});
  return importer::placePorts(*c.programs.step, *c.programs.serial, places, c.partitionedHeader);
}

static LogicalResult makeStep(Compilation &c) {
  bool isWhole = train::isWholeStep(*c.programs.step);
  if (isWhole && failed(checkWholeStep(*c.programs.step, c.strategy)))
    return failure();
  if (!isWhole && !c.strategy.get().has_train())
    return checkUntrained(*c.programs.step, c.strategy);
  if (isWhole)
    return runPasses(c.programs.step, [&](OpPassManager &manager) {
      train::buildWholeStepPipeline(manager, getFetchOptions(c.strategy, &c.context));
    });
  train::Options trainOptions = getTrainOptions(c.strategy, &c.context);
  if (failed(runPasses(c.programs.step, [&](OpPassManager &manager) { train::buildPipeline(manager, trainOptions); })))
    return failure();
  if (!c.programs.evaluation)
    return success();
  return runPasses(c.programs.evaluation,
                   [&](OpPassManager &manager) { train::buildEvaluationPipeline(manager, trainOptions); });
}

static LogicalResult trainStep(Compilation &c) {
  if (failed(makeStep(c)))
    return failure();
  if (!c.strategy.get().has_reproducible())
    return success();
  if (auto gpu = llvm::find_if(c.options.targets, emit::isGpuTarget); gpu != c.options.targets.end())
    return emitError(c.strategy.getLoc(&c.context, "reproducible"))
           << "reproducible is about the order of sums on CPUs, but target \"" << *gpu << "\" is a GPU";
  if (c.options.stablehlo)
    return emitError(c.strategy.getLoc(&c.context, "reproducible"))
           << "reproducible is about the order of sums in packages, but --emit-stablehlo writes a module for JAX, "
              "which "
              "adds in another order";
  auto build = [&](OpPassManager &manager) {
    manager.addPass(train::createFixSumsPass({c.strategy.get().reproducible().parts()}));
  };
  if (failed(runPasses(c.programs.step, build)))
    return failure();
  return c.programs.evaluation ? runPasses(c.programs.evaluation, build) : success();
}

static LogicalResult annotateEvaluation(Compilation &c) {
  if (c.programs.serial) {
    c.programs.evaluationSerial = c.programs.evaluation->clone();
    given::dropShardings(*c.programs.evaluationSerial);
  }
  describeMetrics(*c.programs.evaluation, c.evaluationMetrics);
  return success(succeeded(annotate::annotate(*c.programs.evaluation, c.evaluationStrategy)) &&
                 succeeded(keepAsTrained(*c.programs.evaluation, *c.programs.step, c.evaluationStrategy)));
}

static LogicalResult annotatePrograms(Compilation &c) {
  if (c.programs.evaluation && failed(shareVariables(*c.programs.evaluation, *c.programs.step)))
    return failure();
  if (!c.options.emit.empty() && c.options.serial) {
    c.programs.serial = c.programs.step->clone();
    given::dropShardings(*c.programs.serial);
  }
  addSerial(c.plan, *c.programs.step);
  describeMetrics(*c.programs.step, c.emitOptions.metrics);
  c.emitOptions.metrics.modelFlopsPerStep = c.plan.serialFlops;
  if (failed(annotateStep(c)))
    return failure();
  return c.programs.evaluation ? annotateEvaluation(c) : success();
}

LogicalResult meshwright::completeStep(Compilation &c) {
  if (failed(runPasses(c.programs.step,
                       [&](OpPassManager &manager) { complete::buildAfterPlacement(manager, c.completeOptions); })))
    return failure();
  addSegments(c.plan, *c.programs.step, c.options.optimize && getOptimizeOptions(c.strategy).keepFetches);
  warnOfUnusedAxes(*c.programs.step, c.strategy);
  return success();
}

static LogicalResult exportStep(Compilation &c) {
  FailureOr<exporter::Exported> exported = exporter::exportStableHLO(*c.programs.step, *c.options.stablehlo);
  if (failed(exported))
    return failure();
  c.stablehlo = std::move(*exported);
  return success();
}

/// Adds what the optimized program says to the plan, which counts operations by the times at which they are needed.
static LogicalResult planProgram(Compilation &c) {
  OwningOpRef<ModuleOp> copy;
  FailureOr<ModuleOp> program = partition::getWithoutConditionals(*c.programs.step, copy);
  if (failed(program))
    return failure();
  addProgram(c.plan, *program);
  return success();
}

static LogicalResult optimizeStep(Compilation &c) {
  auto build = [&](OpPassManager &manager) { optimize::buildPipeline(manager, getOptimizeOptions(c.strategy)); };
  if (c.options.optimize && failed(runPasses(c.programs.step, build)))
    return failure();
  if (failed(planProgram(c)))
    return failure();
  if (c.options.stablehlo && failed(exportStep(c)))
    return failure();
  if (c.options.runs(Stage::Annotate))
    warnOfReplicatedWork(&c.context, c.strategy, getFlopsOfRanks(c.plan), c.plan.serialFlops);
  return success();
}

/// The options of Schedule that `stepStrategy` states, adapted to the targets; all targets share the programs.
static schedule::Options getOptionsOfSchedule(const Compilation &c, const strategy::StrategyFile &stepStrategy) {
  schedule::Options scheduleOptions = getScheduleOptions(stepStrategy.get(), c.options.optimize);
  bool hasGpus = llvm::any_of(c.options.targets, emit::isGpuTarget);
  scheduleOptions.kernels.libraryConvolutions = !hasGpus;
  scheduleOptions.kernels.libraryEpilogues = hasGpus;
  scheduleOptions.padProducts = hasGpus;
  scheduleOptions.scoreKernels = llvm::all_of(c.options.targets, emit::computesScores);
  // A tile stays in the cache of a CPU; on a GPU it occupies all of it, and every operation is a launch.
  if (hasGpus && !stepStrategy.get().tiles().has_bytes())
    scheduleOptions.tiles.tileBytes = int64_t(1) << 28;
  return scheduleOptions;
}

/// All stages from Complete on: where the variables lie is known now.
static LogicalResult scheduleEvaluation(Compilation &c) {
  schedule::Options scheduleOptions = getOptionsOfSchedule(c, c.evaluationStrategy);
  reserveMemory(*c.programs.evaluation, *c.programs.step);
  if (c.programs.serial) {
    reserveMemory(*c.programs.evaluationSerial, *c.programs.serial);
    if (failed(runPasses(c.programs.evaluationSerial,
                         [&](OpPassManager &manager) { schedule::buildPipeline(manager, scheduleOptions); })))
      return failure();
  }
  return runPasses(c.programs.evaluation, [&](OpPassManager &manager) {
    complete::buildPipeline(manager, getCompleteOptions(c.evaluationStrategy, &c.context));
    partition::buildPipeline(manager, getPartitionOptions(c.evaluationStrategy.get()));
    if (c.options.optimize)
      optimize::buildPipeline(manager, getOptimizeOptions(c.evaluationStrategy));
    schedule::buildPipeline(manager, scheduleOptions);
  });
}

static LogicalResult schedulePrograms(Compilation &c) {
  auto build = [&](OpPassManager &manager) { schedule::buildPipeline(manager, getOptionsOfSchedule(c, c.strategy)); };
  if (c.programs.serial && failed(runPasses(c.programs.serial, [&](OpPassManager &manager) {
        manager.addPass(
            complete::createRecomputePass(c.completeOptions.recompute, c.completeOptions.recomputeLocations));
        build(manager);
      })))
    return failure();
  if (failed(runPasses(c.programs.step, build)))
    return failure();
  return c.programs.evaluation ? scheduleEvaluation(c) : success();
}

static LogicalResult emitPrograms(Compilation &c) {
  c.emitOptions.path = c.options.emit;
  c.emitOptions.gpuReport = c.options.gpuReport;
  c.emitOptions.kernelCache = c.options.kernelCache;
  if (!c.options.targets.empty())
    c.emitOptions.targets.assign(c.options.targets.begin(), c.options.targets.end());
  if (c.programs.evaluation)
    c.emitOptions.evaluation = {*c.programs.evaluation, c.programs.evaluationSerial.get(), c.evaluationMetrics,
                                c.strategy.get().eval().every()};
  return emit::emitPackage(*c.programs.step, c.programs.serial.get(), c.emitOptions);
}

LogicalResult meshwright::verifyInput(Compilation &c, Stage from) {
  // A program without a mesh is serial, and has no placements.
  bool isPlaced = !c.programs.step->getOps<dist::MeshOp>().empty();
  return runPasses(c.programs.step, [&](OpPassManager &manager) {
    switch (from) {
    case Stage::Import:
      break;
    case Stage::Train:
      manager.addPass(importer::createVerifyImportPass());
      break;
    // Annotate adds placements to what Train has left, and no gate of its own.
    case Stage::Annotate:
    case Stage::Complete:
      manager.addPass(train::createVerifyPass());
      break;
    case Stage::Partition:
      if (isPlaced)
        manager.addPass(complete::createVerifyPass());
      break;
    // Optimize leaves what its own gate, that of Partition, accepts.
    case Stage::Optimize:
    case Stage::Schedule:
      if (isPlaced)
        manager.addPass(partition::createVerifyPass());
      break;
    case Stage::Emit:
      manager.addPass(schedule::createVerifyPass());
      break;
    }
  });
}

LogicalResult meshwright::runStage(Compilation &c, Stage stage) {
  // A program that was imported before has its shardings still.
  if (stage == c.options.from && stage != Stage::Import &&
      failed(annotate::adoptShardings(*c.programs.step, c.strategy)))
    return failure();
  switch (stage) {
  case Stage::Import:
    return importStep(c);
  case Stage::Train:
    return trainStep(c);
  case Stage::Annotate:
    return annotatePrograms(c);
  case Stage::Complete:
    c.completeOptions = getCompleteOptions(c.strategy, &c.context);
    return success(succeeded(runPasses(c.programs.step, complete::buildPlacement)) && succeeded(fitMemory(c)) &&
                   succeeded(completeStep(c)));
  case Stage::Partition:
    return runPasses(c.programs.step, [&](OpPassManager &manager) {
      partition::buildPipeline(manager, getPartitionOptions(c.strategy.get()));
    });
  case Stage::Optimize:
    return optimizeStep(c);
  case Stage::Schedule:
    return schedulePrograms(c);
  case Stage::Emit:
    return emitPrograms(c);
  }
  return failure();
}

void meshwright::completePlan(Compilation &c) {
  if (c.options.to == Stage::Partition)
    addProgram(c.plan, *c.programs.step);
  addMemory(c.plan, *c.programs.step);
  if (c.programs.evaluation)
    addEvaluation(c.plan, *c.programs.evaluation);
}
