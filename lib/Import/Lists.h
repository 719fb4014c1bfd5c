//===- Lists.h - attributes that are lists of numbers -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_LISTS_H
#define MESHWRIGHT_LIB_IMPORT_LISTS_H

#include "Conversion.h"

namespace meshwright::importer {

/// Checks that the attribute `name`, a list of numbers about dimensions, is no longer than the operation's tensors
/// explain, before its elements are looked at: `dense<0> : tensor<100000000000xi64>` states that many in a few bytes.
mlir::LogicalResult checkLength(Conversion &conversion, mlir::DenseElementsAttr list, llvm::StringRef name);

} // namespace meshwright::importer

#endif
