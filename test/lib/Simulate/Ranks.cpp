//===- Ranks.cpp - conversions by their definition, on all ranks ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions by their definition: the element of the global value at every local position is looked up on the rank
// that holds it. Neither order of communication nor copies are modelled, which keeps this independent of the code under
// test.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Simulate/Ranks.h"
#include "dialects/Dist/Support.h"
#include <cmath>

using namespace meshwright;
using namespace meshwright::dist;
using llvm::ArrayRef;
using llvm::SmallVector;

/// As IEEE 754 has `maximum`: NaN if either is, and +0 above -0.
static double maximum(double lhs, double rhs) {
  if (std::isnan(lhs) || std::isnan(rhs))
    return NAN;
  if (lhs == 0 && rhs == 0)
    return std::signbit(lhs) ? rhs : lhs;
  return std::max(lhs, rhs);
}

/// The bits of an integer, signed or not; all ones where rounding took it past the largest.
static uint64_t toBits(double number) {
  if (number < 0)
    return static_cast<uint64_t>(static_cast<int64_t>(number));
  return number >= 0x1p64 ? ~uint64_t(0) : static_cast<uint64_t>(number);
}

static double fromBits(uint64_t bits, bool isSigned) {
  return isSigned ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(bits);
}

double test::reduce(ReduceKind kind, double lhs, double rhs) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Tree:
    return lhs + rhs;
  case ReduceKind::Product:
    return lhs * rhs;
  case ReduceKind::Max:
    return maximum(lhs, rhs);
  case ReduceKind::Min:
    return -maximum(-lhs, -rhs);
  case ReduceKind::And:
    return fromBits(toBits(lhs) & toBits(rhs), lhs < 0 || rhs < 0);
  case ReduceKind::Or:
    return fromBits(toBits(lhs) | toBits(rhs), lhs < 0 || rhs < 0);
  }
  return NAN;
}

double test::getNeutral(ReduceKind kind, double lowest, double highest) {
  switch (kind) {
  case ReduceKind::Product:
    return 1;
  case ReduceKind::Max:
    return lowest;
  case ReduceKind::Min:
    return highest;
  case ReduceKind::And:
    return -1;
  default:
    return 0;
  }
}

static int64_t getNumElements(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

SmallVector<int64_t> test::locate(const Mesh &mesh, int64_t rank, int64_t slice) {
  SmallVector<int64_t> coordinates = getCoordinates(mesh, rank);
  if (std::optional<Axis> axis = mesh.find(AxisKind::Slices))
    coordinates[*axis] = slice;
  return coordinates;
}

std::vector<std::vector<int64_t>> test::getElements(const Placement &placement, const Mesh &mesh,
                                                    ArrayRef<int64_t> shape, int64_t slice) {
  SmallVector<int64_t> local = placement.getLocalShape(shape);
  std::vector<std::vector<int64_t>> elements(mesh.getNumRanks(), std::vector<int64_t>(getNumElements(local), -1));
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    SmallVector<int64_t> coordinates = locate(mesh, rank, slice);
    if (!placement.holds(coordinates))
      elements[rank].clear();
    for (int64_t position = 0; position < static_cast<int64_t>(elements[rank].size()); ++position) {
      int64_t rest = position, element = 0, span = 1;
      for (int dim = static_cast<int>(shape.size()) - 1; dim >= 0; --dim) {
        auto index = placement.getGlobalIndex(dim, shape[dim], rest % local[dim], coordinates);
        rest /= local[dim];
        if (!index) {
          element = -1;
          break;
        }
        element += *index * span;
        span *= shape[dim];
      }
      elements[rank][position] = element;
    }
  }
  return elements;
}

/// The position of each element on each rank, or -1: positions[rank][element].
static std::vector<std::vector<int64_t>> invert(const std::vector<std::vector<int64_t>> &elements, int64_t size) {
  std::vector<std::vector<int64_t>> positions(elements.size(), std::vector<int64_t>(size, -1));
  for (size_t rank = 0; rank < elements.size(); ++rank)
    for (size_t position = 0; position < elements[rank].size(); ++position)
      if (elements[rank][position] >= 0)
        positions[rank][elements[rank][position]] = position;
  return positions;
}

std::vector<int64_t> test::getGroup(const Mesh &mesh, int64_t rank, ArrayRef<Axis> axes) {
  std::vector<int64_t> group;
  for (int64_t other = 0; other < mesh.getNumRanks(); ++other) {
    bool agrees = true;
    for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
      agrees &= llvm::is_contained(axes, axis) || mesh.getCoordinate(other, axis) == mesh.getCoordinate(rank, axis);
    if (agrees)
      group.push_back(other);
  }
  return group;
}

test::PerRank test::convert(const PerRank &inputs, const Placement &from, const Placement &to, ArrayRef<Axis> axes,
                            const Mesh &mesh, ArrayRef<int64_t> shape, double neutral, double undefined,
                            int64_t slice) {
  auto positions = invert(getElements(from, mesh, shape, slice), getNumElements(shape));
  auto elements = getElements(to, mesh, shape, slice);
  bool reduces = llvm::any_of(axes, [&](Axis axis) { return from.isPartial(axis) && !to.isPartial(axis); });
  // A holder that stays one has no need of others, and those that become partial have no need of the holder.
  bool gathers = llvm::any_of(
      axes, [&](Axis axis) { return from.findSplit(axis) || (from.getHolder(axis) && !to.isPartial(axis)); });
  PerRank outputs(inputs.size());
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    // Without a reduction or gather, a rank has to find its elements among its own.
    std::vector<int64_t> group = reduces || gathers ? getGroup(mesh, rank, axes) : std::vector<int64_t>{rank};
    bool holds = llvm::all_of(axes, [&](Axis axis) {
      return from.isPartial(axis) || !to.isPartial(axis) ||
             locate(mesh, rank, slice)[axis] == from.getHolder(axis).value_or(0);
    });
    for (int64_t element : elements[rank]) {
      std::optional<double> value;
      for (int64_t member : group) {
        int64_t position = element < 0 ? -1 : positions[member][element];
        if (position < 0)
          continue;
        double found = inputs[member][position];
        value = value && reduces ? reduce(from.partialKind, *value, found) : value.value_or(found);
      }
      outputs[rank].push_back(element >= 0 && !holds ? neutral : value.value_or(undefined));
    }
  }
  return outputs;
}

test::PerRank test::distribute(ArrayRef<double> whole, const Placement &placement, const Mesh &mesh,
                               ArrayRef<int64_t> shape, double neutral, double undefined) {
  PerRank parts(mesh.getNumRanks());
  auto elements = getElements(placement, mesh, shape);
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    bool holds = llvm::all_of(placement.partialAxes, [&](Axis axis) { return mesh.getCoordinate(rank, axis) == 0; });
    for (int64_t element : elements[rank])
      parts[rank].push_back(element < 0 ? undefined : holds ? whole[element] : neutral);
  }
  return parts;
}

static bool isSame(double lhs, double rhs) { return lhs == rhs || (std::isnan(lhs) && std::isnan(rhs)); }

std::optional<std::vector<double>> test::collect(const PerRank &parts, const Placement &placement, const Mesh &mesh,
                                                 ArrayRef<int64_t> shape) {
  std::vector<std::optional<double>> whole(getNumElements(shape));
  auto elements = getElements(placement, mesh, shape);
  auto positions = invert(elements, whole.size());
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
    for (int64_t element : elements[rank]) {
      if (element < 0)
        continue;
      std::optional<double> value;
      for (int64_t member : getGroup(mesh, rank, placement.partialAxes)) {
        // If a value has owners on other axes, all members of a group are owners.
        double found = parts[member][positions[member][element]];
        value = value ? reduce(placement.partialKind, *value, found) : found;
      }
      if (whole[element] && !isSame(*whole[element], *value))
        return std::nullopt;
      whole[element] = value;
    }
  std::vector<double> result;
  for (const std::optional<double> &value : whole) {
    if (!value)
      return std::nullopt;
    result.push_back(*value);
  }
  return result;
}
