//===- Shift.cpp - dependence on a subtracted maximum ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Shift.h"

#include "dialects/Net/NetShift.cpp.inc"
