//===- Elementwise.cpp - verifiers of elementwise operations --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright::net;

LogicalResult CompareOp::verify() {
  // compare_c3
  Type element = getElementTypeOrSelf(getLhs().getType());
  if (getTotalOrder() && !isa<FloatType>(element))
    return emitOpError() << "asks for the total order of floats but compares " << element;
  return success();
}

LogicalResult BitcastConvertOp::verify() {
  // bitcast_convert_c2
  Type from = getElementTypeOrSelf(getOperand().getType()), to = getElementTypeOrSelf(getResult().getType());
  if (from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOpError() << "reads elements of " << from.getIntOrFloatBitWidth() << " bits as " << to << " of "
                         << to.getIntOrFloatBitWidth();
  return success();
}

LogicalResult ReducePrecisionOp::verify() {
  // reduce_precision_c2
  if (static_cast<int64_t>(getExponent()) < 1 || static_cast<int64_t>(getMantissa()) < 0)
    return emitOpError() << "has " << static_cast<int64_t>(getExponent()) << " bits of exponent and "
                         << static_cast<int64_t>(getMantissa()) << " of mantissa";
  return success();
}
