//===- ValueSet.cpp - arrays spread over ranks ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks with equal coordinates on the axes of a layout that distinguish parts hold the same part, so parts are numbered
// by these coordinates. The first holder of a part speaks for it: it alone packs, and a whole array is assembled from
// the first holders. The addends of a sum over axes are added in ascending order, so that results do not depend on
// timing.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/ValueSet.h"
#include "meshwright/runtime/Checksum.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

uint64_t ValueSet::Value::getArrayBytes() const {
  return *getNumElements(layout->getLocalShape()) * runtime::getSize(type);
}

uint64_t ValueSet::getBytes(size_t i) const { return *getNumElements(getShape(i)) * runtime::getSize(values[i].type); }

std::optional<size_t> ValueSet::find(const std::string &name) const {
  for (size_t i = 0; i != values.size(); ++i)
    if (values[i].name == name)
      return i;
  return std::nullopt;
}

const std::vector<int64_t> &ValueSet::getHolders(size_t i, int64_t rank) const {
  return values[i].parts[values[i].partOfRank[rank]].holders;
}

const LocalPart &ValueSet::getPart(size_t i, int64_t rank) const {
  return values[i].parts[values[i].partOfRank[rank]].elements;
}

bool ValueSet::isFirstHolder(size_t i, int64_t rank) const {
  const std::vector<int64_t> &holders = getHolders(i, rank);
  return !holders.empty() && holders.front() == rank;
}

//===----------------------------------------------------------------------===//
// Parts and their holders
//===----------------------------------------------------------------------===//

void ValueSet::add(std::string name, DType type, const Layout &layout, const Mesh &mesh) {
  Value &value = values.emplace_back();
  value.name = std::move(name);
  value.type = type;
  value.layout = &layout;
  value.arrays.resize(mesh.getNumRanks());
  for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank) {
    std::vector<int64_t> coordinates = mesh.getCoordinates(rank);
    uint32_t part = 0;
    for (uint32_t axis : layout.getPartAxes())
      part = part * mesh.getSize(axis) + coordinates[axis];
    // Ranks ascend, so a part is met first in the order of parts.
    if (part == value.parts.size())
      value.parts.push_back({LocalPart(layout, coordinates), layout.getAddend(coordinates), {}});
    value.partOfRank.push_back(part);
  }
}

void ValueSet::addHolder(int64_t rank, std::span<std::byte> array) {
  Value &value = values.back();
  value.arrays[rank] = array;
  value.parts[value.partOfRank[rank]].holders.push_back(rank);
}

Status ValueSet::checkHolders(const Mesh &mesh) const {
  const Value &value = values.back();
  for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank)
    if (value.parts[value.partOfRank[rank]].holders.empty() && value.layout->isHeldAt(mesh.getCoordinates(rank)))
      return inputError("no rank holds part {}", value.partOfRank[rank]);
  return {};
}

//===----------------------------------------------------------------------===//
// Whole arrays
//===----------------------------------------------------------------------===//

void ValueSet::scatterTo(size_t i, int64_t rank, const std::byte *whole) const {
  const Value &value = values[i];
  const Part &part = value.parts[value.partOfRank[rank]];
  if (value.arrays[rank].empty())
    return;
  if (part.addend == 0)
    scatterPart(part.elements, whole, value.arrays[rank].data(), runtime::getSize(value.type));
  else
    fillNeutral(value.type, value.arrays[rank]);
}

template <typename Fn> void ValueSet::forEachFirst(const Value &value, RankRange ranks, Fn &&fn) {
  for (int64_t rank = ranks.begin; rank != ranks.end; ++rank) {
    const Part &part = value.parts[value.partOfRank[rank]];
    if (!part.holders.empty() && part.holders.front() == rank)
      fn(part, rank);
  }
}

uint64_t ValueSet::getPackedBytes(size_t i, RankRange ranks) const {
  uint64_t bytes = 0;
  forEachFirst(values[i], ranks, [&](const Part &, int64_t) { bytes += values[i].getArrayBytes(); });
  return bytes;
}

void ValueSet::pack(size_t i, RankRange ranks, Bytes &bytes) const {
  forEachFirst(values[i], ranks, [&](const Part &, int64_t rank) {
    std::span<const std::byte> array = values[i].arrays[rank];
    bytes.insert(bytes.end(), array.begin(), array.end());
  });
}

template <typename GetArray>
void ValueSet::assemble(const Value &value, std::span<std::byte> whole, GetArray &&getArray) {
  // Addends ascend among the parts of one place.
  for (const Part &part : value.parts) {
    if (part.holders.empty())
      continue;
    const std::byte *array = getArray(part.holders.front());
    if (part.addend == 0)
      gatherPart(part.elements, array, whole.data(), runtime::getSize(value.type));
    else
      addPart(part.elements, array, whole.data(), value.type);
  }
}

void ValueSet::gather(size_t i, std::span<std::byte> whole) const {
  assemble(values[i], whole, [&](int64_t rank) { return values[i].arrays[rank].data(); });
}

void ValueSet::unpack(size_t i, std::span<const std::byte> packed, std::span<std::byte> whole) const {
  const Value &value = values[i];
  std::vector<uint64_t> offsets(value.arrays.size());
  uint64_t offset = 0;
  forEachFirst(value, {0, static_cast<int64_t>(offsets.size())}, [&](const Part &, int64_t rank) {
    offsets[rank] = std::exchange(offset, offset + value.getArrayBytes());
  });
  assemble(value, whole, [&](int64_t rank) { return packed.data() + offsets[rank]; });
}

Finiteness ValueSet::classify(size_t i, int64_t rank) const {
  const Value &value = values[i];
  Finiteness worst = Finiteness::Finite;
  if (value.arrays[rank].empty() || !isFloat(value.type))
    return worst;
  uint64_t size = runtime::getSize(value.type);
  // Beyond a rank's part its array has any bits.
  getPart(i, rank).forEachRun([&](int64_t local, int64_t, int64_t count) {
    worst = std::max(worst, runtime::classify(value.type, value.arrays[rank].subspan(local * size, count * size)));
  });
  return worst;
}

uint32_t ValueSet::computeChecksum(size_t i, int64_t rank) const {
  const Value &value = values[i];
  uint64_t size = runtime::getSize(value.type);
  Bytes elements;
  getPart(i, rank).forEachRun([&](int64_t local, int64_t, int64_t count) {
    std::span<const std::byte> run = value.arrays[rank].subspan(local * size, count * size);
    elements.insert(elements.end(), run.begin(), run.end());
  });
  return runtime::computeChecksum(elements);
}
