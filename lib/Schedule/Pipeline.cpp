//===- Pipeline.cpp - the passes of Schedule, in order --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace meshwright;

void schedule::buildPipeline(mlir::OpPassManager &manager, const Options &options) {
  // Empty values go first: later passes may divide by the number of elements.
  manager.addPass(createElideEmptyPass());
  // Conversions become contiguous collectives first: the transpositions that this takes are operations like others.
  manager.addPass(createLowerConversionsPass());
  // Of two equal operations one in a loop and one behind it are not one operation; afterwards there are none.
  manager.addPass(createLowerLoopsPass());
  manager.addPass(mlir::createCSEPass());
  // A pipeline is many programs from here on, and what they have in common are variables.
  manager.addPass(createCutTasksPass());
  // What runs at some times only is in no kernel with the rest.
  manager.addPass(createAssignTimesPass());
  manager.addPass(createFormKernelsPass(options.kernels));
  // Only now is it known what is computed between a value's last part and its first use.
  if (options.overlap) {
    // A loop is one operation to what comes behind.
    manager.addPass(
        createCommunicateInLoopsPass({options.communicate.bucketMegabytes, options.communicate.maxInFlight}));
    manager.addPass(createCommunicatePass(options.communicate));
  }
  // The slice that fetches what the others keep has overlapped it by now.
  manager.addPass(createKeepAcrossSlicesPass());
  // What not all ranks run is known now, and the order of collectives is: programs part here, before memory is given
  // out.
  manager.addPass(createSpecializePass());
  // A rank's copies from and to its host concern nobody else, and what they take of its memory depends on the order.
  manager.addPass(createMaterializeCopiesPass(options.copies));
  // Whatever stands between a product and its kernel does so by now.
  if (options.kernels.libraryEpilogues)
    manager.addPass(createAnnotateEpiloguesPass());
  // From here on the order of operations is the order of execution, and places depend on it.
  manager.addPass(createAssignBuffersPass());
  manager.addPass(createVerifyPass());
}
