//===- LocalizeShapes.cpp - rewrites a program to the shapes of one rank --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After this pass every type is the local type of one rank. Each operation is rewritten by its own `localize`; the pass
// adds the parts that all operations share: the check against the sharding rule, coordinates, and masks for operands
// that are read across parts of unequal size.
//
//===----------------------------------------------------------------------===//

#include "PlacementTable.h"
#include "Times.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/PortAttributes.h"
#include "dialects/Dist/RuleCheck.h"
#include "dialects/Dist/Support.h"
#include "meshwright/Partition/Origin.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Partition/ReshardPlanner.h"
#include "meshwright/Support/Programs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace meshwright::partition {
#define GEN_PASS_DEF_LOCALIZESHAPESPASS
#include "meshwright/Partition/Passes.h.inc"
} // namespace meshwright::partition

#define DEBUG_TYPE "dist-partition-localize-shapes"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::partition;

using Kind = ReshardStep::Kind;

namespace {

/// Writes the local program of one function into a new block.
class FunctionLocalizer {
public:
  FunctionLocalizer(PlacementTable &table, const Mesh &mesh, func::FuncOp func, Accumulators &accumulators,
                    const std::optional<StageMap> &stages, bool scattersFirst)
      : table(table), mesh(mesh), func(func), accumulators(accumulators), stages(stages), scattersFirst(scattersFirst),
        builder(func.getContext()) {}

  LogicalResult run();
  unsigned getNumCollectives() const { return numCollectives; }
  unsigned getNumMasks() const { return numMasks; }

private:
  LogicalResult localize(Operation &op);
  LogicalResult localizeReshard(ReshardOp reshard);
  LogicalResult localizeByInterface(Operation &op, ArrayRef<MappingAttr> operands, ArrayRef<MappingAttr> results);
  FailureOr<int64_t> countParts(Operation &op, const ShardingRule &rule, ArrayRef<AxisPlan> plans,
                                ArrayRef<Placement> operands);
  LogicalResult checkMovement(Operation &op, ArrayRef<MappingAttr> operands);
  LogicalResult localizeSignature();
  Value createStep(const ReshardStep &step, ReshardOp reshard, Value value, ArrayRef<int64_t> shape);
  void emitStep(const ReshardStep &step, ReshardOp reshard, Value &value, ArrayRef<int64_t> shape);
  SmallVector<Value> maskOperands(Operation &op, const ShardingRule &rule, ArrayRef<Placement> placements);
  Value mask(Value value, ArrayRef<int64_t> dims, ReduceKind kind, const Placement &placement, RankedTensorType global,
             Location loc);
  LogicalResult checkMembers(Operation &op, ArrayRef<MappingAttr> results);
  Value getCoordinate(Axis axis);
  SmallVector<Value> getCoordinates(ArrayRef<Axis> axes);
  ArrayAttr getAxisNames(ArrayRef<Axis> axes);
  RankedTensorType getLocalType(Type global, MappingAttr mapping);

  PlacementTable &table;
  const Mesh &mesh;
  func::FuncOp func;
  Accumulators &accumulators;
  const std::optional<StageMap> &stages;
  bool scattersFirst;
  OpBuilder builder;
  IRMapping locals;
  /// The current placement of every value of the old program.
  DenseMap<Value, MappingAttr> current;
  DenseMap<Axis, Value> coordinates;
  Operation *lastCoordinate = nullptr;
  DenseMap<std::tuple<Value, Attribute, Attribute, Attribute>, Value> masks;
  unsigned numCollectives = 0, numMasks = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Types and coordinates
//===----------------------------------------------------------------------===//

RankedTensorType FunctionLocalizer::getLocalType(Type global, MappingAttr mapping) {
  auto type = cast<RankedTensorType>(global);
  return type.clone(table.resolve(mapping, global).getLocalShape(type.getShape()));
}

/// Creates one coordinate operation per axis, at the head of the block.
Value FunctionLocalizer::getCoordinate(Axis axis) {
  Value &coordinate = coordinates[axis];
  if (coordinate)
    return coordinate;
  OpBuilder::InsertionGuard guard(builder);
  if (lastCoordinate)
    builder.setInsertionPointAfter(lastCoordinate);
  else
    builder.setInsertionPointToStart(builder.getInsertionBlock());
  auto type = RankedTensorType::get({}, builder.getI32Type());
  lastCoordinate = CoordinateOp::create(builder, func.getLoc(), type, builder.getStringAttr(mesh.getName(axis)));
  return coordinate = lastCoordinate->getResult(0);
}

SmallVector<Value> FunctionLocalizer::getCoordinates(ArrayRef<Axis> axes) {
  return llvm::map_to_vector(axes, [&](Axis axis) { return getCoordinate(axis); });
}

ArrayAttr FunctionLocalizer::getAxisNames(ArrayRef<Axis> axes) {
  SmallVector<StringRef> names = llvm::map_to_vector(axes, [&](Axis axis) { return mesh.getName(axis); });
  return builder.getStrArrayAttr(names);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value FunctionLocalizer::createStep(const ReshardStep &step, ReshardOp reshard, Value value, ArrayRef<int64_t> shape) {
  Location loc = reshard.getLoc();
  auto type = cast<RankedTensorType>(value.getType()).clone(step.to.getLocalShape(shape));
  auto from = step.from.toAttr(builder.getContext(), mesh, shape),
       to = step.to.toAttr(builder.getContext(), mesh, shape);
  ArrayAttr axes = getAxisNames(step.axes);
  auto attribute = builder.getDenseI64ArrayAttr(shape);
  switch (step.kind) {
#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS)                                          \
  case Kind::KIND:                                                                                                     \
    return OPERATION::create(builder, loc, type, value, axes, from, to, attribute);
#include "meshwright/runtime/Collectives.def"
  case Kind::Shard:
    return ShardOp::create(builder, loc, type, value, getCoordinates(step.axes), axes, from, to, attribute);
  case Kind::ToPartial:
    return ToPartialOp::create(builder, loc, type, value,
                               step.from.getHolder(step.axes.front()) ? SmallVector<Value>()
                                                                      : getCoordinates(step.axes),
                               axes, from, to, attribute);
  case Kind::Accumulate:
    return accumulators.add(builder, reshard, step, value);
  case Kind::Collect:
    return accumulators.collect(builder, reshard, step, value, getCoordinate(step.axes.front()));
  case Kind::Relabel:
    return value;
  }
  llvm_unreachable("all kinds are covered");
}

/// The operations of `block` after `before`, all of them if that is null, without coordinates.
static auto getOpsBehind(Operation *before, Block *block) {
  return llvm::make_filter_range(
      llvm::make_range(before ? std::next(before->getIterator()) : block->begin(), block->end()),
      [](Operation &op) { return !isa<CoordinateOp>(op); });
}

/// Replaces `value` by the result of the step. Ranks outside the support of the axes that the step leaves alone skip
/// it.
void FunctionLocalizer::emitStep(const ReshardStep &step, ReshardOp reshard, Value &value, ArrayRef<int64_t> shape) {
  Block *block = builder.getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  Value made = createStep(step, reshard, value, shape);
  if (made == value)
    return;
  auto conversion = made.getDefiningOp<ConversionOpInterface>();
  numCollectives += conversion && conversion.isCollective();
  Placement members = step.from;
  for (Axis axis : step.axes)
    members.erase(axis);
  if (step.kind == Kind::Send) {
    Axis axis = step.axes.front();
    SmallVector<int64_t> both = {*step.from.getHolder(axis), *step.to.getHolder(axis)};
    llvm::sort(both);
    members.support.push_back({axis, both});
    llvm::sort(members.support, llvm::less_first());
  }
  value = made;
  for (Operation &op : getOpsBehind(before, block)) {
    setOn(&op, members.toAttr(builder.getContext(), mesh, shape).getSupport());
    inheritOrigin(&op, step, reshard, stages);
  }
}

/// True if `step` adds subtrees of neighbours, if it reduces by a tree: axes that come later in the mesh are nearer to
/// its leaves.
static bool keepsTree(const ReshardStep &step) {
  if (step.from.partialKind != ReduceKind::Tree)
    return true;
  auto isReduced = [&](Axis axis) { return step.from.isPartial(axis) && !step.to.isPartial(axis); };
  std::optional<Axis> last;
  for (Axis axis : step.axes) {
    if (!isReduced(axis))
      continue;
    bool isAfterAll = llvm::all_of(step.from.partialAxes, [&](Axis other) { return isReduced(other) || other < axis; });
    if (!isAfterAll || (last && *last > axis))
      return false;
    last = axis;
  }
  return true;
}

LogicalResult FunctionLocalizer::localizeReshard(ReshardOp reshard) {
  auto type = cast<RankedTensorType>(reshard.getResult().getType());
  FailureOr<SmallVector<MappingAttr>> from = table.getOperands(reshard), to = table.getResults(reshard);
  if (failed(from) || failed(to) || failed(checkMovement(*reshard, *from)))
    return failure();
  Value value = locals.lookup(reshard.getInput());
  if (failed(accumulators.check(reshard, table.resolve(from->front(), type), table.resolve(to->front(), type))))
    return failure();
  ReshardPlanner planner(mesh, type.getShape(), scattersFirst);
  for (const ReshardStep &step : planner.plan(table.resolve(from->front(), type), table.resolve(to->front(), type))) {
    if (!keepsTree(step))
      return reshard.emitOpError() << "reduces a sum by a tree over some of its axes before others that are nearer to "
                                      "its leaves; reproducible needs one axis there, or the last ones first";
    emitStep(step, reshard, value, type.getShape());
  }
  locals.map(reshard.getResult(), value);
  current[reshard.getResult()] = to->front();
  return success();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value FunctionLocalizer::mask(Value value, ArrayRef<int64_t> dims, ReduceKind kind, const Placement &placement,
                              RankedTensorType global, Location loc) {
  TypedAttr fill = getNeutralElement(kind, global.getElementType());
  DenseI64ArrayAttr dimsAttr = builder.getDenseI64ArrayAttr(dims);
  MappingAttr where = placement.toAttr(builder.getContext(), mesh, global.getShape());
  Value &masked = masks[{value, dimsAttr, fill, where.getSupport()}];
  if (masked)
    return masked;
  SmallVector<Axis> axes;
  for (int64_t dim : dims)
    for (const Split &split : placement.dims[dim])
      axes.push_back(split.axis);
  ++numMasks;
  return masked = MaskOp::create(builder, loc, value.getType(), value, getCoordinates(axes), dimsAttr, where,
                                 builder.getDenseI64ArrayAttr(global.getShape()), fill);
}

/// The local operands of `op`. Operands that it reads across parts of unequal size are padded with the neutral element
/// of the reduction.
SmallVector<Value> FunctionLocalizer::maskOperands(Operation &op, const ShardingRule &rule,
                                                   ArrayRef<Placement> placements) {
  SmallVector<Value> operands;
  for (auto [operand, tensor, placement] : llvm::zip(op.getOperands(), rule.operands, placements)) {
    Value value = locals.lookup(operand);
    llvm::MapVector<ReduceKind, SmallVector<int64_t>> dims;
    for (auto [dim, uses] : llvm::enumerate(tensor.dims)) {
      const auto *use = llvm::find_if(uses, [&](const FactorUse &use) { return rule.factors[use.factor].masks; });
      if (use != uses.end() && placement.isUneven(dim, mesh))
        dims[rule.factors[use->factor].reduction].push_back(dim);
    }
    for (auto &[kind, list] : dims)
      value = mask(value, list, kind, placement, cast<RankedTensorType>(operand.getType()), op.getLoc());
    operands.push_back(value);
  }
  return operands;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Checks that every operand is in the placement in which `op` reads it.
LogicalResult FunctionLocalizer::checkMovement(Operation &op, ArrayRef<MappingAttr> operands) {
  for (auto [index, operand, mapping] : llvm::enumerate(op.getOperands(), operands))
    if (current.lookup(operand) != mapping)
      return op.emitOpError() << "reads operand #" << index << " in " << mapping << " but it is in "
                              << current.lookup(operand);
  return success();
}

/// All results of an operation are on the same ranks: those that run it.
LogicalResult FunctionLocalizer::checkMembers(Operation &op, ArrayRef<MappingAttr> results) {
  for (MappingAttr result : results)
    if (result.getSupport() != results.front().getSupport())
      return op.emitOpError() << "leaves one result in " << results.front() << " and another in " << result
                              << ", on other ranks";
  return success();
}

/// The number of parts of a sum in a fixed order that this rank adds. They have to be neighbours, and axes have to
/// follow each other as in the mesh: that is the order of a group, in which a collective adds.
FailureOr<int64_t> FunctionLocalizer::countParts(Operation &op, const ShardingRule &rule, ArrayRef<AxisPlan> plans,
                                                 ArrayRef<Placement> operands) {
  int64_t parts = net::kSumPartsAttr.get(&op).getInt();
  for (auto [axis, plan] : llvm::enumerate(plans)) {
    // The conversion that rounds the parts of a sum.
    if (plan.kind == AxisPlan::Kind::Partial && operands.front().partialKind == ReduceKind::Tree)
      parts /= mesh.getSize(axis);
    if (plan.kind != AxisPlan::Kind::SplitFactor || rule.factors[plan.factor].reduction != ReduceKind::Tree)
      continue;
    for (auto [tensor, placement] : llvm::zip(rule.operands, operands))
      for (auto [uses, splits] : llvm::zip(tensor.dims, placement.dims)) {
        bool isSummed = llvm::any_of(uses, [&](const FactorUse &use) { return use.factor == plan.factor; });
        if (isSummed && (splits.front().extent != rule.factors[plan.factor].size ||
                         !llvm::is_sorted(splits, [](const Split &a, const Split &b) { return a.axis < b.axis; })))
          return op.emitOpError() << "sums parts that are not neighbours, or over axes in another order than the mesh "
                                     "has them; reproducible needs a dimension that is split from its major end";
      }
    parts /= mesh.getSize(axis);
  }
  return parts;
}

LogicalResult FunctionLocalizer::localizeByInterface(Operation &op, ArrayRef<MappingAttr> operands,
                                                     ArrayRef<MappingAttr> results) {
  SmallVector<Placement> operandPlacements, resultPlacements;
  for (auto [operand, mapping] : llvm::zip(op.getOperands(), operands))
    operandPlacements.push_back(table.resolve(mapping, operand.getType()));
  for (auto [result, mapping] : llvm::zip(op.getResults(), results))
    resultPlacements.push_back(table.resolve(mapping, result.getType()));
  auto interface = dyn_cast<ShardingOpInterface>(op);
  ShardingRule rule = interface ? interface.getShardingRule() : ShardingRule::whole(&op);
  // A variable is read and assigned in the placement in which it is kept, so its rule does not apply.
  FailureOr<SmallVector<AxisPlan>> plans = SmallVector<AxisPlan>();
  if (!isa<net::ReadOp, net::AssignOp>(op))
    plans = checkRule(rule, mesh, operandPlacements, resultPlacements, [&] { return op.emitOpError(); });
  if (failed(plans))
    return failure();
  FailureOr<int64_t> parts = 0;
  if (net::kSumPartsAttr.isOn(&op) && failed(parts = countParts(op, rule, *plans, operandPlacements)))
    return failure();
  SmallVector<Value> values = maskOperands(op, rule, operandPlacements);
  auto coordinate = [&](Axis axis) { return getCoordinate(axis); };
  if (isa<net::AssignOp>(op))
    if (DictionaryAttr last = getDuringLast(kDuringAttr.get(&op), mesh, &op))
      kDuringAttr.set(&op, last);
  Localizer localizer(builder, mesh, values, operandPlacements, resultPlacements, coordinate);
  FailureOr<SmallVector<Value>> made =
      interface ? interface.localize(localizer) : FailureOr<SmallVector<Value>>(localizer.clone(&op));
  if (failed(made))
    return op.emitOpError() << "has no form for one rank";
  if (*parts != 0)
    net::kSumPartsAttr.set(made->front().getDefiningOp(), builder.getI64IntegerAttr(*parts));
  for (auto [index, result, value, mapping] : llvm::enumerate(op.getResults(), *made, results)) {
    if (value.getType() != getLocalType(result.getType(), mapping))
      return op.emitOpError() << "made result #" << index << " of " << value.getType() << " for one rank, not "
                              << getLocalType(result.getType(), mapping);
    locals.map(result, value);
    current[result] = mapping;
  }
  return success();
}

LogicalResult FunctionLocalizer::localize(Operation &op) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return localizeReshard(reshard);
  FailureOr<SmallVector<MappingAttr>> operands = table.getOperands(&op);
  if (failed(operands) || failed(checkMovement(op, *operands)))
    return failure();
  if (isa<func::ReturnOp>(op)) {
    SmallVector<Value> values =
        llvm::map_to_vector(op.getOperands(), [&](Value operand) { return locals.lookup(operand); });
    func::ReturnOp::create(builder, op.getLoc(), values);
    return success();
  }
  FailureOr<SmallVector<MappingAttr>> results = table.getComputes(&op);
  if (failed(results) || failed(checkMembers(op, *results)))
    return failure();
  Block *block = builder.getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  if (failed(localizeByInterface(op, *operands, *results)))
    return failure();
  for (Operation &made : getOpsBehind(before, block)) {
    inherit(&made, &op, Inherit::Conversion);
    if (!results->empty() || !operands->empty())
      setOn(&made, (results->empty() ? operands : results)->front().getSupport());
  }
  return success();
}

/// Sets the local type of the function, and stores the global types of arguments and results beside it.
LogicalResult FunctionLocalizer::localizeSignature() {
  FunctionType type = func.getFunctionType();
  SmallVector<Type> inputs, results;
  PortAttributes ports;
  for (auto [index, input] : llvm::enumerate(type.getInputs())) {
    FailureOr<MappingAttr> mapping = table.getArgument(func, index);
    if (failed(mapping))
      return failure();
    inputs.push_back(getLocalType(input, *mapping));
    ports.set(func.getArgument(index), net::kGlobalTypeAttr, TypeAttr::get(input));
  }
  for (auto [index, result] : llvm::enumerate(type.getResults())) {
    auto stated = kMappingAttr.getOfResult(func, index);
    FailureOr<MappingAttr> mapping = table.normalize(stated, result, func);
    if (failed(mapping))
      return failure();
    results.push_back(getLocalType(result, *mapping));
    ports.setResult(func, index, net::kGlobalTypeAttr, TypeAttr::get(result));
    if (DictionaryAttr last = getDuringLast(kDuringAttr.getOfResult(func, index), mesh, func))
      ports.setResult(func, index, kDuringAttr, last);
  }
  ports.write();
  func.setFunctionType(builder.getFunctionType(inputs, results));
  return success();
}

LogicalResult FunctionLocalizer::run() {
  Block &old = func.getBody().front();
  auto *block = new Block;
  func.getBody().push_back(block);
  builder.setInsertionPointToEnd(block);
  for (BlockArgument argument : old.getArguments()) {
    FailureOr<MappingAttr> mapping = table.getArgument(func, argument.getArgNumber());
    if (failed(mapping))
      return failure();
    locals.map(argument, block->addArgument(getLocalType(argument.getType(), *mapping), argument.getLoc()));
    current[argument] = *mapping;
  }
  for (Operation &op : old) {
    if (failed(localize(op)))
      return failure();
    // A mask made in a loop is not available after the loop.
    if (isa<net::EndLoopOp>(op))
      masks.clear();
  }
  if (failed(localizeSignature()))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(old)))
    op.erase();
  old.erase();
  return success();
}

namespace {

struct LocalizeShapesPass : partition::impl::LocalizeShapesPassBase<LocalizeShapesPass> {
  using LocalizeShapesPassBase::LocalizeShapesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<MeshOp> meshOp = requireMesh(module);
    if (failed(meshOp) || failed(verifyPrograms(module)) || failed(verifyGlobal(module)))
      return signalPassFailure();
    Mesh mesh = meshOp->getMesh();
    PlacementTable table(module, mesh);
    Accumulators accumulators(module, mesh);
    FailureOr<std::optional<StageMap>> stages = StageMap::read(*meshOp);
    if (failed(stages))
      return signalPassFailure();
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isDeclaration())
        continue;
      FunctionLocalizer localizer(table, mesh, func, accumulators, *stages, scatterSlices);
      if (failed(localizer.run()))
        return signalPassFailure();
      numCollectives += localizer.getNumCollectives();
      numMasks += localizer.getNumMasks();
    }
    for (auto variable : module.getOps<net::VariableOp>())
      if (failed(localizeVariable(variable, table)))
        return signalPassFailure();
  }

  static LogicalResult localizeVariable(net::VariableOp variable, PlacementTable &table) {
    RankedTensorType global = variable.getTensorType();
    FailureOr<MappingAttr> kept = table.normalize(kMappingAttr.get(variable), global, variable);
    if (failed(kept))
      return failure();
    auto local = global.clone(table.resolve(*kept, global).getLocalShape(global.getShape()));
    net::kGlobalTypeAttr.set(variable, TypeAttr::get(global));
    variable.setTypeAttr(TypeAttr::get(local));
    return success();
  }
};

} // namespace
