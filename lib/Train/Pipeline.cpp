//===- Pipeline.cpp - the passes of Train in order ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Train/Passes.h"

using namespace meshwright;

void train::buildPipeline(mlir::OpPassManager &manager, const Options &options) {
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
    manager.addPass(createFetchPass(options.fetch, options.fetchLocations));
  manager.addPass(createSimplifyPass());
  // All assignments and results are there.
  manager.addPass(createPutOffUpdatesPass());

  manager.addPass(createVerifyPass());
}
