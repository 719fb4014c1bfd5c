//===- Schedule.cpp - operations of a scheduled rank program --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace meshwright::dist;

static int64_t countElements(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  // kernel_c1
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "has a body with " << block.getNumArguments() << " arguments for " << getInputs().size()
                         << " inputs, or of other types";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "yields not the " << getNumResults() << " results that it has";
  // kernel_c2
  auto inPlace = getInPlace();
  if (!inPlace)
    return success();
  if (inPlace->size() != getNumResults())
    return emitOpError() << "says of " << inPlace->size() << " results where they go but has " << getNumResults();
  for (auto [index, input] : llvm::enumerate(*inPlace)) {
    if (input == -1)
      continue;
    if (input < -1 || input >= static_cast<int64_t>(getInputs().size()))
      return emitOpError() << "writes result " << index << " to input " << input << " of " << getInputs().size();
    if (getInputs()[input].getType() != getResult(index).getType())
      return emitOpError() << "writes result " << index << " of " << getResult(index).getType() << " to an input of "
                           << getInputs()[input].getType();
  }
  return success();
}

LogicalResult CollectiveOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  if (!mesh)
    return emitOpError() << "stands in a module without mesh";
  // collective_c1
  int64_t size = 1;
  for (StringRef name : getAxes().getAsValueRange<StringAttr>()) {
    std::optional<Axis> axis = mesh.getMesh().find(name);
    if (!axis)
      return emitOpError() << "names axis \"" << name << "\", which the module's mesh does not have";
    size *= mesh.getMesh().getSize(*axis);
  }
  // collective_c2
  int64_t from = countElements(getInput()), to = countElements(getResult()), expected = from;
  if (getKind() == CollectiveKind::AllGather)
    expected = from * size;
  if (getKind() == CollectiveKind::ReduceScatter)
    expected = from % size == 0 ? from / size : -1;
  if (to != expected)
    return emitOpError() << "makes " << to << " elements of " << from << " in a group of " << size;
  return success();
}

LogicalResult ViewOp::verify() {
  // view_c1
  auto from = cast<RankedTensorType>(getInput().getType()), to = cast<RankedTensorType>(getResult().getType());
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "shows " << from << " as " << to;
  int64_t offset = getOffset(), end = offset + to.getNumElements();
  if (offset < 0 || end > from.getNumElements())
    return emitOpError() << "shows elements " << offset << " to " << end << " of " << from.getNumElements();
  return success();
}

/// Checks that the elements that `sizes` and `strides` reach from `offset` lie inside `value`.
static LogicalResult verifyReach(MatmulOp op, Value value, int64_t offset, ArrayRef<int64_t> strides,
                                 ArrayRef<int64_t> sizes, StringRef what) {
  // matmul_c1
  if (strides.size() != sizes.size())
    return op.emitOpError() << "has " << strides.size() << " strides for the " << sizes.size() << " dimensions of "
                            << what;
  // matmul_c2
  int64_t least = offset, greatest = offset;
  for (auto [stride, size] : llvm::zip(strides, sizes)) {
    if (size <= 0)
      return success();
    (stride > 0 ? greatest : least) += stride * (size - 1);
  }
  if (least < 0 || greatest >= countElements(value))
    return op.emitOpError() << "reaches elements " << least << " to " << greatest << " of " << countElements(value)
                            << " in " << what;
  return success();
}

LogicalResult MatmulOp::verify() {
  SmallVector<int64_t> lhs(getBatch()), rhs(getBatch()), out(getBatch());
  lhs.append({static_cast<int64_t>(getM()), static_cast<int64_t>(getK())});
  rhs.append({static_cast<int64_t>(getK()), static_cast<int64_t>(getN())});
  out.append({static_cast<int64_t>(getM()), static_cast<int64_t>(getN())});
  return success(succeeded(verifyReach(*this, getLhs(), getLhsOffset(), getLhsStrides(), lhs, "lhs")) &&
                 succeeded(verifyReach(*this, getRhs(), getRhsOffset(), getRhsStrides(), rhs, "rhs")) &&
                 succeeded(verifyReach(*this, getResult(), 0, getOutStrides(), out, "the result")));
}
