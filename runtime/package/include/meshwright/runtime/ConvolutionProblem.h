//===- ConvolutionProblem.h - convolutions as products ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution is a product of two matrices for each of its groups. Every place of the window is a row of the left
// one, its *patch*: the elements that the window shows there, zero where it shows none.
//
//               depth: channels and elements of the window         features
//             +------------------------------------------+        +--------+
//    rows:    | patch of (0, 0)                          |        | rhs    |
//    batch    | patch of (0, 1)                          |   ·    |        |   =   out
//    and      | …                                        |        |        |
//    places   +------------------------------------------+        +--------+
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CONVOLUTIONPROBLEM_H
#define MESHWRIGHT_RUNTIME_CONVOLUTIONPROBLEM_H

#include "meshwright/runtime/DType.h"
#include <array>
#include <optional>
#include <vector>

namespace meshwright::runtime {

/// Spatial dimensions that a convolution may have.
constexpr size_t maxSpatialDims = 3;

/// A loop over rows or over the depth. Its steps lead so many elements on in lhs, and in out (rows) or rhs (depth);
/// where it is one of a spatial dimension they lead so many positions on there, and `lhs` is zero.
struct PatchLoop {
  int64_t extent, lhs, other;
  int spatial = -1;
  int64_t step = 0;
};

/// One spatial dimension of lhs: an index i is at position i · dilation, and the first patch begins at position −low.
struct PatchDim {
  int64_t extent, stride, dilation, low;
};

/// The loops of one group of a convolution, which are the same for all groups; offsets and strides in elements.
struct ConvolutionProblem {
  DType lhsType, rhsType, outType;
  /// As of a product (MatmulProblem.h).
  DType rounded = DTYPE_INVALID;
  /// Whether the order of sums may depend on the sizes of the window and the channels alone.
  bool ordered = false;
  int64_t groups, channels, features;
  int64_t lhsGroup, rhsGroup, outGroup; ///< from group to group
  int64_t rhsFeature, outFeature;
  int64_t rhsStart; ///< the element of rhs where the loops begin: a window that is reversed begins with its last
  std::vector<PatchDim> dims;
  /// Each with the loop innermost that moves least in lhs.
  std::vector<PatchLoop> rows, depth;

  int64_t getRows() const;
  int64_t getDepth() const;
  /// The type that sums are taken in.
  DType getSumType() const {
    return lhsType == RESIDUE ? RESIDUE : lhsType == F64 || rhsType == F64 || outType == F64 ? F64 : F32;
  }
};

/// The problem of a checked convolution.
ConvolutionProblem getProblem(const Convolution &convolution);

/// The distance in `other` of neighbouring positions of the loops, if it is the same everywhere.
std::optional<int64_t> findStride(const std::vector<PatchLoop> &loops);

/// Neighbouring positions of loops. All have the same places in the spatial dimensions, and are neighbours in lhs.
struct Span {
  int64_t begin, length; ///< counted from the first position that was asked for
  int64_t lhs = 0, other = 0;
  std::array<int64_t, maxSpatialDims> position = {};
};

/// Lists positions [from, to) of the loops. Spans are longer than 1 where `joins` says that steps of the innermost
/// loop are neighbours in lhs.
void listSpans(const std::vector<PatchLoop> &loops, bool joins, int64_t from, int64_t to, std::vector<Span> &spans);

/// True if steps of the innermost loop are neighbours in lhs.
bool canJoin(const std::vector<PatchLoop> &loops);

/// The element of lhs that a row and a column show, from the beginning of the group; nothing where they show none.
inline std::optional<int64_t> findElement(const ConvolutionProblem &problem, const Span &row, const Span &column) {
  int64_t offset = row.lhs + column.lhs;
  for (size_t i = 0; i != problem.dims.size(); ++i) {
    const PatchDim &dim = problem.dims[i];
    int64_t position = row.position[i] + column.position[i] - dim.low;
    if (position < 0)
      return std::nullopt;
    if (dim.dilation != 1) {
      if (position % dim.dilation != 0)
        return std::nullopt;
      position /= dim.dilation;
    }
    if (position >= dim.extent)
      return std::nullopt;
    offset += position * dim.stride;
  }
  return offset;
}

} // namespace meshwright::runtime

#endif
