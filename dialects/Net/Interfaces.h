//===- Interfaces.h - interface of differentiable operations ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_INTERFACES_H
#define MESHWRIGHT_DIALECTS_NET_INTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/BitVector.h"

#include "dialects/Net/NetInterfaces.h.inc"

#endif
