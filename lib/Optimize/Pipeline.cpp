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
  manager.addPass(partition::createInlineConditionalsPass());
  manager.addPass(createMergeConversionsPass());
  // Splits the remaining sends over all ranks that have the value.
  manager.addPass(createSplitSendsPass());
  if (options.keepFetches)
    manager.addPass(createKeepFetchesPass());
  manager.addPass(partition::createFormConditionalsPass());
  // Runs Partition's gate again: Optimize must keep its invariants.
  manager.addPass(partition::createVerifyPass());
}
