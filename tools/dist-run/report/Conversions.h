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

/// What tells conversions of a table apart.
struct ConversionKey {
  /// `c_allreduce (sum)`, `dp x tp`, `f32`.
  std::string kind, axes, type;
  auto operator<=>(const ConversionKey &) const = default;
};

/// How many there are in a step, as launches and as values that they move, and the bytes that a rank sends: the mean
/// over the group, or what it sends to one other.
struct ConversionCount {
  uint64_t launches = 0, values = 0;
  double bytes = 0;
};

/// The conversions of a step at that position of a merge.
std::map<ConversionKey, ConversionCount> countConversions(const Program &program, uint32_t position,
                                                          const runtime::Mesh &mesh);

} // namespace meshwright::tool

#endif
