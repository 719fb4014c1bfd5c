//===- Shift.h - dependence on a subtracted maximum -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_SHIFT_H
#define MESHWRIGHT_DIALECTS_NET_SHIFT_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace meshwright::net {

/// How a value v depends on a shift m, a tensor:
///
///   additive        v(m) = v(0) + k m
///   multiplicative  v(m) = v(0) exp(k m)
///
/// Dimension i of the value is dimension `dims[i]` of m, or none of it (-1).
struct ShiftDependence {
  bool multiplicative = false;
  /// k.
  int64_t factor = 0;
  llvm::SmallVector<int64_t> dims;

  /// Whether the value does not depend on m after all.
  bool isGone() const { return factor == 0; }
  bool matches(const ShiftDependence &other) const {
    return multiplicative == other.multiplicative && factor == other.factor && dims == other.dims;
  }
  ShiftDependence with(int64_t newFactor) const { return {multiplicative, newFactor, dims}; }
  ShiftDependence with(llvm::SmallVector<int64_t> newDims) const {
    return {multiplicative, factor, std::move(newDims)};
  }
};

} // namespace meshwright::net

#include "dialects/Net/NetShift.h.inc"

#endif
