//===- Manual.cpp - verifiers of where a graph computes per rank ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Manual.h"
#include "dialects/Dist/Placement.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

/// Checks constraints C1 to C3 of an operation between a whole value and the parts of the ranks.
static LogicalResult verifyBoundary(Operation *op, MappingAttr mapping, Type whole, Type part) {
  auto module = op->getParentOfType<ModuleOp>();
  MeshOp meshOp = module ? findMesh(module) : MeshOp();
  if (!meshOp)
    return op->emitOpError() << "stands in a module without mesh";
  // to_local_c1
  Mesh mesh = meshOp.getMesh();
  auto type = cast<RankedTensorType>(whole);
  FailureOr<Placement> placement =
      Placement::resolve(mapping, mesh, type.getShape(), [&] { return op->emitOpError(); });
  if (failed(placement))
    return failure();
  // to_local_c2
  if (!placement->partialAxes.empty() || !placement->support.empty())
    return op->emitOpError() << "has " << mapping << ", which does more than split dimensions";
  for (unsigned dim = 0; dim < placement->dims.size(); ++dim)
    if (placement->isUneven(dim, mesh))
      return op->emitOpError() << "splits dimension " << dim << " of size " << type.getDimSize(dim)
                               << " into parts of unequal size";
  // to_local_c3
  RankedTensorType expected = type.clone(placement->getLocalShape(type.getShape()));
  if (expected != part)
    return op->emitOpError() << "has a part of " << part << ", but its mapping makes it " << expected;
  return success();
}

LogicalResult ToLocalOp::verify() {
  return verifyBoundary(*this, getMapping(), getInput().getType(), getResult().getType());
}

LogicalResult ToGlobalOp::verify() {
  if (failed(verifyBoundary(*this, getMapping(), getResult().getType(), getInput().getType())))
    return failure();
  // to_global_c4
  Mesh mesh = findMesh((*this)->getParentOfType<ModuleOp>()).getMesh();
  llvm::SmallDenseSet<Attribute> ended;
  for (auto axis : getAxes().getAsRange<StringAttr>())
    if (!mesh.find(axis.getValue()) || !ended.insert(axis).second)
      return emitOpError() << "ends a computation over " << axis << ", which is no axis of the mesh or stands twice";
  for (DigitsAttr digits : getMapping().getDims())
    for (DigitAttr digit : digits)
      if (digit.getAxis() && !ended.contains(digit.getAxis()))
        return emitOpError() << "joins parts along " << digit.getAxis() << ", which is none of the axes " << getAxes()
                             << " of the computation";
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Dist/DistManual.cpp.inc"
