//===- Launches.cpp - merges collectives into one launch ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launches.h"
#include "meshwright/Memory/Storage.h"
#include "meshwright/Overlap/Traffic.h"
#include <algorithm>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

Attribute schedule::getLaunchKey(dist::CollectiveOp op) {
  Builder builder(op.getContext());
  Attribute on = dist::kOnAttr.get(op);
  return builder.getArrayAttr({
      builder.getI64IntegerAttr(static_cast<int64_t>(op.getKind())),
      builder.getI64IntegerAttr(static_cast<int64_t>(op.getReduction())),
      op.getAxes(),
      TypeAttr::get(op.getElementType()),
      on ? on : Attribute(builder.getUnitAttr()),
  });
}

bool schedule::isSingle(dist::CollectiveOp op) {
  return !op.isStart() && op.getNumParts() == 1 && op.getPartInput(0) && op.getPartResult(0);
}

int64_t schedule::getLaunchBytes(dist::CollectiveOp op) {
  return std::max(Storage::getBytes(op.getInputs().front().getType()), Storage::getBytes(op.getResult(0).getType()));
}

dist::CollectiveOp schedule::createLaunch(OpBuilder &builder, ArrayRef<dist::CollectiveOp> members, ValueRange inputs,
                                          TypeRange types) {
  dist::CollectiveOp first = members.front();
  SmallVector<int64_t> roots;
  SmallVector<Attribute> names;
  SmallVector<Location> locations;
  for (dist::CollectiveOp member : members) {
    if (std::optional<ArrayRef<int64_t>> own = member.getRoots())
      llvm::append_range(roots, *own);
    StringAttr name = Traffic::getName(member);
    names.push_back(name);
    // Named, so that two of the same place stay two.
    locations.push_back(NameLoc::get(name, member.getLoc()));
  }
  Location loc = members.size() > 1 ? FusedLoc::get(builder.getContext(), locations) : first.getLoc();
  auto op = dist::CollectiveOp::create(builder, loc, types, first.getKind(), first.getReduction(), inputs,
                                       roots.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(roots),
                                       DenseI64ArrayAttr(), first.getToAttr(), first.getAxes());
  inherit(op, first, Inherit::Replacement);
  if (!llvm::all_of(names, [](Attribute name) { return cast<StringAttr>(name).empty(); }))
    dist::kPartsAttr.set(op, builder.getArrayAttr(names));
  return op;
}
