//===- Fold.cpp - simpler forms of operations -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Fold.h"

#include "dialects/Net/NetFold.cpp.inc"
