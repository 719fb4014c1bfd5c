//===- Interval.h - bounds on the elements of a value ------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_SHARDING_INTERVAL_H
#define MESHWRIGHT_LIB_RULES_SHARDING_INTERVAL_H

#include "mlir/IR/Value.h"

namespace meshwright::sharding {

/// A closed interval that holds every element of a value that is a number. Elements that are NaN are outside of every
/// interval: nothing is known of them, and no rule has to know.
struct Interval {
  double low, high;
};

/// The interval of the elements of `value`, a tensor of floats or integers, as far as the operations that make it show:
/// constants, positions, conversions, functions with a bounded range, and arithmetic on these. At most 64 operations
/// are looked at; past them, and for arguments and variables, it is the range of the element type, infinities included.
///
/// The interval is that of the whole value. It does not depend on placements: conversions between them are looked
/// through, so that a rule has the same answer before and after Partition makes them explicit.
Interval getInterval(mlir::Value value);

/// True if no element of `value` is infinite. Elements may be NaN.
bool isFinite(mlir::Value value);

/// True if no element of `value` is zero, or so small that a processor may take it for zero. Elements may be NaN.
bool isNonZero(mlir::Value value);

} // namespace meshwright::sharding

#endif
