//===- KernelModule.cpp - a kernel as a module of LLVM --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/KernelModule.h"
#include "meshwright/Codegen/LoopEmitter.h"
#include "meshwright/Codegen/KernelLowering.h"
#include "meshwright/Kernels/PlannedKernel.h"
#include "meshwright/Support/Bytes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

/// Lowers the kernel's function `loops`, and adds its entry.
static OwningOpRef<ModuleOp> finish(KernelLowering &lowering, StringRef symbol, StringRef loops) {
  if (failed(lowering.lower(MathFunctions::Library)))
    return nullptr;
  lowering.addEntry(symbol, loops);
  return lowering.takeModule();
}

OwningOpRef<ModuleOp> emit::buildKernelModule(dist::KernelOp kernel, StringRef symbol, int64_t leastDividedBytes) {
  KernelLowering lowering(kernel);
  std::string loops = (symbol + "_loops").str();
  schedule::PlannedKernel planned = schedule::planKernel(kernel);
  if (planned.plan) {
    int64_t bytes = 0;
    for (RankedTensorType type : lowering.getTypes())
      bytes += getBytes(type);
    std::optional<Division> division;
    if (bytes >= leastDividedBytes)
      division = chooseDivision(*planned.plan, lowering.getTypes().drop_front(lowering.getNumInputs()));
    if (division)
      lowering.addIterations(*division);
    lowering.addFunction(loops, [&](LoopBuilder &builder, ValueRange arguments) {
      ValueRange pointers = arguments.take_front(lowering.getTypes().size()),
                 iterations = arguments.drop_front(pointers.size());
      LoopEmitter emitter(*planned.plan, builder, pointers, lowering.getTypes(), lowering.getNumInputs());
      if (division)
        emitter.emitPart(*division, iterations[0], iterations[1]);
      else
        emitter.emit();
    });
  } else if (failed(lowering.addBufferized(loops))) {
    return nullptr;
  }
  return finish(lowering, symbol, loops);
}

OwningOpRef<ModuleOp> emit::buildCheckKernelModule(dist::KernelOp kernel, StringRef symbol, Numbers numbers,
                                                   int64_t scale) {
  KernelLowering lowering(kernel);
  lowering.substituteFloats(numbers, scale);
  std::string loops = (symbol + "_loops").str();
  schedule::PlannedKernel planned = schedule::planKernel(kernel);
  if (planned.plan)
    lowering.addFunction(loops, [&](LoopBuilder &builder, ValueRange pointers) {
      LoopEmitter(*planned.plan, builder, pointers, lowering.getTypes(), lowering.getNumInputs()).emitWords(scale);
    });
  else if (failed(lowering.addBufferized(loops)))
    return nullptr;
  return finish(lowering, symbol, loops);
}
