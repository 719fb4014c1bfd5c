//===- Lists.h - lists of numbers in attributes -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_LISTS_H
#define MESHWRIGHT_LIB_STABLEHLO_LISTS_H

#include "Conversion.h"

namespace meshwright::importer {

/// Checks that the list `name` is not longer than the ranks of the operation's tensors allow, before its elements are
/// read: `dense<0> : tensor<100000000000xi64>` declares that many in a few bytes.
mlir::LogicalResult checkLength(Conversion &conversion, mlir::DenseElementsAttr list, llvm::StringRef name);

} // namespace meshwright::importer

#endif
