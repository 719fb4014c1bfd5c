//===- GpuWriter.h - base of GPU code that has no loop plan ------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_GPU_GPUWRITER_H
#define MESHWRIGHT_LIB_GPU_GPUWRITER_H

#include "meshwright/Gpu/GpuMachine.h"
#include "meshwright/Gpu/GpuPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace meshwright::emit {

/// Base of the classes that write a thread's code for one operation, without a plan of loops.
class GpuWriter {
protected:
  GpuWriter(GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder, mlir::ValueRange pointers)
      : launch(launch), machine(machine), builder(builder), pointers(pointers) {}

  using Value = mlir::Value;
  using Predicate = mlir::arith::CmpIPredicate;

  Value getIndex(int64_t value) { return mlir::arith::ConstantIndexOp::create(builder, value); }
  Value add(Value a, Value b) { return mlir::arith::AddIOp::create(builder, a, b); }
  Value scale(Value value, int64_t factor) { return mlir::arith::MulIOp::create(builder, value, getIndex(factor)); }
  Value isEqual(Value a, Value b) { return mlir::arith::CmpIOp::create(builder, Predicate::eq, a, b); }
  Value isLess(Value a, Value b) { return mlir::arith::CmpIOp::create(builder, Predicate::ult, a, b); }
  void emitIf(Value condition, llvm::function_ref<void()> body);
  Value load(Value base, mlir::Type element, Value index);
  void store(Value base, Value value, Value index);

  GpuLaunchPlan &launch;
  const GpuMachine &machine;
  LoopBuilder &builder;
  /// The addresses of inputs, then outputs.
  mlir::ValueRange pointers;
};

} // namespace meshwright::emit

#endif
