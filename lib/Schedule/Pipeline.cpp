//===- Pipeline.cpp - the passes of Schedule, in order --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Partition/Passes.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace meshwright;

void schedule::buildPipeline(mlir::OpPassManager &manager, const Options &options) {
  // The steps of an accumulation have programs of their own, which Specialize makes of operations with times.
  manager.addPass(partition::createInlineConditionalsPass());
  // Empty values go first: later passes may divide by the number of elements.
  manager.addPass(createElideEmptyPass());
  // Parts of sums are added by ordinary operations, which the passes below place and fuse.
  manager.addPass(createExpandSumsPass());
  // Conversions become contiguous collectives first: the transpositions that this takes are operations like others.
  manager.addPass(createLowerConversionsPass());
  // CSE runs after LowerLoops: before, an operation in a loop and an equal one after it would not merge.
  manager.addPass(createLowerLoopsPass());
  // Invariant operands are known by their places now, and sums have one form. What several products read becomes equal.
  manager.addPass(createShareProductsPass());
  // The products that read the stacks of all iterations are known now.
  manager.addPass(createReuseStacksPass());
  manager.addPass(mlir::createCSEPass());
  // From here on a pipeline is many functions, which share only variables.
  manager.addPass(createCutTasksPass());
  // Every function has the scores of its own, and no pass after this one looks into loops for what may leave them.
  if (options.scoreKernels && options.tiles.enabled)
    manager.addPass(createFormScoreKernelsPass({options.tiles.minBytes}));
  manager.addPass(createTileRegionsPass(options.tiles));
  // Tiles are whole rows. Zeros and cuts join the kernels before and after products.
  if (options.padProducts)
    manager.addPass(createPadProductsPass());
  // Operations of different times must not share a kernel, so times come first.
  manager.addPass(createAssignTimesPass());
  manager.addPass(createFormKernelsPass(options.kernels));
  // Only now the computation between a value's last part and its first use is known.
  if (options.overlap) {
    // CommunicatePass treats a loop as one operation.
    manager.addPass(createCommunicateInLoopsPass({options.communicate.bucketSize, options.communicate.maxInFlight}));
    manager.addPass(createCommunicatePass(options.communicate));
  }
  // CommunicatePass has overlapped the fetches of the slice that keeps them for the others.
  manager.addPass(createKeepAcrossSlicesPass());
  // The ranks of every operation and the order of collectives are known now, so the programs part here; memory is
  // assigned to each.
  manager.addPass(createSpecializePass());
  // Copies between a rank and its host concern no other rank, and the memory that they need depends on the order.
  manager.addPass(createMaterializeCopiesPass(options.copies));
  // All passes that insert operations between a GEMM and its kernel have run.
  if (options.kernels.libraryEpilogues)
    manager.addPass(createAnnotateEpiloguesPass());
  // From here on the order of operations is the order of execution, and places depend on it.
  manager.addPass(createAssignBuffersPass());
  manager.addPass(createVerifyPass());
}
