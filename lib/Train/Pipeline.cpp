//===- Pipeline.cpp - the passes of Train in order ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Train/Passes.h"

using namespace mlir;
using namespace meshwright;

void train::buildPipeline(OpPassManager &manager, const Options &options) {
  // Folding first keeps what Import spelled out (scalars broadcast in steps, masks of constants) from being
  // differentiated.
  manager.addPass(createSimplifyPass());

  // Backward computes in the types of forward.
  manager.addPass(createAssignPrecisionPass(options.precision, options.keepLocations));

  // Gradients, then what consumes them: without a consumer they would be dropped as dead.
  manager.addPass(createDifferentiatePass(options.differentiate));
  // What is merged before it is reduced travels merged, and everything that happens on the way happens to the merged
  // gradient; what is reduced in every step is merged behind the way.
  if (options.merge.reduce == MergeReduce::AtUpdate)
    manager.addPass(createMergeGradientsPass(options.merge));
  manager.addPass(createReduceGradientsPass(options.reduce));
  if (options.merge.reduce == MergeReduce::EveryStep)
    manager.addPass(createMergeGradientsPass(options.merge));
  // Scaled gradients are what travels.
  manager.addPass(createUnscaleGradientsPass());
  manager.addPass(createOptimizerPass(options.optimizer));
  manager.addPass(createSkipUpdatesPass(options.skip));

  // Fetched values become results before the cleanup, which keeps what results depend on.
  if (!options.fetch.values.empty())
    manager.addPass(createFetchPass(options.fetch));
  manager.addPass(createSimplifyPass());
  // All assignments and results are there.
  manager.addPass(createPutOffUpdatesPass());

  manager.addPass(createVerifyPass());
}

bool train::isWholeStep(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    for (auto assign : func.getOps<net::AssignOp>())
      if (net::getRole(assign) == net::Role::Optimize)
        return true;
  return false;
}

void train::buildWholeStepPipeline(OpPassManager &manager, const FetchOptions &fetch) {
  // What Import spelled out, and what exporters repeat for every parameter.
  manager.addPass(createSimplifyPass());
  // After cleanup, which leaves out the zero that a chain of additions begins with.
  manager.addPass(createMarkNormsPass());
  if (!fetch.values.empty())
    manager.addPass(createFetchPass(fetch));
  manager.addPass(createVerifyPass());
}
