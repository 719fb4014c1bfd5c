//===- SeparateSums.cpp - gradient contributions of several stages --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differentiation scatters the rows of a gradient directly into another contribution. In a pipeline that contribution
// may belong to another stage (a head that shares the embedding table) and would be sent for every micro-batch. This
// pass makes the scatter a contribution of its own and adds the two. The addition takes over the name and the
// placements of the scatter.
//
//===----------------------------------------------------------------------===//

#include "Exchanges.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Complete/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::complete {
#define GEN_PASS_DEF_SEPARATESUMSPASS
#include "meshwright/Complete/Passes.h.inc"
} // namespace meshwright::complete

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

/// The parameter whose gradient is computed from `value` by single-use operations; null if there is none.
static net::VariableOp findParameter(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    StringRef name = net::getUserName(op);
    if (name.consume_front(net::kGradientPrefix))
      return SymbolTable::lookupNearestSymbolFrom<net::VariableOp>(op, StringAttr::get(op->getContext(), name));
    if (!value.hasOneUse() || value.use_begin()->getOwner()->getNumResults() != 1)
      break;
    value = value.use_begin()->getOwner()->getResult(0);
  }
  return {};
}

/// The split of `parameter` over axes that do not split the batch, free on all other axes; null if there is none.
static FailureOr<MappingAttr> findSplit(net::VariableOp parameter, MeshOp meshOp) {
  auto mapping = parameter ? kMappingAttr.get(parameter) : MappingAttr();
  if (!mapping)
    return MappingAttr();
  Mesh mesh = meshOp.getMesh();
  ArrayRef<int64_t> shape = parameter.getTensorType().getShape();
  auto placement = Placement::resolve(mapping, mesh, shape, [&] { return parameter.emitOpError(); });
  if (failed(placement))
    return failure();
  auto data = kDataAxesAttr.get(meshOp);
  bool isSplit = false;
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis) {
    bool isData = data && llvm::is_contained(data.getAsValueRange<StringAttr>(), mesh.getName(axis));
    if (isData || !placement->findSplit(axis))
      placement->erase(axis);
    else
      isSplit = true;
  }
  return isSplit ? placement->toAttr(meshOp.getContext(), mesh, shape) : MappingAttr();
}

/// Lets `op` scatter into zeros and adds the result to the old operand. The zeros no longer imply the parameter's
/// split, so it is annotated.
static LogicalResult separate(net::ScatterOp op, MeshOp mesh) {
  net::VariableOp parameter = findParameter(op.getResult());
  bool isAlike = parameter && net::shapeOf(op.getResult()) == parameter.getTensorType().getShape();
  FailureOr<MappingAttr> split = findSplit(isAlike ? parameter : net::VariableOp(), mesh);
  if (failed(split))
    return failure();
  OpBuilder builder(op);
  net::NetBuilder build(builder, op.getLoc());
  Value other = op.getOperand();
  Value zeros = build.splatLike(other, 0.0);
  if (std::optional<net::Role> role = net::getRole(op))
    net::setRole(zeros.getDefiningOp(), *role);
  builder.setInsertionPointAfter(op);
  Value sum = build.add(other, op.getResult());
  op.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  op.getOperandMutable().assign(zeros);
  inherit(sum.getDefiningOp(), op, Inherit::Replacement);
  net::kNameAttr.remove(op);
  kResultsAttr.remove(op);
  if (*split)
    kResultsAttr.set(op, builder.getArrayAttr(*split));
  return success();
}

namespace {

struct SeparateSumsPass : complete::impl::SeparateSumsPassBase<SeparateSumsPass> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    SmallVector<net::ScatterOp> crossed;
    getOperation().walk([&](net::ScatterOp op) {
      Operation *other = op.getOperand().getDefiningOp();
      if (op.getKind() == net::ScatterKind::Add && other && isReceived(other, op))
        crossed.push_back(op);
    });
    for (net::ScatterOp op : crossed)
      if (failed(separate(op, mesh)))
        return signalPassFailure();
    numSeparated += crossed.size();
  }
};

} // namespace
