//===- GpuWriter.cpp - arithmetic and memory of a thread ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuWriter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace meshwright::emit;

void GpuWriter::emitIf(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value GpuWriter::load(Value base, Type element, Value index) {
  Type memory = getMemoryType(element);
  Value offset = arith::IndexCastOp::create(builder, builder.getI64Type(), index);
  Value address = LLVM::GEPOp::create(builder, base.getType(), memory, base, ValueRange{offset});
  Value value = LLVM::LoadOp::create(builder, memory, address, memory.getIntOrFloatBitWidth() / 8);
  return fromMemory(builder, value, element);
}

void GpuWriter::store(Value base, Value value, Value index) {
  value = toMemory(builder, value);
  Type memory = value.getType();
  Value offset = arith::IndexCastOp::create(builder, builder.getI64Type(), index);
  Value address = LLVM::GEPOp::create(builder, base.getType(), memory, base, ValueRange{offset});
  LLVM::StoreOp::create(builder, value, address, memory.getIntOrFloatBitWidth() / 8);
}
