//===- GpuMachine.cpp - NVIDIA's GPUs and the emulated one ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/GpuMachine.h"
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
  void addEntry(KernelLowering &lowering, StringRef name, StringRef callee, unsigned threads) const override {
    lowering.addEntry(name, callee);
  }

private:
  /// Calls a function that the emulator provides.
  static Value call(LoopBuilder &builder, StringRef name, Type result) {
    auto module = builder.getInsertionBlock()->getParent()->getParentOfType<ModuleOp>();
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function) {
      OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
      function = LLVM::LLVMFuncOp::create(outside, builder.getLoc(), name, LLVM::LLVMFunctionType::get(result, {}));
    }
    auto call = LLVM::CallOp::create(builder, function, ValueRange());
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
