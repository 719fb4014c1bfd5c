//===- KernelAccess.cpp - what code does with memory ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows an address forward through the lowered code. This knows nothing of the plan from which the code was made, nor
// of what the operations of a kernel mean.
//
//===----------------------------------------------------------------------===//

#include "KernelAccess.h"
#include "meshwright/runtime/KernelTable.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// Follows the values that hold an address.
class Follower {
public:
  uint64_t follow(Value pointer) {
    reached.insert(pointer);
    for (size_t next = 0; next != reached.size(); ++next)
      for (OpOperand &use : reached[next].getUses())
        access |= visit(use);
    return access;
  }

private:
  uint64_t visit(OpOperand &use);
  uint64_t visitCall(LLVM::CallOp call, OpOperand &use);

  llvm::SetVector<Value> reached;
  uint64_t access = 0;
};

} // namespace

static bool mayHoldAddress(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    type = vector.getElementType();
  return isa<LLVM::LLVMPointerType, LLVM::LLVMStructType, LLVM::LLVMArrayType>(type);
}

uint64_t Follower::visitCall(LLVM::CallOp call, OpOperand &use) {
  std::optional<StringRef> name = call.getCallee();
  auto callee =
      name ? SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(call, StringAttr::get(call.getContext(), *name))
           : LLVM::LLVMFuncOp();
  if (!callee || callee.isExternal() || use.getOperandNumber() >= callee.getNumArguments())
    return KERNEL_UNKNOWN;
  reached.insert(callee.getArgument(use.getOperandNumber()));
  return 0;
}

uint64_t Follower::visit(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (isa<LLVM::LoadOp, LLVM::MaskedLoadOp, LLVM::masked_gather>(op))
    return KERNEL_READS;
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    return index == 1 ? KERNEL_WRITES : KERNEL_UNKNOWN;
  if (isa<LLVM::MaskedStoreOp, LLVM::masked_scatter>(op))
    return index == 1 ? KERNEL_WRITES : KERNEL_UNKNOWN;
  if (isa<LLVM::MemcpyOp, LLVM::MemmoveOp>(op))
    return index == 0 ? KERNEL_WRITES : KERNEL_READS;
  if (isa<LLVM::MemsetOp>(op))
    return KERNEL_WRITES;
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return visitCall(call, use);
  if (auto branch = dyn_cast<BranchOpInterface>(op)) {
    if (std::optional<BlockArgument> argument = branch.getSuccessorBlockArgument(index))
      reached.insert(*argument);
    return 0;
  }
  // Operations that compute with addresses, or put them into aggregates and take them out.
  if (!isa<LLVM::GEPOp, LLVM::BitcastOp, LLVM::SelectOp, LLVM::InsertValueOp, LLVM::ExtractValueOp,
           LLVM::InsertElementOp, LLVM::ExtractElementOp, LLVM::ShuffleVectorOp>(op))
    return KERNEL_UNKNOWN;
  for (Value result : op->getResults())
    if (mayHoldAddress(result.getType()))
      reached.insert(result);
  return 0;
}

uint64_t emit::findAccess(Value pointer) { return Follower().follow(pointer); }
