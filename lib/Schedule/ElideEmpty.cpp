//===- ElideEmpty.cpp - replaces empty values by constants ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value without elements equals a constant, whatever made it. After this pass no kernel, GEMM or collective has only
// empty results, so no loop runs over nothing and ranks exchange nothing empty. Operations that make elements from
// empty operands, such as a sum, stay: their kernels handle that.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_ELIDEEMPTYPASS
#include "meshwright/Schedule/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

static bool isEmpty(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getNumElements() == 0;
}

/// True if `op` only makes values and all are empty. Parts of a loop are kept together, and reads of state are kept.
static bool makesNothing(Operation *op) {
  bool isPart = op->hasTrait<net::LoopPart>() || isAlwaysAvailable(op);
  return !isPart && op->getNumResults() != 0 && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getResults(), isEmpty);
}

/// A constant without elements in the place of `value`.
static void replaceByConstant(OpBuilder &builder, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto nothing = cast<ElementsAttr>(DenseElementsAttr::get(type, ArrayRef<Attribute>()));
  auto constant = net::ConstantOp::create(builder, value.getLoc(), type, nothing);
  inherit(constant, value.getDefiningOp(), Inherit::Replacement);
  value.replaceAllUsesWith(constant.getResult());
}

namespace {

struct ElideEmptyPass : schedule::impl::ElideEmptyPassBase<ElideEmptyPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody())
        for (Operation &op : llvm::make_early_inc_range(block)) {
          if (!makesNothing(&op))
            continue;
          OpBuilder builder(&op);
          for (Value result : op.getResults())
            replaceByConstant(builder, result);
          op.erase();
          ++numElided;
        }
  }
};

} // namespace
