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
  manager.addPass(createAssignPrecisionPass(options.precision));

  // Gradients, then what consumes them: without a consumer they would be dropped as dead.
  manager.addPass(createDifferentiatePass(options.differentiate));
  manager.addPass(createReduceGradientsPass(options.reduce));
  // Scaled gradients are what travels.
  manager.addPass(createUnscaleGradientsPass());
  manager.addPass(createOptimizerPass(options.optimizer));
  manager.addPass(createSkipUpdatesPass(options.skip));

  // Fetched values become results before the cleanup, which keeps what results depend on.
  if (!options.fetch.values.empty())
    manager.addPass(createFetchPass(options.fetch));
  manager.addPass(createSimplifyPass());

  manager.addPass(createVerifyPass());
}
