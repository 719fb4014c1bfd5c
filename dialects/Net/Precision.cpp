//===- Precision.cpp - classes of operations in mixed precision -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Precision.h"

llvm::StringRef meshwright::net::stringifyPrecision(Precision precision) {
  switch (precision) {
  case Precision::Narrow:
    return "narrow";
  case Precision::Wide:
    return "wide";
  case Precision::Follow:
    return "follow";
  }
  llvm_unreachable("every class has a name");
}

#include "dialects/Net/NetPrecision.cpp.inc"
