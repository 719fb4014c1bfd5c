//===- Common.cpp - what networks and their distribution share ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Common/ReduceKind.h"
#include "llvm/ADT/StringSwitch.h"

#include "dialects/Common/Enums.cpp.inc"
