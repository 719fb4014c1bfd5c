//===- Graph.cpp - builds the graph of the solvers from the IR ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers operations and values, and computes each operation's rule once. Given placements (arguments, variables,
// annotated results) are resolved into one `State` per axis. Owners are kept apart: the solvers treat a value with an
// owner as replicated, and Owners.cpp restricts it afterwards. One pass over the block.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Loops.h"
#include "dialects/Net/Net.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Stages.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

/// The state of a placement on every axis.
static SmallVector<State, 0> getStates(const Placement &placement, const Mesh &mesh) {
  SmallVector<State, 0> states(mesh.getNumAxes());
  for (auto [dim, splits] : llvm::enumerate(placement.dims))
    for (const Split &split : splits)
      states[split.axis] = State::split(dim, split.extent, split.stride);
  for (Axis axis : placement.partialAxes)
    states[axis] = State::partial(placement.partialKind);
  return states;
}

ValueIndex Graph::addValue(Value value, OpIndex def, unsigned result) {
  GraphValue entry;
  entry.value = value;
  entry.def = def;
  entry.result = result;
  if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
    entry.shape = llvm::to_vector<4>(type.getShape());
    entry.bytes = getBytes(type);
  }
  ValueIndex index = values.size();
  numbers[value] = index;
  values.push_back(std::move(entry));
  source.push_back(false);
  pinned.push_back(false);
  weight.push_back(false);
  for (auto &column : given)
    column.emplace_back();
  for (auto &column : holders)
    column.emplace_back();
  return index;
}

LogicalResult Graph::addGiven(ValueIndex value, MappingAttr mapping, const Mesh &mesh, bool everyAxis,
                              llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (everyAxis)
    for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
      given[axis][value] = State::replicated();
  if (!mapping)
    return success();
  FailureOr<Placement> placement = Placement::resolve(mapping, mesh, values[value].shape, emitError);
  if (failed(placement))
    return failure();
  Operation *maker = values[value].value.getDefiningOp();
  bool takesSums = isa_and_nonnull<net::ReadOp>(maker) || isa_and_nonnull<given::ConstrainOp>(maker);
  if (!placement->partialAxes.empty() && !(takesSums && placement->partialKind == ReduceKind::Sum))
    return emitError() << "a given placement is replicated, split or with an owner on every axis but this is "
                       << mapping;
  // Ownership does not propagate through operations: solvers treat the value as if all coordinates held it.
  Placement normal = normalize(*placement, mesh);
  if (failed(checkSupport(normal, mesh, emitError)))
    return failure();
  for (const auto &[axis, coordinates] : normal.support) {
    given[axis][value] = State::replicated();
    holders[axis][value] = coordinates.front();
  }
  for (auto [axis, state] : llvm::enumerate(getStates(*placement, mesh)))
    if (!state.isReplicated())
      given[axis][value] = state;
  return success();
}

bool Graph::isHeld(ValueIndex value) const {
  return llvm::any_of(holders, [&](const auto &column) { return column[value].has_value(); });
}

std::optional<int64_t> Graph::getStage(ValueIndex value) const {
  OpIndex def = values[value].def;
  return def < 0 ? std::nullopt : ops[def].stage;
}

std::optional<State> Graph::stored(OpIndex op, Axis axis) const {
  if (ops[op].stored.empty())
    return std::nullopt;
  return ops[op].stored[axis];
}

bool complete::followsAddend(net::VariableOp variable) {
  return variable.getKind() == net::VariableKind::Accumulator && !kMappingAttr.isOn(variable);
}

bool complete::isLayout(Operation *op, const ShardingRule &rule) {
  if (rule.operands.size() != 1 || rule.results.size() != 1)
    return false;
  bool converts = isa<net::ConvertOp>(op) && net::isFloat(op->getOperand(0)) && net::isFloat(op->getResult(0));
  // Operations that pass partial products do not compute with the values.
  bool moves =
      llvm::any_of(rule.partials, [](const PartialRule &partial) { return partial.kind == ReduceKind::Product; });
  return (converts || moves) && llvm::none_of(rule.factors, [](const FactorInfo &factor) { return factor.masks; });
}

/// Records the storage placement of the parameter whose gradients `entry` accumulates.
LogicalResult Graph::addLike(GraphOp &entry, const Mesh &mesh, SymbolTableCollection &symbols) {
  auto read = entry.op->getOperand(0).getDefiningOp<net::ReadOp>();
  if (!read)
    return success();
  auto accumulator = symbols.lookupNearestSymbolFrom<net::VariableOp>(read, read.getVariableAttr());
  if (!followsAddend(accumulator) || !accumulator.getLike())
    return success();
  auto parameter = symbols.lookupNearestSymbolFrom<net::VariableOp>(read, accumulator.getLikeAttr());
  auto mapping = kMappingAttr.get(parameter);
  if (!mapping || parameter.getTensorType().getShape() != accumulator.getTensorType().getShape())
    return success();
  auto placement =
      Placement::resolve(mapping, mesh, parameter.getTensorType().getShape(), [&] { return parameter.emitOpError(); });
  if (failed(placement))
    return failure();
  entry.like = getStates(*placement, mesh);
  return success();
}

/// The sharding rule of `op`.
static FailureOr<ShardingRule> readRule(Operation *op) {
  auto sharded = dyn_cast<ShardingOpInterface>(op);
  if (!sharded)
    return ShardingRule::whole(op);
  ShardingRule rule = sharded.getShardingRule();
  if (failed(rule.verify(op)))
    return failure();
  return rule;
}

LogicalResult GraphOp::setDefersReduction() {
  dist::setDefersReduction(op);
  defersReduction = true;
  FailureOr<ShardingRule> changed = readRule(op);
  if (succeeded(changed))
    rule = *changed;
  return changed;
}

/// Records the storage placement of the variable that `entry` assigns.
LogicalResult Graph::addAssigned(GraphOp &entry, const Mesh &mesh, SymbolTableCollection &symbols) {
  auto assign = cast<net::AssignOp>(entry.op);
  net::VariableOp variable = symbols.lookupNearestSymbolFrom<net::VariableOp>(assign, assign.getVariableAttr());
  entry.keepsPartial = followsAddend(variable);
  auto mapping = kMappingAttr.get(variable);
  ArrayRef<int64_t> shape = values[entry.operands.front()].shape;
  Placement placement = Placement::replicated(shape.size());
  if (mapping) {
    auto resolved = Placement::resolve(mapping, mesh, shape, [&] { return assign.emitOpError(); });
    if (failed(resolved))
      return failure();
    placement = *resolved;
    entry.storedHolders.resize(mesh.getNumAxes());
    for (const auto &[axis, coordinates] : normalize(placement, mesh).support)
      entry.storedHolders[axis] = coordinates.front();
  }
  if (!entry.keepsPartial)
    entry.stored = getStates(placement, mesh);
  return success();
}

/// Notes what a constraint says of `value` beside its placement: axes that do not split it, and
/// dimensions that no further axis splits. Of axes that its mesh lacks the graph says nothing.
void Graph::addConstraint(given::ConstrainOp op, ValueIndex value, const Mesh &mesh) {
  if (std::optional<uint64_t> group = op.getGroup())
    groups[static_cast<int64_t>(*group)].push_back(value);
  if (!op.getSharding() || !stated)
    return;
  given::ShardingAttr sharding = *op.getSharding();
  for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis) {
    auto name = StringAttr::get(op.getContext(), mesh.getName(axis));
    if (stated.find(name) && !given[axis][value] &&
        (sharding.isClosed() || llvm::is_contained(sharding.getReplicated(), name)))
      given[axis][value] = State::replicated();
  }
  for (unsigned dim = 0; dim < sharding.getRank(); ++dim)
    closed[value].push_back(!sharding.isOpen(dim));
}

/// Notes the priorities of the dimensions that `sharding`, which may be null, splits.
void Graph::addPriorities(ValueIndex value, given::ShardingAttr sharding, const Mesh &mesh) {
  for (Axis axis = 0; sharding && axis < mesh.getNumRankAxes(); ++axis) {
    std::optional<unsigned> dim = sharding.findDim(StringAttr::get(sharding.getContext(), mesh.getName(axis)));
    if (int64_t priority = dim ? sharding.getPriorities()[*dim] : 0)
      priorities[axis][value] = priority;
  }
}

LogicalResult Graph::addOp(Operation &op, const Mesh &mesh, SymbolTableCollection &symbols) {
  if (op.getNumRegions() != 0)
    return op.emitOpError() << "has regions, which completion does not follow";
  OpIndex index = ops.size();
  GraphOp entry;
  entry.op = &op;
  entry.sink = op.getNumResults() == 0;
  FailureOr<ShardingRule> rule = readRule(&op);
  if (failed(rule))
    return failure();
  entry.rule = std::move(*rule);
  entry.layout = isLayout(&op, entry.rule);
  entry.defersReduction = dist::defersReduction(&op);
  entry.stage = meshwright::getStage(&op);
  entry.accumulates = isa<dist::AccumulateOp>(op);
  entry.carries = isa<net::CarryOp>(op);
  entry.handsOn = isa<net::NextOp>(op);
  if (entry.accumulates && failed(addLike(entry, mesh, symbols)))
    return failure();
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    ValueIndex value = numbers.lookup(operand);
    entry.operands.push_back(value);
    values[value].uses.push_back({index, static_cast<unsigned>(number)});
  }
  auto variableOf = [&](FlatSymbolRefAttr name) { return symbols.lookupNearestSymbolFrom<net::VariableOp>(&op, name); };
  auto mappings = kResultsAttr.get(&op);
  if (mappings && mappings.size() != op.getNumResults())
    return op.emitOpError() << "has " << mappings.size() << " placements for " << op.getNumResults() << " results";
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    ValueIndex value = addValue(result, index, number);
    entry.results.push_back(value);
    auto mapping = mappings ? dyn_cast<MappingAttr>(mappings[number]) : MappingAttr();
    auto read = dyn_cast<net::ReadOp>(op);
    bool everyAxis = false;
    if (read) {
      net::VariableOp variable = variableOf(read.getVariableAttr());
      // A read may ask for another placement than the variable's storage.
      if (!mapping)
        mapping = kMappingAttr.get(variable);
      // The storage of a variable is decided on every axis; only an unplaced accumulator is open.
      everyAxis = !followsAddend(variable);
      source[value] = true;
      addPriorities(value, given::kShardingAttr.get(variable), mesh);
      weight[value] = variable.getKind() != net::VariableKind::Accumulator;
    } else if (entry.layout || isa<net::TakeOp>(op)) {
      weight[value] = weight[entry.operands.front()];
    } else if (isa<net::ConcatenateOp>(op)) {
      weight[value] = llvm::all_of(entry.operands, [&](ValueIndex operand) { return weight[operand]; });
    }
    // Both ends of an accumulation or a carried value must have one state, so neither may be changed alone.
    pinned[value] = entry.accumulates || entry.carries || entry.handsOn;
    if (failed(addGiven(value, mapping, mesh, everyAxis, [&] { return op.emitOpError(); })))
      return failure();
    if (auto constrain = dyn_cast<given::ConstrainOp>(op)) {
      addConstraint(constrain, value, mesh);
      addPriorities(value, constrain.getSharding().value_or(nullptr), mesh);
    }
  }
  if (isa<net::AssignOp>(op) && failed(addAssigned(entry, mesh, symbols)))
    return failure();
  ops.push_back(std::move(entry));
  return success();
}

/// Sets the number of times that values in loops are computed per step.
LogicalResult Graph::countIterations(Block &block) {
  FailureOr<net::LoopNest> loops = net::LoopNest::find(block);
  if (failed(loops))
    return failure();
  for (GraphValue &value : values)
    if (Operation *op = value.value.getDefiningOp(); op && !loops->empty()) {
      net::LoopOp loop = loops->getLoop(op);
      value.iterations = loop && net::leavesLoop(op) ? loops->getIterations(op) / static_cast<int64_t>(loop.getCount())
                                                     : loops->getIterations(op);
    }
  return success();
}

FailureOr<Graph> Graph::build(func::FuncOp func, const Mesh &mesh) {
  Graph graph;
  graph.stated = given::kMeshAttr.get(func->getParentOp());
  graph.given.resize(mesh.getNumAxes());
  graph.holders.resize(mesh.getNumAxes());
  graph.priorities.resize(mesh.getNumAxes());
  for (BlockArgument argument : func.getArguments()) {
    ValueIndex value = graph.addValue(argument, -1, argument.getArgNumber());
    graph.source[value] = true;
    graph.addPriorities(value, given::kShardingAttr.getOfArgument(func, argument.getArgNumber()), mesh);
    if (failed(graph.addGiven(value, getMapping(argument), mesh, /*everyAxis=*/true, [&] {
          return emitError(argument.getLoc()) << "argument " << argument.getArgNumber() << ": ";
        })))
      return failure();
  }
  SymbolTableCollection symbols;
  for (Operation &op : func.getBody().front())
    if (failed(graph.addOp(op, mesh, symbols)))
      return failure();
  if (failed(graph.countIterations(func.getBody().front())))
    return failure();
  return graph;
}
