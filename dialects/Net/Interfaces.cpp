//===- Interfaces.cpp - interface of differentiable operations ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Interfaces.h"

#include "dialects/Net/NetInterfaces.cpp.inc"
