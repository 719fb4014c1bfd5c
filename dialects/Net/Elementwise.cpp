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
