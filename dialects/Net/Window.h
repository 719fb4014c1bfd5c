//===- Window.h - the arithmetic of sliding windows -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_WINDOW_H
#define MESHWRIGHT_DIALECTS_NET_WINDOW_H

#include <cstdint>
#include <optional>

namespace meshwright::net {

/// How a window slides along one dimension. The dimension is spread by `baseDilation` and surrounded by `low` and
/// `high` gaps; of the window at place o, element k stands on position o·stride + k·windowDilation − low of the spread
/// dimension.
struct WindowDim {
  int64_t size = 1, stride = 1, low = 0, high = 0, baseDilation = 1, windowDilation = 1;

  /// Whether the window at every place shows the element of that index and nothing else.
  bool isTrivial() const { return size == 1 && stride == 1 && low == 0 && high == 0 && baseDilation == 1; }
  /// The number of places of the window in a dimension of `extent`; nothing where the numbers are too large to tell.
  std::optional<int64_t> countPlaces(int64_t extent) const;
};

/// The length of `size` elements, `dilation` apart; nothing where it is too large to tell.
std::optional<int64_t> spread(int64_t size, int64_t dilation);

} // namespace meshwright::net

#endif
