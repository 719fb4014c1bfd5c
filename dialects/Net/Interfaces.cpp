//===- Interfaces.cpp - what operations tell about their derivative -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Interfaces.h"

#include "dialects/Net/NetInterfaces.cpp.inc"
