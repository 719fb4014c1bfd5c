//===- Units.h - units of sizes and operations ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_UNITS_H
#define MESHWRIGHT_SUPPORT_UNITS_H

#include "meshwright/Support/Bytes.h"
#include <algorithm>
#include <cmath>
#include <string>

namespace meshwright {

/// Bytes of a kilobyte and a megabyte in options, strategies and output: SI units, as in GB/s.
inline constexpr double kKilobyte = 1e3, kMegabyte = 1e6;

/// `megabytes` in bytes, rounded to nearest, at most `kUnboundedBytes`.
inline int64_t fromMegabytes(double megabytes) {
  return static_cast<int64_t>(std::min(std::round(megabytes * kMegabyte), static_cast<double>(kUnboundedBytes)));
}

/// Readable quantities: "48 B", "13.3 MB"; "2.5 GFLOP".
std::string formatBytes(double bytes);
std::string formatOperations(double operations);
/// The longest text of `formatBytes`, for columns.
inline constexpr unsigned kBytesWidth = 8;

} // namespace meshwright

#endif
