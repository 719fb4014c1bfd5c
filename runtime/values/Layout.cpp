//===- Layout.cpp - which part of a value a rank holds --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the runs of a dimension digit by digit, from minor to major: a digit over an axis shifts the runs by the
// rank's coordinate and cuts them at its extent, and the result repeats as often as the extent fits into the stride of
// the digit above. Adjacent runs are joined, so that copies between a part and a whole array move the largest
// contiguous blocks.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Layout.h"
#include "meshwright/runtime/MostRanks.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Result<Mesh> Mesh::create(std::vector<std::string> names, std::vector<int64_t> sizes) {
  Mesh mesh;
  for (size_t i = 0; i != sizes.size(); ++i) {
    if (sizes[i] < 1)
      return inputError("axis \"{}\" has size {} where at least 1 is wanted", names[i], sizes[i]);
    if (std::find(names.begin(), names.begin() + i, names[i]) != names.begin() + i)
      return inputError("two axes are called \"{}\"", names[i]);
    if (sizes[i] > mostRanks / mesh.numRanks)
      return inputError("axis \"{}\" of size {} makes the mesh larger than {} ranks", names[i], sizes[i], mostRanks);
    mesh.numRanks *= sizes[i];
  }
  mesh.names = std::move(names);
  mesh.sizes = std::move(sizes);
  return mesh;
}

std::vector<int64_t> Mesh::getCoordinates(int64_t rank) const {
  std::vector<int64_t> coordinates(sizes.size());
  for (size_t axis = sizes.size(); axis-- != 0; rank /= sizes[axis])
    coordinates[axis] = rank % sizes[axis];
  return coordinates;
}

std::vector<int64_t> Mesh::getGroup(int64_t rank, std::span<const uint32_t> axes) const {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t axis = sizes.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * sizes[axis];
  std::vector<int64_t> group = {getFirstOfGroup(rank, axes)};
  for (uint32_t axis : axes) {
    std::vector<int64_t> next;
    for (int64_t member : group)
      for (int64_t i = 0; i != sizes[axis]; ++i)
        next.push_back(member + i * strides[axis]);
    group = std::move(next);
  }
  return group;
}

int64_t Mesh::getFirstOfGroup(int64_t rank, std::span<const uint32_t> axes) const {
  std::vector<int64_t> coordinates = getCoordinates(rank);
  for (uint32_t axis : axes)
    coordinates[axis] = 0;
  int64_t first = 0;
  for (size_t axis = 0; axis != sizes.size(); ++axis)
    first = first * sizes[axis] + coordinates[axis];
  return first;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Layout Layout::replicated(Shape shape) {
  Layout layout;
  layout.localShape = shape;
  layout.dims.resize(shape.size());
  layout.shape = std::move(shape);
  return layout;
}

Result<Layout> Layout::create(const Placement &placement, const Mesh &mesh, Shape shape) {
  // A placement without dimensions is a replicated one.
  if (placement.dims_size() != 0 && static_cast<size_t>(placement.dims_size()) != shape.size())
    return inputError("the placement has {} dimensions but the value has {}", placement.dims_size(), shape.size());
  Layout layout = replicated(std::move(shape));
  for (int dim = 0; dim != placement.dims_size(); ++dim) {
    int64_t left = layout.shape[dim], local = 1;
    for (const Split &split : placement.dims(dim).splits()) {
      if (split.axis() >= mesh.getNumAxes())
        return inputError("dimension {} is split over axis {} of a mesh with {} axes", dim, split.axis(),
                          mesh.getNumAxes());
      if (std::find(layout.axes.begin(), layout.axes.end(), split.axis()) != layout.axes.end())
        return inputError("axis \"{}\" splits the value twice", mesh.getName(split.axis()));
      int64_t extent = split.extent(), stride = split.stride();
      if (extent < (left == 0 ? 0 : 1) || extent > left || (extent != 0 && left % extent != 0))
        return inputError(
            "a digit of extent {} does not divide the {} indices that are left of dimension {} of size {}", extent,
            left, dim, layout.shape[dim]);
      // n * stride >= extent, without overflow.
      int64_t size = mesh.getSize(split.axis());
      if (stride < 1 || stride > std::max<int64_t>(extent, 1) || stride < (extent + size - 1) / size)
        return inputError("{} parts of {} indices over axis \"{}\" do not fit an extent of {}", size, stride,
                          mesh.getName(split.axis()), extent);
      layout.axes.push_back(split.axis());
      layout.dims[dim].push_back({split.axis(), extent, stride});
      local *= extent == 0 ? 1 : left / extent;
      left = stride;
    }
    layout.localShape[dim] = local * left;
  }
  std::sort(layout.axes.begin(), layout.axes.end());
  layout.partAxes = layout.axes;
  MW_TRY(layout.addSupport(placement, mesh));
  MW_TRY(layout.addPartial(placement, mesh));
  return layout;
}

Status Layout::addSupport(const Placement &placement, const Mesh &mesh) {
  for (const Support &entry : placement.support()) {
    if (entry.axis() >= mesh.getNumAxes())
      return inputError("the support is over axis {} of a mesh with {} axes", entry.axis(), mesh.getNumAxes());
    const std::string &name = mesh.getName(entry.axis());
    if (std::binary_search(axes.begin(), axes.end(), entry.axis()))
      return inputError("axis \"{}\" splits the value and says which ranks hold it", name);
    for (const auto &known : support)
      if (known.first == entry.axis())
        return inputError("the support names the axis \"{}\" twice", name);
    if (entry.coordinates().empty())
      return inputError("no coordinate of axis \"{}\" holds the value", name);
    int64_t before = -1;
    for (int64_t coordinate : entry.coordinates()) {
      if (coordinate <= before || coordinate >= mesh.getSize(entry.axis()))
        return inputError("coordinate {} follows {} in the support over axis \"{}\" of size {}", coordinate, before,
                          name, mesh.getSize(entry.axis()));
      before = coordinate;
    }
    support.push_back({entry.axis(), {entry.coordinates().begin(), entry.coordinates().end()}});
  }
  return {};
}

Status Layout::addPartial(const Placement &placement, const Mesh &mesh) {
  for (uint32_t axis : placement.partial()) {
    if (axis >= mesh.getNumAxes())
      return inputError("the value is a sum over axis {} of a mesh with {} axes", axis, mesh.getNumAxes());
    if (std::binary_search(axes.begin(), axes.end(), axis))
      return inputError("axis \"{}\" splits the value, which is a sum over it too", mesh.getName(axis));
    if (std::find(partAxes.begin(), partAxes.end(), axis) != partAxes.end())
      return inputError("the value is a sum over axis \"{}\" twice", mesh.getName(axis));
    auto held = std::find_if(support.begin(), support.end(), [&](const auto &entry) { return entry.first == axis; });
    std::vector<int64_t> coordinates;
    if (held != support.end())
      coordinates = held->second;
    else
      for (int64_t i = 0; i != mesh.getSize(axis); ++i)
        coordinates.push_back(i);
    numAddends *= coordinates.size();
    partial.push_back({axis, std::move(coordinates)});
    partAxes.push_back(axis);
  }
  // In the order of the mesh, whatever that of the placement.
  std::sort(partial.begin(), partial.end());
  std::sort(partAxes.begin(), partAxes.end());
  return {};
}

uint64_t Layout::getAddend(std::span<const int64_t> coordinates) const {
  uint64_t addend = 0;
  for (const auto &[axis, held] : partial)
    addend = addend * held.size() + (std::lower_bound(held.begin(), held.end(), coordinates[axis]) - held.begin());
  return addend;
}

bool Layout::isHeldAt(std::span<const int64_t> coordinates) const {
  return std::all_of(support.begin(), support.end(), [&](const auto &entry) {
    return std::binary_search(entry.second.begin(), entry.second.end(), coordinates[entry.first]);
  });
}

//===----------------------------------------------------------------------===//
// LocalPart
//===----------------------------------------------------------------------===//

/// Appends a run, joined to the last one where both continue it.
static void append(std::vector<Run> &runs, Run run) {
  if (run.length <= 0)
    return;
  if (!runs.empty() && runs.back().local + runs.back().length == run.local &&
      runs.back().global + runs.back().length == run.global) {
    runs.back().length += run.length;
    return;
  }
  runs.push_back(run);
}

// The digits from major to minor: a plain digit multiplies the runs, an axis digit shifts and cuts them.
std::vector<Run> Layout::getRuns(size_t dim, std::span<const int64_t> coordinates) const {
  int64_t left = shape[dim];
  const auto &digits = dims[dim];
  // From minor to major. The runs describe one extent of the digit above them.
  int64_t localLeft = digits.empty() ? left : digits.back().stride;
  std::vector<Run> runs;
  append(runs, {0, 0, localLeft});
  for (size_t i = digits.size(); i-- != 0;) {
    const Digit &digit = digits[i];
    int64_t shift = coordinates[digit.axis] * digit.stride;
    std::vector<Run> cut;
    for (Run run : runs)
      append(cut, {run.local, run.global + shift, std::min(run.length, digit.extent - run.global - shift)});
    // The number of times that the extent repeats within the stride of the digit above, or within the dimension.
    int64_t above = i == 0 ? shape[dim] : digits[i - 1].stride;
    int64_t repeats = digit.extent == 0 ? 1 : above / digit.extent;
    runs.clear();
    for (int64_t repeat = 0; repeat != repeats; ++repeat)
      for (Run run : cut)
        append(runs, {run.local + repeat * localLeft, run.global + repeat * digit.extent, run.length});
    localLeft *= repeats;
  }
  return runs;
}

LocalPart::LocalPart(const Layout &layout, std::span<const int64_t> coordinates) {
  int64_t localStride = 1, globalStride = 1;
  bool whole = true;
  for (size_t dim = layout.shape.size(); dim-- != 0;) {
    std::vector<Run> runs = layout.getRuns(dim, coordinates);
    isEmpty |= runs.empty();
    whole &= runs.size() == 1 && runs[0] == Run{0, 0, layout.shape[dim]} && layout.localShape[dim] == layout.shape[dim];
    if (whole)
      block *= layout.shape[dim];
    else
      dims.push_back({std::move(runs), localStride, globalStride});
    localStride *= layout.localShape[dim];
    globalStride *= layout.shape[dim];
  }
  std::reverse(dims.begin(), dims.end());
}

uint64_t LocalPart::getNumElements() const {
  uint64_t count = 0;
  forEachRun([&](int64_t, int64_t, int64_t length) { count += length; });
  return count;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void meshwright::runtime::scatterPart(const LocalPart &part, const std::byte *whole, std::byte *local,
                                      uint64_t elementSize) {
  part.forEachRun([&](int64_t to, int64_t from, int64_t count) {
    std::memcpy(local + to * elementSize, whole + from * elementSize, count * elementSize);
  });
}

void meshwright::runtime::gatherPart(const LocalPart &part, const std::byte *local, std::byte *whole,
                                     uint64_t elementSize) {
  part.forEachRun([&](int64_t from, int64_t to, int64_t count) {
    std::memcpy(whole + to * elementSize, local + from * elementSize, count * elementSize);
  });
}

void meshwright::runtime::addPart(const LocalPart &part, const std::byte *local, std::byte *whole, DType type) {
  uint64_t elementSize = getSize(type);
  part.forEachRun([&](int64_t from, int64_t to, int64_t count) {
    addElements(type, local + from * elementSize, whole + to * elementSize, count);
  });
}

std::optional<int64_t> meshwright::runtime::findDifference(const LocalPart &part, const std::byte *a,
                                                           const std::byte *b, uint64_t elementSize) {
  std::optional<int64_t> found;
  part.forEachRun([&](int64_t local, int64_t global, int64_t count) {
    if (found || std::memcmp(a + local * elementSize, b + local * elementSize, count * elementSize) == 0)
      return;
    for (int64_t i = 0; i != count && !found; ++i)
      if (std::memcmp(a + (local + i) * elementSize, b + (local + i) * elementSize, elementSize) != 0)
        found = global + i;
  });
  return found;
}
