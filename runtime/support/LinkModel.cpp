//===- LinkModel.cpp - how long messages would take -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/LinkModel.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

using namespace meshwright::runtime;

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit timeUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
constexpr Unit rateUnits[] = {
    {"B/s", 1},         {"kB/s", 1e3},       {"KB/s", 1e3},       {"MB/s", 1e6},       {"GB/s", 1e9},
    {"TB/s", 1e12},     {"KiB/s", 0x1p10},   {"MiB/s", 0x1p20},   {"GiB/s", 0x1p30},   {"TiB/s", 0x1p40},
    {"bit/s", 1.0 / 8}, {"kbit/s", 1e3 / 8}, {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}, {"Tbit/s", 1e12 / 8},
};

/// A number with its unit, in the unit of factor 1.
Result<double> parseQuantity(std::string_view text, std::span<const Unit> units, const char *what,
                             std::string_view example) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value))
    return usageError("the {} \"{}\" does not begin with a number; {} would do", what, text, example);
  std::string_view unit = text.substr(end - text.data());
  for (const Unit &known : units)
    if (known.name == unit)
      return value * known.factor;
  if (unit.empty())
    return usageError("the {} \"{}\" has no unit; {} would do", what, text, example);
  return usageError("the {} \"{}\" has the unit \"{}\", which is not known; {} would do", what, text, unit, example);
}

} // namespace

Result<LinkModel> LinkModel::parse(const std::string &text) {
  size_t comma = text.find(',');
  if (comma == std::string::npos)
    return usageError("\"{}\" is not of the form LATENCY,BANDWIDTH, as in 20us,2GB/s", text);
  std::string_view all = text;
  LinkModel link;
  MW_TRY_ASSIGN(link.latency, parseQuantity(all.substr(0, comma), timeUnits, "latency", "20us"));
  MW_TRY_ASSIGN(link.bandwidth, parseQuantity(all.substr(comma + 1), rateUnits, "bandwidth", "2GB/s"));
  if (link.latency < 0 || link.latency > 60)
    return usageError("the latency {} is not between 0 and 60 s", all.substr(0, comma));
  if (!(link.bandwidth > 0))
    return usageError("the bandwidth {} is not above 0", all.substr(comma + 1));
  return link;
}

std::chrono::nanoseconds LinkModel::getDuration(double bytes) const {
  return std::chrono::nanoseconds(std::llround(std::min(getSeconds(bytes), 86400.0) * 1e9));
}

LinkModel LinkModel::fit(std::span<const Point> points) {
  // Faster than anything: a slope of nothing has no bandwidth.
  constexpr double kLeastSlope = 1e-15;
  // Divided by the measured time, a point asks for latency * one + slope * bytes = 1.
  double oneOne = 0, oneBytes = 0, bytesBytes = 0, one = 0, bytes = 0;
  for (const Point &point : points) {
    double a = 1 / point.seconds, b = point.bytes / point.seconds;
    oneOne += a * a;
    oneBytes += a * b;
    bytesBytes += b * b;
    one += a;
    bytes += b;
  }
  double determinant = oneOne * bytesBytes - oneBytes * oneBytes;
  double latency = (one * bytesBytes - bytes * oneBytes) / determinant;
  double slope = (oneOne * bytes - oneBytes * one) / determinant;
  // Neither is below nothing; then the other one alone comes nearest.
  if (!(latency >= 0)) {
    latency = 0;
    slope = bytes / bytesBytes;
  } else if (!(slope > kLeastSlope)) {
    latency = one / oneOne;
    slope = kLeastSlope;
  }
  return {latency, 1 / slope};
}

std::string LinkModel::toString() const { return fmt::format("{:.3g}us,{:.3g}GB/s", latency * 1e6, bandwidth / 1e9); }
