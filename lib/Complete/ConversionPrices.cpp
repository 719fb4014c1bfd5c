//===- ConversionPrices.cpp - bytes of conversions on one axis ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Digits of other axes change neither the ratio of units sent to units held nor whether an exchange along one dimension
// is even, if they are even themselves, so one axis can be priced alone.
//
//===----------------------------------------------------------------------===//

#include "ConversionPrices.h"
#include "dialects/Dist/Collectives.h"
#include "dialects/Dist/Regrouping.h"

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

/// The bytes that a rank sends for an exchange along one dimension, as a multiple of those that it holds. Without an
/// even exchange the parts are gathered.
double ConversionPrices::getRegroupedShare(int64_t size, const State &from, const State &to) const {
  auto [entry, isNew] = shares.try_emplace({size, from.extent, from.stride, to.extent, to.stride}, n - 1);
  if (!isNew)
    return entry->second;
  // The number of the axis does not matter to a single digit.
  constexpr Axis kAxis = 0;
  if (auto regrouping =
          Regrouping::find(size, Split{kAxis, from.extent, from.stride}, Split{kAxis, to.extent, to.stride}, kAxis, n))
    entry->second = getSentBytes(CollectiveKind::AllToAll, static_cast<double>(regrouping->slots * n), n) /
                    static_cast<double>(regrouping->numUnits);
  return entry->second;
}

double ConversionPrices::getBytes(double bytes, llvm::ArrayRef<int64_t> shape, const State &from,
                                  const State &to) const {
  if (from == to || from.isReplicated())
    return 0;
  double part = bytes / static_cast<double>(n);
  if (from.isPartial())
    return getSentBytes(to.isSplit() ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, bytes, n);
  if (!to.isSplit())
    return getSentBytes(CollectiveKind::AllGather, bytes, n);
  return to.dim == from.dim ? part * getRegroupedShare(shape[from.dim], from, to)
                            : getSentBytes(CollectiveKind::AllToAll, part, n);
}
