//===- Precision.h - what operations tell about 16-bit floats ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_PRECISION_H
#define MESHWRIGHT_DIALECTS_NET_PRECISION_H

#include "mlir/IR/OpDefinition.h"

namespace meshwright::net {

/// How mixed precision treats an operation.
enum class Precision {
  /// Computed in 16 bit whatever its operands are: it is worth converting them.
  Narrow,
  /// Computed in the type it is written in: 16 bits lose more of its result than of its operands, or its meaning is the
  /// type.
  Wide,
  /// Computed in 16 bit where its operands are in 16 bit.
  Follow
};

/// `narrow`, `wide` or `follow`.
llvm::StringRef stringifyPrecision(Precision precision);

} // namespace meshwright::net

#include "dialects/Net/NetPrecision.h.inc"

#endif
