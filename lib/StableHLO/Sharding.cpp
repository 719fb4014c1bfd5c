//===- Sharding.cpp - shardings that exporters write ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both forms are parsed elsewhere (MeshFactors.h, ShardingForms.h); here they become axes of a mesh that is known.
//
//===----------------------------------------------------------------------===//

#include "meshwright/StableHLO/Sharding.h"
#include "MeshFactors.h"
#include "RankArithmetic.h"
#include "ShardingForms.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::importer;

/// The axes of `mesh` that make up `parts` of the numbers of all ranks; nothing if a part ends within an axis.
static std::optional<Axes> toAxes(ArrayRef<AxisPart> parts, const Mesh &mesh) {
  Axes axes;
  for (const AxisPart &part : parts) {
    int64_t before = 1;
    for (Axis axis = 0; axis < mesh.getNumRankAxes(); before *= mesh.getSize(axis++)) {
      AxisPart whole{0, before, mesh.getSize(axis)};
      if (whole.size == 1 || !overlap(part, whole))
        continue;
      if (whole.before < part.before || whole.before * whole.size > part.before * part.size)
        return std::nullopt;
      axes.push_back(axis);
    }
  }
  return axes;
}

FailureOr<SmallVector<Axes>> importer::readHloSharding(StringRef text, unsigned rank, const Mesh &mesh,
                                                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  DeviceSharding sharding;
  if (!text.starts_with("{") || !text.ends_with("}"))
    return emitError() << "sharding \"" << text << "\" is not of the form {devices=[2,1]<=[2]}";
  if (text == "{replicated}")
    return SmallVector<Axes>(rank);
  if (parseDeviceSharding(text, sharding) || sharding.devices != mesh.getNumRanks() || sharding.dims.size() < rank)
    return emitError() << "sharding \"" << text << "\" is no grid of the " << mesh.getNumRanks()
                       << " ranks of the mesh " << printMesh(mesh) << " for a value of " << rank << " dimensions";
  SmallVector<Axes> dims;
  for (ArrayRef<AxisPart> parts : ArrayRef(sharding.dims).take_front(rank)) {
    std::optional<Axes> axes = toAxes(parts, mesh);
    if (!axes)
      return emitError() << "sharding \"" << text << "\" does not split dimension " << dims.size()
                         << " along axes of the mesh " << printMesh(mesh);
    dims.push_back(*axes);
  }
  return dims;
}

/// Takes the axes of every dimension of a sharding of Shardy's.
static FailureOr<SmallVector<Axes>> readShardySharding(DictionaryAttr sharding, unsigned rank, const Mesh &mesh,
                                                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<Axes> dims;
  bool areAxes = true;
  for (auto dim : sharding.getAs<ArrayAttr>(kDimsEntry).getAsRange<DictionaryAttr>()) {
    dims.emplace_back();
    for (Attribute name : dim.getAs<ArrayAttr>(kAxesEntry)) {
      auto text = dyn_cast<StringAttr>(name);
      std::optional<Axis> axis = text ? mesh.find(text.getValue()) : std::nullopt;
      areAxes &= axis.has_value();
      dims.back().push_back(axis.value_or(0));
    }
  }
  if (!areAxes || dims.size() != rank)
    return emitError() << "the sharding of " << dims.size() << " dimensions does not split one of " << rank
                       << " along axes of the mesh " << printMesh(mesh);
  return dims;
}

FailureOr<std::optional<SmallVector<Axes>>> importer::readSharding(DictionaryAttr attributes, unsigned rank,
                                                                   const Mesh &mesh,
                                                                   llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto hlo = attributes ? attributes.getAs<StringAttr>("mhlo.sharding") : StringAttr();
  auto shardy = attributes ? attributes.getAs<DictionaryAttr>("sdy.sharding") : DictionaryAttr();
  if (!hlo && !shardy)
    return std::optional<SmallVector<Axes>>();
  FailureOr<SmallVector<Axes>> read =
      hlo ? readHloSharding(hlo.getValue(), rank, mesh, emitError) : readShardySharding(shardy, rank, mesh, emitError);
  if (failed(read))
    return failure();
  return std::optional(*read);
}
