//===- Conversions.h - what the steps of a program move ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_REPORT_CONVERSIONS_H
#define MESHWRIGHT_TOOLS_DISTRUN_REPORT_CONVERSIONS_H

#include "meshwright/runtime/Package.h"
#include <map>

namespace meshwright::tool {

/// The key of a row in the table of conversions.
struct ConversionKey {
  /// `c_allreduce (sum)`, `dp x tp`, `f32`.
  std::string kind, axes, type;
  auto operator<=>(const ConversionKey &) const = default;
};

/// Counts for a step: launches, values that they move, and bytes that a rank sends: the mean over the group, or the
/// bytes for one peer.
struct ConversionCount {
  uint64_t launches = 0, values = 0;
  double bytes = 0;
};

/// The conversions of a step at that position of an accumulation.
std::map<ConversionKey, ConversionCount> countConversions(const Program &program, uint32_t position,
                                                          const runtime::Mesh &mesh);

} // namespace meshwright::tool

#endif
