//===- Storage.cpp - a distributed value as one array of a framework ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Storage.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;
using dist::Axis;
using dist::Mesh;

Storage::Storage(const dist::Placement &placement, const Mesh &mesh, RankedTensorType global)
    : global(global), kind(placement.partialKind) {
  for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis) {
    if (placement.isPartial(axis))
      stacked.push_back({axis, -1});
    else if (std::optional<int64_t> holder = placement.getHolder(axis))
      stacked.push_back({axis, *holder});
  }
  if (!stacked.empty()) {
    Dim first{1, {}};
    for (auto [axis, holder] : stacked) {
      first.size *= mesh.getSize(axis);
      first.axes.push_back(axis);
    }
    dims.push_back(first);
  }
  for (auto [dim, size] : llvm::enumerate(global.getShape())) {
    SmallVector<Level> &digits = levels.emplace_back();
    // The digits that follow a plain one begin a dimension of their own.
    Dim current{1, {}};
    bool isSplit = false;
    int64_t rest = size;
    for (const dist::Split &split : placement.dims[dim]) {
      if (mesh.isTime(split.axis))
        continue;
      int64_t outer = rest / std::max<int64_t>(split.extent, 1), count = mesh.getSize(split.axis);
      digits.push_back({outer, split.extent, count, split.stride});
      if (outer != 1) {
        current.size *= outer;
        dims.push_back(current);
        current = {1, {}};
      }
      current.size *= count;
      current.axes.push_back(split.axis);
      rest = split.stride;
      isSplit = true;
    }
    current.size = isSplit ? current.size * rest : size;
    dims.push_back(current);
  }
}

RankedTensorType Storage::getGlobal() const {
  return global.clone(llvm::map_to_vector(dims, [](const Dim &dim) { return dim.size; }));
}

RankedTensorType Storage::getLocal(const Mesh &mesh) const {
  return global.clone(
      llvm::map_to_vector(dims, [&](const Dim &dim) { return dim.size / mesh.getGroupSize(dim.axes); }));
}

std::string Storage::describeDims(const Mesh &mesh) const {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(dims, stream, [&](const Dim &dim) {
    stream << "{";
    llvm::interleaveComma(dim.axes, stream, [&](Axis axis) { stream << '"' << mesh.getName(axis) << '"'; });
    stream << "}";
  });
  stream << "]";
  return text;
}

llvm::json::Object Storage::toJson(const Mesh &mesh) const {
  std::string element;
  llvm::raw_string_ostream(element) << global.getElementType();
  llvm::json::Array sharding, digits, holders;
  for (const Dim &dim : dims) {
    llvm::json::Array axes;
    for (Axis axis : dim.axes)
      axes.push_back(mesh.getName(axis).str());
    sharding.push_back(std::move(axes));
  }
  for (ArrayRef<Level> list : levels) {
    llvm::json::Array entries;
    for (const Level &level : list)
      entries.push_back(llvm::json::Array{level.outer, level.extent, level.count, level.part});
    digits.push_back(std::move(entries));
  }
  for (auto [axis, holder] : stacked)
    holders.push_back(llvm::json::Array{mesh.getName(axis).str(), mesh.getSize(axis), holder});
  llvm::json::Object object{{"type", element},
                            {"shape", llvm::json::Array(global.getShape())},
                            {"stored", llvm::json::Array(getGlobal().getShape())},
                            {"sharding", std::move(sharding)}};
  if (!isPlain()) {
    object["digits"] = std::move(digits);
    if (!stacked.empty()) {
      object["stacked"] = std::move(holders);
      object["reduction"] = stringifyReduceKind(kind);
    }
  }
  return object;
}
