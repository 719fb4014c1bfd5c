//===- ConversionPrices.h - bytes of conversions on one axis ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_CONVERSIONPRICES_H
#define MESHWRIGHT_LIB_COMPLETE_CONVERSIONPRICES_H

#include "Graph.h"
#include <map>

namespace meshwright::complete {

/// The bytes of conversions over one axis, as Partition plans them.
class ConversionPrices {
public:
  /// Prices for an axis of `n` ranks.
  explicit ConversionPrices(int64_t n) : n(n) {}

  /// The bytes that a rank sends to convert a value of `shape`, of which the other axes leave `bytes`. `to` is not
  /// partial unless `from` is the same or replicated.
  double getBytes(double bytes, llvm::ArrayRef<int64_t> shape, const State &from, const State &to) const;

private:
  double getRegroupedShare(int64_t size, const State &from, const State &to) const;

  int64_t n;
  /// By size of the dimension, extents and strides: the part of a rank's bytes that it sends.
  mutable std::map<std::array<int64_t, 5>, double> shares;
};

} // namespace meshwright::complete

#endif
