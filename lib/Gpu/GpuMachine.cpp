//===- GpuMachine.cpp - NVIDIA's GPUs and the emulated one ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An NVIDIA GPU has intrinsics of LLVM for what kernels ask of it. The emulated one calls functions that the caller of
// the kernels provides, with what they are given on the stack.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Gpu/GpuMachine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace meshwright::emit;

static Value toIndex(LoopBuilder &builder, Value number) {
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(), number);
}

namespace {

class NvidiaMachine : public GpuMachine {
public:
  bool roundsToBf16() const override { return true; }
  MathFunctions getFunctionsOfScores() const override { return MathFunctions::Approximate; }
  Value getThread(LoopBuilder &builder) const override { return read(builder, "llvm.nvvm.read.ptx.sreg.tid.x"); }
  Value getBlock(LoopBuilder &builder) const override { return read(builder, "llvm.nvvm.read.ptx.sreg.ctaid.x"); }

  void emitBarrier(LoopBuilder &builder) const override {
    Value all = LLVM::ConstantOp::create(builder, builder.getI32IntegerAttr(0));
    LLVM::CallIntrinsicOp::create(builder, builder.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"), all);
  }

  void emitWarpBarrier(LoopBuilder &builder) const override {
    Value all = LLVM::ConstantOp::create(builder, builder.getI32IntegerAttr(-1));
    LLVM::CallIntrinsicOp::create(builder, builder.getStringAttr("llvm.nvvm.bar.warp.sync"), all);
  }

  SmallVector<Value> multiply(LoopBuilder &builder, Type element, ValueRange a, ValueRange b,
                              ValueRange sums) const override {
    SmallVector<Value> operands;
    for (Value word : llvm::concat<Value>(SmallVector<Value>(a), SmallVector<Value>(b)))
      operands.push_back(
          element.isF16() ? LLVM::BitcastOp::create(builder, VectorType::get({2}, element), word).getResult() : word);
    llvm::append_range(operands, sums);
    auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(4, builder.getF32Type()));
    StringRef name = element.isF16() ? "llvm.nvvm.mma.m16n8k16.row.col.f32.f32" : "llvm.nvvm.mma.m16n8k16.row.col.bf16";
    auto call = LLVM::CallIntrinsicOp::create(builder, type, builder.getStringAttr(name), operands);
    SmallVector<Value> results;
    for (int64_t index = 0; index != 4; ++index)
      results.push_back(LLVM::ExtractValueOp::create(builder, call.getResult(0), index));
    return results;
  }

  /// An array without a size is what the launch adds to the memory of a block. Every function has one of its own name,
  /// so that the code of several kernels can stand in one file.
  Value getShared(LoopBuilder &builder) const override {
    constexpr unsigned kSharedSpace = 3;
    auto function = builder.getInsertionBlock()->getParent()->getParentOfType<LLVM::LLVMFuncOp>();
    std::string name = (function.getSymName() + "_shared").str();
    auto module = function->getParentOfType<ModuleOp>();
    if (!module.lookupSymbol(name)) {
      OpBuilder outside(function);
      auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
      LLVM::GlobalOp::create(outside, builder.getLoc(), bytes, /*isConstant=*/false, LLVM::Linkage::External, name,
                             Attribute(), /*alignment=*/16, kSharedSpace);
    }
    auto shared = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
    Value address = LLVM::AddressOfOp::create(builder, shared, name);
    return LLVM::AddrSpaceCastOp::create(builder, LLVM::LLVMPointerType::get(builder.getContext()), address);
  }

  void addEntry(KernelLowering &lowering, StringRef name, StringRef callee, unsigned threads) const override {
    lowering.addDeviceEntry(name, callee, threads);
  }

private:
  static Value read(LoopBuilder &builder, StringRef name) {
    auto call = LLVM::CallIntrinsicOp::create(builder, builder.getI32Type(), builder.getStringAttr(name), ValueRange());
    return toIndex(builder, call.getResult(0));
  }
};

class EmulatedMachine : public GpuMachine {
public:
  bool roundsToBf16() const override { return false; }
  MathFunctions getFunctionsOfScores() const override { return MathFunctions::Expanded; }
  Value getThread(LoopBuilder &builder) const override {
    return toIndex(builder, call(builder, "mw_emulated_thread", builder.getI32Type()));
  }
  Value getBlock(LoopBuilder &builder) const override {
    return toIndex(builder, call(builder, "mw_emulated_block", builder.getI32Type()));
  }
  void emitBarrier(LoopBuilder &builder) const override {
    call(builder, "mw_emulated_barrier", LLVM::LLVMVoidType::get(builder.getContext()));
  }
  /// All warps of a block come to the same ones.
  void emitWarpBarrier(LoopBuilder &builder) const override { emitBarrier(builder); }
  Value getShared(LoopBuilder &builder) const override {
    return call(builder, "mw_emulated_shared", LLVM::LLVMPointerType::get(builder.getContext()));
  }
  SmallVector<Value> multiply(LoopBuilder &builder, Type element, ValueRange a, ValueRange b,
                              ValueRange sums) const override {
    SmallVector<Value> words(a);
    llvm::append_range(words, b);
    Value isBrain = LLVM::ConstantOp::create(builder, builder.getI32IntegerAttr(element.isBF16()));
    Value operands = spill(builder, words), results = spill(builder, sums);
    call(builder, "mw_emulated_multiply", LLVM::LLVMVoidType::get(builder.getContext()), {isBrain, operands, results});
    SmallVector<Value> loaded;
    for (size_t index = 0; index != sums.size(); ++index)
      loaded.push_back(
          LLVM::LoadOp::create(builder, builder.getF32Type(), getPlace(builder, results, builder.getF32Type(), index)));
    return loaded;
  }
  void addEntry(KernelLowering &lowering, StringRef name, StringRef callee, unsigned threads) const override {
    lowering.addEntry(name, callee);
  }

private:
  static Value getPlace(LoopBuilder &builder, Value array, Type element, size_t index) {
    return LLVM::GEPOp::create(builder, array.getType(), element, array,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  }

  /// The address of an array of `values`, on the stack of the function.
  static Value spill(LoopBuilder &builder, ValueRange values) {
    Type element = values.front().getType();
    auto function = builder.getInsertionBlock()->getParent()->getParentOfType<LLVM::LLVMFuncOp>();
    LoopBuilder outside(builder.getLoc(), OpBuilder::atBlockBegin(&function.getBody().front()));
    Value count = LLVM::ConstantOp::create(outside, outside.getI32IntegerAttr(values.size()));
    Value array = LLVM::AllocaOp::create(outside, LLVM::LLVMPointerType::get(builder.getContext()), element, count);
    for (auto [index, value] : llvm::enumerate(values))
      LLVM::StoreOp::create(builder, value, getPlace(builder, array, element, index));
    return array;
  }

  /// Calls a function that the emulator provides.
  static Value call(LoopBuilder &builder, StringRef name, Type result, ValueRange operands = {}) {
    auto module = builder.getInsertionBlock()->getParent()->getParentOfType<ModuleOp>();
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function) {
      OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
      function = LLVM::LLVMFuncOp::create(outside, builder.getLoc(), name,
                                          LLVM::LLVMFunctionType::get(result, SmallVector<Type>(operands.getTypes())));
    }
    auto call = LLVM::CallOp::create(builder, function, operands);
    return call.getNumResults() == 1 ? call.getResult() : Value();
  }
};

} // namespace

const GpuMachine &GpuMachine::getNvidia() {
  static const NvidiaMachine machine;
  return machine;
}

const GpuMachine &GpuMachine::getEmulated() {
  static const EmulatedMachine machine;
  return machine;
}
