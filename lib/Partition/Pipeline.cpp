//===- Pipeline.cpp - the passes of Partition, in order -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Partition/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace meshwright;

void partition::buildPipeline(mlir::OpPassManager &manager, const LocalizeShapesPassOptions &options) {
  // Conversions become explicit while shapes are still global, when each is one operation; then all shapes become local
  // at once.
  manager.addPass(createMaterializeReshardsPass());
  manager.addPass(createLocalizeShapesPass(options));
  manager.addPass(createFormConditionalsPass());
  manager.addPass(createVerifyPass());
}
