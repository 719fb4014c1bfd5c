//===- LinkModel.h - how long messages would take ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_LINKMODEL_H
#define MESHWRIGHT_RUNTIME_LINKMODEL_H

#include "meshwright/runtime/Status.h"
#include <chrono>
#include <span>

namespace meshwright::runtime {

/// A link between ranks, or between a device and its host: a collective or copy takes the latency, and the bytes that a
/// rank sends divided by the bandwidth.
struct LinkModel {
  double latency = 0;   ///< seconds
  double bandwidth = 0; ///< bytes per second

  /// Reads `20us,2GB/s`. Both need their unit: ns, us, ms or s; B/s, kB/s to TB/s, KiB/s to TiB/s, bit/s to Tbit/s.
  /// Errors are of wrong usage.
  static Result<LinkModel> parse(const std::string &text);
  double getSeconds(double bytes) const { return latency + bytes / bandwidth; }
  /// The link that comes nearest to measured times: the sum of the squares of their relative errors is smallest. Of
  /// points with at least two different numbers of bytes, and times above 0.
  struct Point {
    double bytes, seconds;
  };
  static LinkModel fit(std::span<const Point> points);
  /// As `parse` reads it: `20.1us,1.96GB/s`.
  std::string toString() const;
  /// The same as a clock counts; a day at most, which is as good as for ever.
  std::chrono::nanoseconds getDuration(double bytes) const;
};

} // namespace meshwright::runtime

#endif
