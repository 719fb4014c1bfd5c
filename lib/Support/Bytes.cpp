//===- Bytes.cpp - numbers of bytes ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Bytes.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;

namespace {

/// A sum of bytes that knows when it is too large.
class Sum {
public:
  /// Adds the bytes of a value of `type` so many times. Types without elements in memory have none.
  void add(Type type, int64_t times) {
    auto flight = dyn_cast<dist::FlightType>(type);
    RankedTensorType tensor = flight ? flight.getType() : dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
      return;
    int64_t bytes = getElementBytes(tensor.getElementType());
    for (int64_t size : tensor.getShape())
      multiply(bytes, size);
    multiply(bytes, times);
    total = bytes > kMaxStepBytes - total ? kMaxStepBytes + 1 : total + bytes;
  }

  LogicalResult check(Operation *op) const {
    if (total <= kMaxStepBytes)
      return success();
    return op->emitError() << "the values of a step up to this one have more than " << kMaxStepBytes
                           << " bytes, the most that can be added up";
  }

private:
  static void multiply(int64_t &bytes, int64_t factor) {
    if (llvm::MulOverflow(bytes, factor, bytes) || bytes > kMaxStepBytes)
      bytes = kMaxStepBytes + 1;
  }

  int64_t total = 0;
};

} // namespace

static LogicalResult addFunction(func::FuncOp func, Sum &sum) {
  if (func.isExternal())
    return success();
  net::LoopNest nest = net::LoopNest::findBodies(func.getBody().front());
  for (Type type : func.getArgumentTypes())
    sum.add(type, 1);
  if (failed(sum.check(func)))
    return failure();
  for (Operation &op : func.getBody().front()) {
    int64_t trips = nest.getTrips(&op);
    for (Type type : op.getOperandTypes())
      sum.add(type, trips);
    for (Type type : op.getResultTypes())
      sum.add(type, trips);
    if (failed(sum.check(&op)))
      return failure();
  }
  return success();
}

LogicalResult meshwright::verifyBytes(ModuleOp module) {
  Sum sum;
  for (auto variable : module.getOps<net::VariableOp>()) {
    auto slots = variable->getAttrOfType<IntegerAttr>(dist::kSlotsAttr);
    sum.add(variable.getTensorType(), slots ? std::max<int64_t>(slots.getInt(), 1) : 1);
    if (failed(sum.check(variable)))
      return failure();
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (failed(addFunction(func, sum)))
      return failure();
  return success();
}
