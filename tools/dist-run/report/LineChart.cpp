//===- LineChart.cpp - a curve as a picture -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LineChart.h"
#include "Html.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

using namespace meshwright::tool;

namespace {

constexpr double kWidth = 560, kHeight = 200, kLeft = 72, kRight = 12, kTop = 12, kBottom = 28;

/// A range of values and where it lies in the picture.
struct Scale {
  double low, high, from, to;

  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }

  /// About `count` round numbers.
  std::vector<double> getTicks(int count) const {
    double rough = (high - low) / count, unit = std::pow(10, std::floor(std::log10(rough)));
    double step = unit * (rough / unit > 5 ? 10 : rough / unit > 2 ? 5 : rough / unit > 1 ? 2 : 1);
    std::vector<double> ticks;
    for (double index = std::ceil(low / step); index * step <= high && ticks.size() < 20; ++index)
      ticks.push_back(index * step);
    return ticks;
  }
};

/// A scale from the smallest to the largest value; where they are one, from a little below it to a little above.
Scale makeScale(double low, double high, double from, double to) {
  double margin = high - low > 1e-12 * std::abs(high) ? 0 : std::max(std::abs(high) * 0.1, 1e-300);
  return {low - margin, high + margin, from, to};
}

std::string drawAxes(const Scale &x, const Scale &y) {
  std::string text;
  for (double tick : y.getTicks(4))
    fmt::format_to(std::back_inserter(text),
                   "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
                   "<text class=\"y\" x=\"{3:.1f}\" y=\"{2:.1f}\">{4:.4g}</text>\n",
                   x.from, x.to, y.at(tick), x.from - 6, tick);
  for (double tick : x.getTicks(6))
    if (tick == std::floor(tick))
      fmt::format_to(std::back_inserter(text), "<text class=\"x\" x=\"{:.1f}\" y=\"{:.1f}\">{:.6g}</text>\n",
                     x.at(tick), kHeight - 8, tick);
  return text;
}

/// The lines between neighbours that are both finite. A point without such a neighbour is a dot.
std::string drawPoints(const Curve &curve, const Scale &x, const Scale &y) {
  std::string path, dots;
  for (size_t i = 0; i != curve.points.size(); ++i) {
    auto [step, value] = curve.points[i];
    auto isFinite = [&](size_t index) {
      return index < curve.points.size() && std::isfinite(curve.points[index].second);
    };
    if (!isFinite(i))
      continue;
    double left = x.at(static_cast<double>(step)), top = y.at(value);
    fmt::format_to(std::back_inserter(path), "{}{:.2f} {:.2f}", isFinite(i - 1) ? "L" : "M", left, top);
    if (!isFinite(i - 1) && !isFinite(i + 1))
      fmt::format_to(std::back_inserter(dots), "<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"2\"/>", left, top);
  }
  return fmt::format("<path d=\"{}\"/>{}\n", path, dots);
}

} // namespace

Curve Curve::thin(size_t limit) const {
  if (points.size() <= limit)
    return *this;
  Curve result{key, title, {}};
  size_t run = (2 * points.size() + limit - 1) / limit;
  auto isLess = [](const auto &left, const auto &right) {
    // A value that is not finite counts as larger than all finite ones, so that the chart shows it.
    bool isFinite = std::isfinite(left.second);
    return isFinite != std::isfinite(right.second) ? isFinite : isFinite && left.second < right.second;
  };
  for (size_t begin = 0; begin < points.size(); begin += run) {
    auto first = points.begin() + begin, last = points.begin() + std::min(begin + run, points.size());
    auto [low, high] = std::minmax_element(first, last, isLess);
    result.points.push_back(*std::min(low, high));
    if (low != high)
      result.points.push_back(*std::max(low, high));
  }
  return result;
}

std::string meshwright::tool::drawCurve(const Curve &curve) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (auto [step, value] : curve.points)
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  std::string content;
  Scale x = makeScale(static_cast<double>(curve.points.front().first), static_cast<double>(curve.points.back().first),
                      kLeft, kWidth - kRight);
  if (low <= high) {
    Scale y = makeScale(low, high, kHeight - kBottom, kTop);
    content = drawAxes(x, y) + drawPoints(curve, x, y);
  } else {
    content = fmt::format("<text class=\"x\" x=\"{}\" y=\"{}\">no value is finite</text>", kWidth / 2, kHeight / 2);
  }
  return fmt::format("<figure><figcaption>{0} <output></output></figcaption><svg class=\"curve\" data-key=\"{1}\" "
                     "data-x=\"{2:.17g} {3:.17g} {4} {5}\" viewBox=\"0 0 {6} {7}\" role=\"img\" "
                     "aria-label=\"{0} by step\">\n{8}</svg></figure>\n",
                     escapeHtml(curve.title), escapeHtml(curve.key), x.low, x.high, x.from, x.to, kWidth, kHeight,
                     content);
}
