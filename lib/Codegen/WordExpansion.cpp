//===- WordExpansion.cpp - floats as words of 64 bits ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types change in place, first those of all values, then operations one by one: what moves values, as loops and
// selections do, stays as it is.
//
//===----------------------------------------------------------------------===//

#include "WordExpansion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "package.pb.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

LogicalResult WordExpansion::run() {
  addTable();
  SmallVector<std::pair<Operation *, OriginalTypes>> operations;
  module.walk([&](Operation *op) {
    operations.push_back({op, {llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())}});
  });
  for (auto &[op, types] : operations)
    convertTypes(op);
  for (auto &[op, types] : operations)
    if (failed(expand(op, types)))
      return failure();
  return success();
}

Type WordExpansion::convert(Type type) const {
  if (isa<FloatType>(type))
    return number;
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.getElementType().isIntOrFloat())
    return type;
  Type element = memref.getElementType();
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8), lanes = scale;
  Type lane = element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
  if (isa<FloatType>(element)) {
    // Narrower floats than any of a program's buffers are in temporaries.
    lanes = std::max<int64_t>(scale * bytes / 8, 1);
    lane = word;
  }
  return MemRefType::get(memref.getShape(), VectorType::get({lanes}, lane), memref.getLayout(),
                         memref.getMemorySpace());
}

void WordExpansion::convertTypes(Operation *op) {
  for (Value result : op->getResults())
    result.setType(convert(result.getType()));
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        argument.setType(convert(argument.getType()));
  if (auto func = dyn_cast<func::FuncOp>(op)) {
    auto inputs = llvm::map_to_vector(func.getArgumentTypes(), [&](Type type) { return convert(type); });
    func.setFunctionType(FunctionType::get(op->getContext(), inputs, func.getResultTypes()));
  }
}

void WordExpansion::addTable() {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  LLVM::GlobalOp::create(builder, module.getLoc(), LLVM::LLVMPointerType::get(module.getContext()),
                         /*isConstant=*/false, LLVM::Linkage::External, tableSymbol, Attribute());
}

Value WordExpansion::getWord(OpBuilder &builder, Location location, uint64_t bits) const {
  return arith::ConstantOp::create(builder, location, builder.getIntegerAttr(word, llvm::APInt(64, bits)));
}

Value WordExpansion::callFunction(OpBuilder &builder, Location location, StringRef name, ValueRange operands,
                                  Type result) const {
  auto place = llvm::find(tableNames, std::string_view(name));
  assert(place != tableNames.end() && "functions are called by names of the table");
  auto index = static_cast<int32_t>(place - tableNames.begin());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value symbol = LLVM::AddressOfOp::create(builder, location, pointer, tableSymbol);
  Value table = LLVM::LoadOp::create(builder, location, pointer, symbol);
  Value slot = LLVM::GEPOp::create(builder, location, pointer, pointer, table, ArrayRef<LLVM::GEPArg>{index});
  SmallVector<Value> callee = {LLVM::LoadOp::create(builder, location, pointer, slot)};
  llvm::append_range(callee, operands);
  auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(operands.getTypes()));
  return LLVM::CallOp::create(builder, location, type, callee).getResult();
}

void WordExpansion::replace(Operation *op, Value value) const {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

Value WordExpansion::widen(OpBuilder &builder, Location location, Value value, bool isSigned) const {
  if (value.getType() == word)
    return value;
  return isSigned ? arith::ExtSIOp::create(builder, location, word, value).getResult()
                  : arith::ExtUIOp::create(builder, location, word, value).getResult();
}

Value WordExpansion::narrow(OpBuilder &builder, Location location, Value value, Type type) const {
  return type == word ? value : arith::TruncIOp::create(builder, location, type, value).getResult();
}

uint64_t WordExpansion::getTypeNumber(Type type) {
  return llvm::TypeSwitch<Type, DType>(type)
      .Case([](Float64Type) { return F64; })
      .Case([](BFloat16Type) { return BF16; })
      .Case([](Float16Type) { return F16; })
      .Case([](Float8E4M3FNType) { return F8E4M3FN; })
      .Case([](Float8E5M2Type) { return F8E5M2; })
      .Case([](Float8E4M3B11FNUZType) { return F8E4M3B11FNUZ; })
      .Case([](Float8E4M3FNUZType) { return F8E4M3FNUZ; })
      .Case([](Float8E5M2FNUZType) { return F8E5M2FNUZ; })
      .Case([](Float8E4M3Type) { return F8E4M3; })
      .Case([](Float8E3M4Type) { return F8E3M4; })
      .Default([](Type) { return F32; });
}

LogicalResult WordExpansion::expand(Operation *op, const OriginalTypes &types) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return expandLoad(load, types.results.front());
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return expandStore(store);
  auto hasFloat = [](ArrayRef<Type> list) {
    return llvm::any_of(list, [](Type type) { return isa<FloatType>(type); });
  };
  return hasFloat(types.operands) || hasFloat(types.results) ? expandFloats(op, types) : checkConstant(op);
}

LogicalResult WordExpansion::checkConstant(Operation *op) const {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  auto shaped = constant ? dyn_cast<ShapedType>(constant.getType()) : ShapedType();
  bool isGlobal = isa<memref::GlobalOp>(op);
  if (!isGlobal && (!shaped || !isa<FloatType>(shaped.getElementType())))
    return success();
  return op->emitError() << arithmetic << " has no constant arrays inside of kernels";
}

LogicalResult WordExpansion::expandLoad(memref::LoadOp load, Type original) {
  if (!isa<VectorType>(load.getMemRefType().getElementType()))
    return success();
  OpBuilder builder(load);
  Location location = load.getLoc();
  Value place = memref::LoadOp::create(builder, location, load.getMemref(), load.getIndices());
  Value value = vector::ExtractOp::create(builder, location, place, int64_t(0));
  if (original.isInteger(1))
    value = narrow(builder, location, value, original);
  else if (isa<FloatType>(original) && number != word)
    value = arith::BitcastOp::create(builder, location, number, value);
  replace(load, value);
  return success();
}

LogicalResult WordExpansion::expandStore(memref::StoreOp store) {
  auto type = dyn_cast<VectorType>(store.getMemRefType().getElementType());
  if (!type)
    return success();
  OpBuilder builder(store);
  Location location = store.getLoc();
  Value value = store.getValueToStore();
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(builder, location, type.getElementType(), value);
  else if (value.getType() == number && number != word)
    value = arith::BitcastOp::create(builder, location, word, value);
  Value place = vector::BroadcastOp::create(builder, location, type, value);
  memref::StoreOp::create(builder, location, place, store.getMemref(), store.getIndices());
  store.erase();
  return success();
}
