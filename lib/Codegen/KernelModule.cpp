//===- KernelModule.cpp - a kernel as a module of LLVM --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/KernelModule.h"
#include "LoopEmitter.h"
#include "meshwright/Codegen/KernelLowering.h"
#include "meshwright/Kernels/PlannedKernel.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

OwningOpRef<ModuleOp> emit::buildKernelModule(dist::KernelOp kernel, StringRef symbol) {
  KernelLowering lowering(kernel);
  std::string loops = (symbol + "_loops").str();
  schedule::PlannedKernel planned = schedule::planKernel(kernel);
  if (planned.plan)
    lowering.addFunction(loops, [&](LoopBuilder &builder, ValueRange pointers) {
      LoopEmitter(*planned.plan, builder, pointers, lowering.getTypes(), lowering.getNumInputs()).emit();
    });
  else if (failed(lowering.addBufferized(loops)))
    return nullptr;
  if (failed(lowering.lower(MathFunctions::Library)))
    return nullptr;
  lowering.addEntry(symbol, loops);
  return lowering.takeModule();
}
