//===- Precision.h - classes of operations in mixed precision ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_PRECISION_H
#define MESHWRIGHT_DIALECTS_NET_PRECISION_H

#include "mlir/IR/OpDefinition.h"

namespace meshwright::net {

/// The class of an operation in mixed precision.
enum class Precision {
  /// Computed in 16 bit; operands are converted, which pays off for such an operation.
  Narrow,
  /// Computed in the type that the network gives it, because 16 bits lose more accuracy in its result than in its
  /// operands, or because the operation is about the type itself.
  Wide,
  /// Computed in 16 bit if its operands are in 16 bit.
  Follow
};

/// `narrow`, `wide` or `follow`.
llvm::StringRef stringifyPrecision(Precision precision);

} // namespace meshwright::net

#include "dialects/Net/NetPrecision.h.inc"

#endif
