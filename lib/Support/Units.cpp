//===- Units.cpp - readable quantities ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Units.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

using namespace meshwright;

/// One decimal, with the largest prefix that leaves a number of at least 1.
static std::string format(double value, llvm::StringRef unit) {
  static constexpr llvm::StringLiteral prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; value >= 999.95 && prefix + 1 != std::size(prefixes); ++prefix)
    value /= 1000;
  return prefix == 0 ? llvm::formatv("{0:F0} {1}", value, unit).str()
                     : llvm::formatv("{0:F1} {1}{2}", value, prefixes[prefix], unit).str();
}

std::string meshwright::formatBytes(double bytes) { return format(bytes, "B"); }

std::string meshwright::formatOperations(double operations) { return format(operations, "FLOP"); }
