//===- MaterializeReshards.cpp - inserts an operation for every conversion -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After this pass every operation reads its operands in the placement in which they are. Conversions are naive on
// purpose, one per value and target, with two exceptions: several uses that need a partial value reduced share the
// reduction, and several uses with the same other owner share the send.
//
//===----------------------------------------------------------------------===//

#include "PlacementTable.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/PortAttributes.h"
#include "dialects/Net/Loops.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Uses.h"
#include "meshwright/Partition/Origin.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Support/Programs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::partition {
#define GEN_PASS_DEF_MATERIALIZERESHARDSPASS
#include "meshwright/Partition/Passes.h.inc"
} // namespace meshwright::partition

#define DEBUG_TYPE "dist-partition-materialize-reshards"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::partition;

namespace {

/// Materializes the conversions of one function.
class Materializer {
public:
  Materializer(PlacementTable &table, const Mesh &mesh) : table(table), mesh(mesh) {}

  LogicalResult run(func::FuncOp func);
  unsigned getNumReshards() const { return numReshards; }

private:
  /// The conversions of one value.
  struct Requests {
    MappingAttr placement;
    /// The other placements in which it is read, in the order of the uses.
    llvm::SetVector<MappingAttr> targets;
    /// The reduced placement that `targets` share and that is converted further; null if they share none.
    MappingAttr shared;
    /// For targets with another owner, if several have the same: the placement in which the value is sent to that
    /// owner, which converts it further.
    DenseMap<MappingAttr, MappingAttr> sent;
  };

  LogicalResult narrowWhereKept(net::ReadOp read);
  LogicalResult reduceAtDefinition(Operation *op);
  LogicalResult collect(Operation *op, func::FuncOp func);
  FailureOr<SmallVector<MappingAttr>> getTargets(Operation *op, func::FuncOp func);
  LogicalResult narrow(Operation *op, MutableArrayRef<MappingAttr> operands);
  MappingAttr shareReduction(Value value, const Requests &requests);
  bool isShared(Value value, const Requests &request, MappingAttr target);
  void shareSends(Value value, Requests &request);
  Value convert(Value value, MappingAttr target, Operation *user);
  Value createReshard(OpBuilder &builder, Value value, MappingAttr from, MappingAttr to, Operation *like);
  MappingAttr toAttr(const Placement &placement, Value value);

  PlacementTable &table;
  const Mesh &mesh;
  net::LoopNest loops;
  llvm::MapVector<Value, Requests> requests;
  DenseMap<Operation *, SmallVector<MappingAttr>> targets;
  DenseMap<std::pair<Value, Attribute>, Value> converted;
  unsigned numReshards = 0;
};

} // namespace

/// Sets `name` on `op` to `mappings`.
static void setMappings(Operation *op, StringRef name, ArrayRef<MappingAttr> mappings) {
  SmallVector<Attribute> list(mappings.begin(), mappings.end());
  op->setAttr(name, ArrayAttr::get(op->getContext(), list));
}

Value Materializer::createReshard(OpBuilder &builder, Value value, MappingAttr from, MappingAttr to, Operation *like) {
  auto reshard = ReshardOp::create(builder, value.getLoc(), value.getType(), value, from, to);
  inherit(reshard, like, Inherit::Conversion);
  loops.addBefore(reshard, &*builder.getInsertionPoint());
  ++numReshards;
  return reshard.getResult();
}

/// If all uses of `read` convert the variable to a smaller element type, converts it where it is kept, before it is
/// moved: that sends fewer bytes.
LogicalResult Materializer::narrowWhereKept(net::ReadOp read) {
  FailureOr<SmallVector<MappingAttr>> kept = table.getComputes(read), results = table.getResults(read);
  if (failed(kept) || failed(results))
    return failure();
  Value value = read.getResult();
  bool isOnlyNarrowed = *kept != *results && net::getUsedType(value) != net::elementTypeOf(value);
  for (Operation *user : read->getUsers()) {
    FailureOr<SmallVector<MappingAttr>> operands = table.getOperands(user);
    if (failed(operands))
      return failure();
    isOnlyNarrowed &= *operands == *results;
  }
  if (!isOnlyNarrowed)
    return success();
  for (Operation *user : read->getUsers()) {
    FailureOr<SmallVector<MappingAttr>> leaves = table.getResults(user);
    if (failed(leaves))
      return failure();
    setMappings(user, kResultsAttr, *leaves);
    setMappings(user, kOperandsAttr, *kept);
    setMappings(user, kComputesAttr, *kept);
    kFetchAtAttr.copy(read, user);
    kReasonAttr.copy(read, user);
  }
  setMappings(read, kResultsAttr, *kept);
  kFetchAtAttr.remove(read);
  kReasonAttr.remove(read);
  return success();
}

/// Converts the computed placements of `op` to those of its results. Afterwards `dist.results` holds the computed
/// placements, and explicit conversions make the others.
LogicalResult Materializer::reduceAtDefinition(Operation *op) {
  FailureOr<SmallVector<MappingAttr>> computes = table.getComputes(op);
  if (failed(computes))
    return failure();
  FailureOr<SmallVector<MappingAttr>> results = table.getResults(op);
  if (failed(results))
    return failure();
  OpBuilder builder(op->getContext());
  // The result of a loop is available after the loop's end.
  builder.setInsertionPointAfter(net::leavesLoop(op) ? loops.getEnd(loops.getLoop(op)).getOperation() : op);
  for (auto [result, from, to] : llvm::zip(op->getResults(), *computes, *results)) {
    Value value = result;
    if (from != to) {
      value = createReshard(builder, result, from, to, op);
      result.replaceAllUsesExcept(value, value.getDefiningOp());
    }
    requests[value].placement = to;
  }
  if (!isa<ReshardOp>(op) && op->getNumResults() > 0)
    setMappings(op, kResultsAttr, *computes);
  kComputesAttr.remove(op);
  return success();
}

/// Runs `op` only on the ranks of its results; replicated operands are read there.
LogicalResult Materializer::narrow(Operation *op, MutableArrayRef<MappingAttr> operands) {
  FailureOr<SmallVector<MappingAttr>> computes = table.getComputes(op);
  if (failed(computes))
    return failure();
  if (computes->empty() || computes->front().getSupport().empty())
    return success();
  const Placement result = table.resolve(computes->front(), op->getResult(0).getType());
  for (auto [operand, mapping] : llvm::zip(op->getOperands(), operands)) {
    Placement placement = table.resolve(mapping, operand.getType());
    for (const auto &[axis, coordinates] : result.support)
      if (!placement.findSplit(axis) && !placement.isPartial(axis) && !placement.getHolder(axis))
        placement.setHolder(axis, coordinates.front());
    mapping = toAttr(placement, operand);
  }
  return success();
}

/// The placements in which `op` reads its operands. An assigned value goes where the variable is kept, a returned value
/// where the function's signature places it.
FailureOr<SmallVector<MappingAttr>> Materializer::getTargets(Operation *op, func::FuncOp func) {
  FailureOr<SmallVector<MappingAttr>> wanted = table.getOperands(op);
  if (failed(wanted))
    return failure();
  if (auto assign = dyn_cast<net::AssignOp>(op)) {
    FailureOr<MappingAttr> kept = table.getKept(assign.getVariableAttr(), op);
    if (failed(kept))
      return failure();
    return SmallVector<MappingAttr>{*kept};
  }
  if (!isa<func::ReturnOp>(op)) {
    if (!isa<ReshardOp>(op) && failed(narrow(op, *wanted)))
      return failure();
    return wanted;
  }
  PortAttributes ports;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto stated = kMappingAttr.getOfResult(func, index);
    if (!stated) {
      ports.setResult(func, index, kMappingAttr, (*wanted)[index]);
      continue;
    }
    FailureOr<MappingAttr> mapping = table.normalize(stated, operand.getType(), op);
    if (failed(mapping))
      return failure();
    (*wanted)[index] = *mapping;
  }
  ports.write();
  return wanted;
}

LogicalResult Materializer::collect(Operation *op, func::FuncOp func) {
  if (op->getNumRegions() != 0)
    return op->emitOpError() << "has " << op->getNumRegions() << " regions, but only straight programs are partitioned";
  FailureOr<SmallVector<MappingAttr>> wanted = getTargets(op, func);
  if (failed(wanted))
    return failure();
  for (auto [operand, target] : llvm::zip(op->getOperands(), *wanted))
    if (Requests &request = requests[operand]; request.placement != target)
      request.targets.insert(target);
  if (!isa<ReshardOp>(op) && op->getNumOperands() > 0)
    setMappings(op, kOperandsAttr, *wanted);
  targets[op] = std::move(*wanted);
  return success();
}

MappingAttr Materializer::toAttr(const Placement &placement, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  MappingAttr mapping = placement.toAttr(value.getContext(), mesh, type.getShape());
  // Registers the placement; built from resolved placements, it always resolves.
  (void)table.normalize(mapping, type, value.getParentRegion()->getParentOp());
  return mapping;
}

/// True if converting `from` to `to` reduces or sends the value along `axis`.
static bool leaves(const Placement &from, const Placement &to, Axis axis) {
  if (from.isPartial(axis))
    return !to.isPartial(axis) || to.partialKind != from.partialKind;
  std::optional<int64_t> holder = from.getHolder(axis);
  return holder && to.getHolder(axis) != holder && !to.isPartial(axis);
}

/// The placement to which `value` is reduced, or sent from its owner, once for all targets that need it: on each axis
/// the targets' common state, or replicated if they differ. Null if fewer than two targets need it.
MappingAttr Materializer::shareReduction(Value value, const Requests &requests) {
  const Placement from = table.resolve(requests.placement, value.getType());
  Placement shared = from;
  bool isShared = false;
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis) {
    SmallVector<const Placement *> reducing;
    for (MappingAttr target : requests.targets)
      if (const Placement &to = table.resolve(target, value.getType()); leaves(from, to, axis))
        reducing.push_back(&to);
    auto isHeld = [&](const Placement *to) { return to->getHolder(axis).has_value(); };
    if (reducing.size() < 2 || (from.getHolder(axis) && llvm::all_of(reducing, isHeld)))
      continue;
    isShared = true;
    shared.erase(axis);
    auto split = reducing.front()->findSplit(axis);
    std::optional<int64_t> holder = reducing.front()->getHolder(axis);
    bool alike = llvm::all_of(reducing, [&](const Placement *to) {
      return !to->isPartial(axis) && to->findSplit(axis) == split && to->getHolder(axis) == holder;
    });
    Placement scattered = shared;
    auto type = cast<RankedTensorType>(value.getType());
    if (alike && split && scattered.insert(split->first, split->second) && isNested(scattered, type.getShape()))
      shared = scattered;
    if (alike && holder)
      shared.setHolder(axis, *holder);
  }
  return isShared ? toAttr(normalize(shared, mesh), value) : MappingAttr();
}

/// True if the shared reduction serves `target`.
bool Materializer::isShared(Value value, const Requests &request, MappingAttr target) {
  if (!request.shared)
    return false;
  const Placement &before = table.resolve(request.placement, value.getType()),
                  &middle = table.resolve(request.shared, value.getType()),
                  &after = table.resolve(target, value.getType());
  return llvm::any_of(llvm::seq<Axis>(0, mesh.getNumAxes()),
                      [&](Axis axis) { return leaves(before, middle, axis) && leaves(before, after, axis); });
}

/// Lets targets with the same other owner share one send of all elements that this owner needs.
void Materializer::shareSends(Value value, Requests &request) {
  llvm::MapVector<MappingAttr, SmallVector<MappingAttr, 2>> targetsOf;
  for (MappingAttr target : request.targets) {
    Placement sent =
        table.resolve(isShared(value, request, target) ? request.shared : request.placement, value.getType());
    const Placement &to = table.resolve(target, value.getType());
    bool isSent = false;
    for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis) {
      std::optional<int64_t> holder = sent.getHolder(axis), other = to.getHolder(axis);
      if (!holder || !other || holder == other)
        continue;
      sent.setHolder(axis, *other);
      isSent = true;
    }
    if (isSent)
      targetsOf[toAttr(sent, value)].push_back(target);
  }
  for (const auto &[sent, targets] : targetsOf)
    if (targets.size() > 1)
      for (MappingAttr target : targets)
        request.sent[target] = sent;
}

/// `value` in the placement `target`, converted before `user` unless an earlier user converted it.
Value Materializer::convert(Value value, MappingAttr target, Operation *user) {
  if (Value known = converted.lookup({value, target}))
    return known;
  // A value made before a loop is converted once, before the loop.
  OpBuilder builder(loops.hoist(user, value));
  const Requests &request = requests[value];
  MappingAttr from = request.placement;
  Value source = value;
  auto goTo = [&](MappingAttr next) {
    Value &there = converted[{value, next}];
    if (!there)
      there = createReshard(builder, source, from, next, user);
    source = there;
    from = next;
  };
  if (isShared(value, request, target) && request.shared != target)
    goTo(request.shared);
  if (MappingAttr sent = request.sent.lookup(target); sent && sent != target)
    goTo(sent);
  goTo(target);
  return source;
}

LogicalResult Materializer::run(func::FuncOp func) {
  FailureOr<net::LoopNest> nest = net::LoopNest::find(func.getBody().front());
  if (failed(nest))
    return failure();
  loops = std::move(*nest);
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front())
    ops.push_back(&op);
  for (BlockArgument argument : func.getArguments()) {
    FailureOr<MappingAttr> mapping = table.getArgument(func, argument.getArgNumber());
    if (failed(mapping))
      return failure();
    requests[argument].placement = *mapping;
  }
  for (auto read : func.getOps<net::ReadOp>())
    if (failed(narrowWhereKept(read)))
      return failure();
  // Operands are collected before the definitions change: an operation without stated operand placements reads values
  // as their makers leave them.
  for (Operation *op : ops) {
    FailureOr<SmallVector<MappingAttr>> wanted = getTargets(op, func);
    if (failed(wanted))
      return failure();
    if (!isa<ReshardOp>(op) && op->getNumOperands() > 0)
      setMappings(op, kOperandsAttr, *wanted);
  }
  for (Operation *op : ops)
    if (failed(reduceAtDefinition(op)))
      return failure();
  for (Operation *op : ops)
    if (failed(collect(op, func)))
      return failure();
  for (auto &[value, request] : requests) {
    request.shared = shareReduction(value, request);
    shareSends(value, request);
  }
  for (Operation *op : ops)
    for (auto [operand, target] : llvm::zip(op->getOpOperands(), targets[op]))
      if (requests[operand.get()].placement != target)
        operand.set(convert(operand.get(), target, op));
  return success();
}

namespace {

struct MaterializeReshardsPass : partition::impl::MaterializeReshardsPassBase<MaterializeReshardsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<MeshOp> meshOp = requireMesh(module);
    if (failed(meshOp) || failed(verifyPrograms(module)) || failed(verifyGlobal(module)))
      return signalPassFailure();
    Mesh mesh = meshOp->getMesh();
    PlacementTable table(module, mesh);
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isDeclaration())
        continue;
      Materializer materializer(table, mesh);
      if (failed(materializer.run(func)))
        return signalPassFailure();
      numReshards += materializer.getNumReshards();
    }
  }
};

} // namespace
