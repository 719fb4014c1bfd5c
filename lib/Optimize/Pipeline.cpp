//===- Pipeline.cpp - the passes of Optimize, in order --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Passes.h"
#include "meshwright/Partition/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace meshwright;

void optimize::buildPipeline(mlir::OpPassManager &manager, const Options &options) {
  manager.addPass(createMergeConversionsPass());
  // What is left to send is sent by all who have it together.
  manager.addPass(createSplitSendsPass());
  if (options.keepFetches)
    manager.addPass(createKeepFetchesPass());
  // What Partition forbade stays forbidden.
  manager.addPass(partition::createVerifyPass());
}
