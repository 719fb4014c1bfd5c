//===- Layout.h - which part of a value a rank holds ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain index arithmetic over the placements of a package. A digit split over an axis has an extent and a stride: the
// coordinate (i mod extent) / stride holds index i, and the next digit reads i mod extent mod stride. A rank's part of
// a dimension is then a list of runs of consecutive indices, and its part of a value the product of them: boxes in the
// factored shape.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_LAYOUT_H
#define MESHWRIGHT_RUNTIME_LAYOUT_H

#include "meshwright/runtime/Tensor.h"

namespace meshwright::runtime {

/// The mesh of a package: its axes' names and sizes, first axis slowest.
class Mesh {
public:
  Mesh() = default;
  /// Errors for sizes below 1, names twice, or more than 65536 ranks.
  static Result<Mesh> create(std::vector<std::string> names, std::vector<int64_t> sizes);

  size_t getNumAxes() const { return sizes.size(); }
  const std::string &getName(size_t axis) const { return names[axis]; }
  int64_t getSize(size_t axis) const { return sizes[axis]; }
  int64_t getNumRanks() const { return numRanks; }
  std::vector<int64_t> getCoordinates(int64_t rank) const;
  /// The ranks that differ from `rank` on `axes` only, ordered by their coordinates there, the first of `axes` slowest.
  std::vector<int64_t> getGroup(int64_t rank, std::span<const uint32_t> axes) const;
  /// The first of them.
  int64_t getFirstOfGroup(int64_t rank, std::span<const uint32_t> axes) const;

private:
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  int64_t numRanks = 1;
};

/// Consecutive indices of a dimension that lie side by side in a rank's array too.
struct Run {
  int64_t local, global, length;
  bool operator==(const Run &) const = default;
};

/// A placement checked against a mesh and a shape.
class Layout {
public:
  /// Errors name the dimension and the numbers that do not fit.
  static Result<Layout> create(const Placement &placement, const Mesh &mesh, Shape shape);
  /// Every rank holds all of it.
  static Layout replicated(Shape shape);

  const Shape &getShape() const { return shape; }
  /// The shape of a rank's array, the same on every rank.
  const Shape &getLocalShape() const { return localShape; }
  /// The axes that split a dimension.
  const std::vector<uint32_t> &getAxes() const { return axes; }
  /// The axes that split a dimension and those over which the value is a sum: ranks that differ elsewhere only hold the
  /// same.
  const std::vector<uint32_t> &getPartAxes() const { return partAxes; }
  /// The number of the addend that the rank of these coordinates holds, 0 to `getNumAddends() - 1`; every holder of the
  /// value holds one of them.
  uint64_t getAddend(std::span<const int64_t> coordinates) const;
  /// The value is the sum of so many parts in every place.
  uint64_t getNumAddends() const { return numAddends; }
  /// True if the rank of these coordinates holds a part at all; true if every rank does.
  bool isHeldAt(std::span<const int64_t> coordinates) const;
  bool isOnAllRanks() const { return support.empty(); }

  /// A digit split over an axis.
  struct Digit {
    uint32_t axis;
    int64_t extent, stride;
  };
  /// The split digits of a dimension, major to minor.
  const std::vector<Digit> &getDigits(size_t dim) const { return dims[dim]; }
  /// The indices of a dimension that the rank of these coordinates holds; the runs ascend, in its array and in the
  /// dimension.
  std::vector<Run> getRuns(size_t dim, std::span<const int64_t> coordinates) const;

private:
  friend class LocalPart;
  Status addSupport(const Placement &placement, const Mesh &mesh);
  Status addPartial(const Placement &placement, const Mesh &mesh);
  Shape shape, localShape;
  std::vector<std::vector<Digit>> dims;
  std::vector<uint32_t> axes, partAxes;
  /// The axes over which the value is a sum, and their coordinates that hold an addend.
  std::vector<std::pair<uint32_t, std::vector<int64_t>>> partial;
  uint64_t numAddends = 1;
  /// The coordinates that hold the value, of the axes where not all do; they ascend.
  std::vector<std::pair<uint32_t, std::vector<int64_t>>> support;
};

/// The part of a value that one rank holds under a layout.
class LocalPart {
public:
  LocalPart(const Layout &layout, std::span<const int64_t> coordinates);

  /// Calls fn(local offset, global offset, count) for every run of elements that is contiguous in the rank's array and
  /// in the whole value, in the order of the whole value's dimensions.
  template <typename Fn> void forEachRun(Fn &&fn) const {
    if (!isEmpty)
      visit(0, 0, 0, fn);
  }
  /// Elements of the value that this rank holds (its array may be larger).
  uint64_t getNumElements() const;

private:
  struct Dim {
    std::vector<Run> runs;
    int64_t localStride, globalStride;
  };
  template <typename Fn> void visit(size_t dim, int64_t local, int64_t global, Fn &fn) const {
    if (dim == dims.size())
      return fn(local, global, int64_t(1) * block);
    const Dim &d = dims[dim];
    bool innermost = dim + 1 == dims.size();
    for (const Run &run : d.runs) {
      int64_t localBase = local + run.local * d.localStride, globalBase = global + run.global * d.globalStride;
      if (innermost) {
        fn(localBase, globalBase, run.length * block);
        continue;
      }
      for (int64_t i = 0; i != run.length; ++i)
        visit(dim + 1, localBase + i * d.localStride, globalBase + i * d.globalStride, fn);
    }
  }

  /// The outer dimensions; those at the end that the rank holds whole are one block.
  std::vector<Dim> dims;
  int64_t block = 1;
  bool isEmpty = false;
};

/// Copies a rank's part out of the whole value into its array.
void scatterPart(const LocalPart &part, const std::byte *whole, std::byte *local, uint64_t elementSize);
/// Copies a rank's array into its part of the whole value.
void gatherPart(const LocalPart &part, const std::byte *local, std::byte *whole, uint64_t elementSize);
/// Adds a rank's array to its part of the whole value.
void addPart(const LocalPart &part, const std::byte *local, std::byte *whole, DType type);
/// The offset in the whole value of the first element in which the arrays of two ranks that hold the same part differ
/// in their bits; nothing if none.
std::optional<int64_t> findDifference(const LocalPart &part, const std::byte *a, const std::byte *b,
                                      uint64_t elementSize);

} // namespace meshwright::runtime

#endif
