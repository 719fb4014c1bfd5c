//===- MaterializeParts.cpp - boundaries of computations per rank ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a program of which every rank runs all, values outside of computations per rank are whole on every rank. So a rank
// takes its own part of what enters, and what leaves is gathered. Arguments that only enter, and results that have just
// left, need neither: they become the parts themselves, with their placement. Axes that a boundary does not name need
// nothing: if ranks along them differ, although the graph promises that they do not, the whole values differ too, which
// a check sees.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Manual.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Dist/PortAttributes.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/StableHLO/Graph.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_MATERIALIZEPARTSPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

namespace {

struct MaterializeParts : importer::impl::MaterializePartsPassBase<MaterializeParts> {
  void runOnOperation() override {
    MeshOp meshOp = findMesh(getOperation());
    if (!meshOp)
      return;
    mesh = meshOp.getMesh();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        placePorts(func);
    getOperation().walk([&](Operation *op) {
      if (auto entry = dyn_cast<ToLocalOp>(op))
        replace(entry, entry.getInput(), [&](OpBuilder &builder) { return takePart(builder, entry); });
      else if (auto exit = dyn_cast<ToGlobalOp>(op))
        replace(exit, exit.getResult(), [&](OpBuilder &builder) { return gather(builder, exit); });
    });
  }

  /// Makes arguments that only enter computations per rank, and results that leave one, the parts that these have.
  static void placePorts(func::FuncOp func) {
    PortAttributes ports;
    Operation *end = func.getBody().front().getTerminator();
    for (BlockArgument argument : func.getArguments()) {
      auto first = argument.use_empty() ? ToLocalOp() : dyn_cast<ToLocalOp>(*argument.user_begin());
      if (!first || !llvm::all_of(argument.getUsers(), [&](Operation *user) {
            auto entry = dyn_cast<ToLocalOp>(user);
            return entry && entry.getMapping() == first.getMapping();
          }))
        continue;
      ports.set(argument, kMappingAttr, first.getMapping());
      Type part = first.getResult().getType();
      for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
        user->getResult(0).replaceAllUsesWith(argument);
        user->erase();
      }
      argument.setType(part);
    }
    for (OpOperand &result : end->getOpOperands())
      if (auto exit = result.get().getDefiningOp<ToGlobalOp>()) {
        ports.setResult(func, result.getOperandNumber(), kMappingAttr, exit.getMapping());
        result.set(exit.getInput());
        if (exit.use_empty())
          exit.erase();
      }
    ports.write();
    func.setType(
        FunctionType::get(func.getContext(), func.getBody().front().getArgumentTypes(), end->getOperandTypes()));
  }

  /// Resolves the mapping of a boundary, which its verifier has accepted, and replaces it by what `make` builds.
  template <typename OpT> void replace(OpT op, Value global, llvm::function_ref<Value(OpBuilder &)> make) {
    whole = llvm::to_vector(net::shapeOf(global));
    placement = *Placement::resolve(op.getMapping(), mesh, whole, [&] { return op.emitOpError(); });
    axes.clear();
    for (const auto &splits : placement.dims)
      for (const Split &split : splits)
        axes.push_back(split.axis);
    OpBuilder builder(op);
    Value value = op.getInput();
    if (!axes.empty())
      value = make(builder);
    op.replaceAllUsesWith(value);
    op.erase();
  }

  /// One shard per axis. The major digits of a dimension come first.
  Value takePart(OpBuilder &builder, ToLocalOp op) {
    Value value = op.getInput();
    Placement reached = Placement::replicated(whole.size());
    for (auto [dim, splits] : llvm::enumerate(placement.dims))
      for (const Split &split : splits) {
        MappingAttr from = reached.toAttr(op.getContext(), mesh, whole);
        reached.dims[dim].push_back(split);
        MappingAttr to = reached.toAttr(op.getContext(), mesh, whole);
        StringRef axis = mesh.getName(split.axis);
        auto coordinateType = RankedTensorType::get({}, builder.getI32Type());
        Value coordinate = CoordinateOp::create(builder, op.getLoc(), coordinateType, axis);
        auto type = net::typeOf(value).clone(reached.getLocalShape(whole));
        auto shard = ShardOp::create(builder, op.getLoc(), type, value, coordinate, builder.getStrArrayAttr(axis), from,
                                     to, builder.getDenseI64ArrayAttr(whole));
        for (Operation *made : {coordinate.getDefiningOp(), shard.getOperation()})
          addAttributes(made, getInherited(op, Inherit::Companion));
        value = shard.getResult();
      }
    return value;
  }

  Value gather(OpBuilder &builder, ToGlobalOp op) {
    SmallVector<StringRef> names = llvm::map_to_vector(axes, [&](Axis axis) { return mesh.getName(axis); });
    auto made = AllGatherOp::create(
        builder, op.getLoc(), op.getResult().getType(), op.getInput(), builder.getStrArrayAttr(names), op.getMapping(),
        MappingAttr::getReplicated(op.getContext(), whole.size()), builder.getDenseI64ArrayAttr(whole));
    addAttributes(made, getInherited(op, Inherit::Companion));
    return made.getResult();
  }

  Mesh mesh;
  /// The mapping of the boundary that is being replaced, the axes of this, and the shape of the whole value.
  Placement placement;
  SmallVector<Axis> axes;
  SmallVector<int64_t> whole;
};

} // namespace
