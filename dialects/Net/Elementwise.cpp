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
