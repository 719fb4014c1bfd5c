//===- Pipeline.cpp - order of the passes of Train ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Train/Passes.h"

using namespace mlir;
using namespace meshwright;

/// The passes that decide how forward rounds.
static void addRounding(OpPassManager &manager, const train::Options &options) {
  manager.addPass(train::createAssignPrecisionPass(options.precision, options.keepLocations));
  // After it: quotients in 16 bits stay.
  manager.addPass(train::createDeferDivisionsPass());
}

void train::buildPipeline(OpPassManager &manager, const Options &options) {
  // Fold first, so that the spelled-out forms of Import (repeated broadcasts of scalars, constant masks) are not
  // differentiated.
  manager.addPass(createSimplifyPass());
  manager.addPass(createIndexOneHotsPass());
  manager.addPass(createHideScoresPass());

  // Before differentiation: backward computes in the types and forms of forward.
  addRounding(manager, options);

  // Gradients, then their consumers: without consumers they would be erased as dead.
  manager.addPass(createDifferentiatePass(options.differentiate));
  // With one reduction per update, accumulation comes first, and scaling and conversion apply to the accumulated
  // gradient; with a reduction in every step, accumulation comes last.
  if (options.accumulation.reduce == AccumulationReduce::AtUpdate)
    manager.addPass(createAccumulateGradientsPass(options.accumulation));
  manager.addPass(createReduceGradientsPass(options.reduce));
  if (options.accumulation.reduce == AccumulationReduce::EveryStep)
    manager.addPass(createAccumulateGradientsPass(options.accumulation));
  // After the reduction: gradients are reduced scaled.
  manager.addPass(createUnscaleGradientsPass());
  manager.addPass(createOptimizerPass(options.optimizer));
  manager.addPass(createSkipUpdatesPass(options.skip));

  // Before the cleanup, which keeps only the values that results depend on.
  if (!options.fetch.values.empty())
    manager.addPass(createFetchPass(options.fetch));
  manager.addPass(createSimplifyPass());
  // After all assignments and results exist.
  manager.addPass(createPutOffUpdatesPass());

  manager.addPass(createVerifyPass());
}

void train::buildEvaluationPipeline(OpPassManager &manager, const Options &options) {
  addRounding(manager, options);
  manager.addPass(createSimplifyPass());
}

bool train::isWholeStep(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    for (auto assign : func.getOps<net::AssignOp>())
      if (net::getRole(assign) == net::Role::Optimize)
        return true;
  return false;
}

void train::buildWholeStepPipeline(OpPassManager &manager, const FetchOptions &fetch) {
  // Folds the spelled-out forms of Import and merges what exporters repeat per parameter.
  manager.addPass(createSimplifyPass());
  manager.addPass(createIndexOneHotsPass());
  manager.addPass(createHideScoresPass());
  // After the cleanup, which removes the zero at the start of a chain of additions.
  manager.addPass(createMarkNormsPass());
  if (!fetch.values.empty())
    manager.addPass(createFetchPass(fetch));
  manager.addPass(createVerifyPass());
}
