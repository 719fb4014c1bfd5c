//===- LineChart.h - a curve as a picture -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_REPORT_LINECHART_H
#define MESHWRIGHT_TOOLS_DISTRUN_REPORT_LINECHART_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace meshwright::tool {

/// A number of the metrics over the steps that have it; a value that is not finite is a gap.
struct Curve {
  /// Its key in the metrics, and what it is called.
  std::string key, title;
  std::vector<std::pair<uint64_t, double>> points;

  /// The curve with at most about `limit` points: the smallest and the largest of as many runs of steps as that allows.
  Curve thin(size_t limit) const;
};

/// An SVG element.
std::string drawCurve(const Curve &curve);

} // namespace meshwright::tool

#endif
