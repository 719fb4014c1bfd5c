//===- Uses.cpp - the element type in which a value is used ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Uses.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;

Type net::getUsedType(Value value) {
  Type own = getElementTypeOrSelf(value), used;
  for (Operation *user : value.getUsers()) {
    auto convert = dyn_cast<ConvertOp>(user);
    Type type = convert ? getElementTypeOrSelf(convert.getResult()) : own;
    if (type.getIntOrFloatBitWidth() >= own.getIntOrFloatBitWidth() || (used && used != type))
      return own;
    used = type;
  }
  return used ? used : own;
}

bool net::isOutput(Operation *op) { return isa<AssignOp>(op) || op->hasTrait<OpTrait::IsTerminator>(); }
