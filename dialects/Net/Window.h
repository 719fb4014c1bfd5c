//===- Window.h - the arithmetic of sliding windows -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_WINDOW_H
#define MESHWRIGHT_DIALECTS_NET_WINDOW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <utility>

namespace meshwright::net {

/// A window that slides along one dimension. The dimension is dilated by `baseDilation` and padded by `low` and `high`
/// gaps; element k of the window at place o is at position o·stride + k·windowDilation − low of the dilated dimension.
struct WindowDim {
  int64_t size = 1, stride = 1, low = 0, high = 0, baseDilation = 1, windowDilation = 1;

  /// True if the window at place i contains element i and nothing else.
  bool isTrivial() const { return size == 1 && stride == 1 && low == 0 && high == 0 && baseDilation == 1; }
  /// The number of places of the window in a dimension of `extent`; nothing if the computation overflows.
  std::optional<int64_t> countPlaces(int64_t extent) const;
  /// The indices from the first to before the last at which element `element` of the window stands at so many places,
  /// in the dimension with its gaps; they are `stride` apart.
  std::pair<int64_t, int64_t> findSlice(int64_t element, int64_t places) const;
};

/// The indices of all elements of a window of these sizes, in row-major order.
llvm::SmallVector<llvm::SmallVector<int64_t>> listElements(llvm::ArrayRef<int64_t> sizes);

/// The length of `size` elements that are `dilation` apart; nothing if it overflows.
std::optional<int64_t> spread(int64_t size, int64_t dilation);

} // namespace meshwright::net

#endif
