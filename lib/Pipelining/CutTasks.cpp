//===- CutTasks.cpp - cuts a pipelined step into functions ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Actions.h assigns each operation to an action. Here every action becomes a function: values that cross from one to
// another go through variables within the step, and cheap operations without an action are cloned into each reader. The
// order of the actions is ActionSchedule's.
//
//===----------------------------------------------------------------------===//

#include "ActionSchedule.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "meshwright/Pipelining/Passes.h"
#include "meshwright/Support/NeededTimes.h"
#include "meshwright/Support/Programs.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_CUTTASKSPASS
#include "meshwright/Pipelining/Passes.h.inc"
} // namespace meshwright::schedule

#define DEBUG_TYPE "dist-schedule-cut-tasks"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// Makes a function of every action of one.
class Cutter {
public:
  Cutter(ModuleOp module, func::FuncOp source, const dist::Mesh &mesh, const PipelineAxis &pipeline,
         const Actions &actions, std::optional<NeededTimes> times);

  SmallVector<Crossing> run();

private:
  /// The function of an action, and where in it the values of the source are.
  struct Part {
    func::FuncOp func;
    IRMapping mapping;
  };

  void createFunction(ActionIndex action);
  void takePlaceDuring(Operation *op, int64_t microBatch);
  void takePlaceDuringLast(Operation *op);
  void fill(ActionIndex action);
  Value get(Value value, ActionIndex reader, Operation *user);
  Value read(net::VariableOp variable, Value value, ActionIndex reader);
  Value readCrossing(Value value, ActionIndex reader);
  bool isRepeated(Operation *op, ActionIndex reader) const;
  void repeat(Operation *op, ActionIndex reader, Operation *user);
  DictionaryAttr getOnStage(DictionaryAttr on, int64_t stage);
  void runOnStage(Operation *op, int64_t stage);
  DictionaryAttr getHolders(Value value);
  void describe(Operation *clone, ActionIndex reader, Operation *user);
  net::VariableOp createVariable(Value value);
  void takePlaceWhenUpdated(net::AssignOp assign, Value value);
  void keepCrossings();

  const Action &getAction(ActionIndex action) const { return actions.get()[action]; }

  ModuleOp module;
  func::FuncOp source;
  const dist::Mesh &mesh;
  const PipelineAxis &pipeline;
  const Actions &actions;
  /// Only where the mesh has accumulation steps.
  std::optional<NeededTimes> times;
  SymbolTable symbols;
  /// Variables are inserted before it.
  func::FuncOp firstFunction;
  OpBuilder builder;
  SmallVector<Part, 0> parts;
  llvm::DenseMap<Operation *, unsigned> positions;
  llvm::MapVector<Value, Crossing> crossings;
};

} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Cutter::Cutter(ModuleOp module, func::FuncOp source, const dist::Mesh &mesh, const PipelineAxis &pipeline,
               const Actions &actions, std::optional<NeededTimes> times)
    : module(module), source(source), mesh(mesh), pipeline(pipeline), actions(actions), times(std::move(times)),
      symbols(module), builder(module.getContext()), parts(actions.get().size()) {
  for (auto [position, op] : llvm::enumerate(source.getBody().front()))
    positions[&op] = position;
}

/// Lets `op` take place in one micro-batch alone.
void Cutter::takePlaceDuring(Operation *op, int64_t microBatch) {
  std::optional<dist::Axis> slices = mesh.find(dist::AxisKind::Slices);
  if (!slices || mesh.getSize(*slices) == 1)
    return;
  NamedAttribute during(builder.getStringAttr(mesh.getName(*slices)), builder.getDenseI64ArrayAttr(microBatch));
  dist::kDuringAttr.set(op, builder.getDictionaryAttr(during));
}

/// All actions take the arguments of the step; the update gives its results.
void Cutter::createFunction(ActionIndex index) {
  const Action &action = getAction(index);
  func::FuncOp func = cloneSignature(source, parts[index].mapping);
  if (index != Actions::kUpdate) {
    func.setResAttrsAttr(nullptr);
    func.setFunctionType(builder.getFunctionType(source.getArgumentTypes(), {}));
  }
  func.setSymName((source.getSymName() + "_" + action.name).str());
  dist::kActionAttr.set(func, builder.getStringAttr(action.name));
  if (action.kind == Action::Kind::Transfer)
    dist::kStartsAttr.set(func, builder.getUnitAttr());
  if (actions.isOnceAtBegin(index))
    takePlaceDuring(func, 0);
  if (index == Actions::kUpdate)
    takePlaceDuring(func, pipeline.order.numMicroBatches - 1);
  symbols.insert(func, source->getIterator());
  parts[index].func = func;
}

/// Lets `op` take place in the last micro-batch, too.
void Cutter::takePlaceDuringLast(Operation *op) {
  std::optional<dist::Axis> slices = mesh.find(dist::AxisKind::Slices);
  NamedAttrList during(dist::kDuringAttr.get(op));
  if (!slices || !during.get(mesh.getName(*slices)))
    return;
  auto times = llvm::to_vector(cast<DenseI64ArrayAttr>(during.get(mesh.getName(*slices))).asArrayRef());
  int64_t size = mesh.getSize(*slices);
  if (times.back() != size - 1)
    times.push_back(size - 1);
  if (static_cast<int64_t>(times.size()) == size)
    during.erase(mesh.getName(*slices));
  else
    during.set(mesh.getName(*slices), builder.getDenseI64ArrayAttr(times));
  dist::kDuringAttr.remove(op);
  if (!during.empty())
    dist::kDuringAttr.set(op, during.getDictionary(op->getContext()));
}

void Cutter::fill(ActionIndex index) {
  const Action &action = getAction(index);
  Part &part = parts[index];
  builder.setInsertionPointToEnd(&part.func.getBody().front());
  for (Operation *op : action.ops) {
    for (Value operand : op->getOperands())
      part.mapping.map(operand, get(operand, index, op));
    Operation *clone = builder.clone(*op, part.mapping);
    if (action.kind == Action::Kind::Task)
      runOnStage(clone, action.task.stage);
    auto assign = dyn_cast<net::AssignOp>(op);
    if (!assign || actions.getKeeper(assign.getValue()) != assign)
      continue;
    // An operation after the last micro-batch reads the value in another action.
    if (llvm::any_of(assign.getValue().getUsers(), [&](Operation *user) { return actions.find(user) != index; }))
      takePlaceDuringLast(clone);
  }
  if (index != Actions::kUpdate)
    func::ReturnOp::create(builder, source.getLoc());
}

//===----------------------------------------------------------------------===//
// Values of other actions
//===----------------------------------------------------------------------===//

/// True if `reader` recomputes `op`, which has no action or belongs to another one.
bool Cutter::isRepeated(Operation *op, ActionIndex reader) const {
  std::optional<ActionIndex> action = actions.find(op);
  if (!action)
    return true;
  // Nothing is computed while something is sent.
  return Actions::isLayout(op) && !actions.getKeeper(op->getResult(0)) &&
         getAction(reader).kind != Action::Kind::Transfer;
}

/// The ranks among `on` that run the tasks of a stage.
DictionaryAttr Cutter::getOnStage(DictionaryAttr on, int64_t stage) {
  NamedAttribute ranks(pipeline.axis, builder.getDenseI64ArrayAttr(pipeline.order.rankOfStage[stage]));
  return dist::join(on, builder.getDictionaryAttr(ranks));
}

/// Restricts `op` to the ranks of its stage, even if others hold its operands.
void Cutter::runOnStage(Operation *op, int64_t stage) { dist::setOn(op, getOnStage(dist::getOn(op), stage)); }

/// The ranks that have `value`, which some action makes.
DictionaryAttr Cutter::getHolders(Value value) {
  std::optional<ActionIndex> maker = actions.find(value.getDefiningOp());
  bool isOfTask = maker && getAction(*maker).kind == Action::Kind::Task;
  return isOfTask ? getOnStage(dist::getOn(value), getAction(*maker).task.stage) : dist::getOn(value);
}

/// Copies ranks, role and segment from the operation that reads a clone, so that both can be one kernel.
void Cutter::describe(Operation *clone, ActionIndex reader, Operation *user) {
  if (isAlwaysAvailable(clone))
    return;
  if (getAction(reader).kind == Action::Kind::Task)
    runOnStage(clone, getAction(reader).task.stage);
  inherit(clone, user, Inherit::Reader);
}

/// Recomputes `op` in `reader`, together with every operand that is not stored in a variable.
void Cutter::repeat(Operation *op, ActionIndex reader, Operation *user) {
  IRMapping &mapping = parts[reader].mapping;
  SmallVector<Operation *> next{op};
  llvm::SmallSetVector<Operation *, 8> needed;
  while (!next.empty()) {
    Operation *current = next.pop_back_val();
    if (!needed.insert(current))
      continue;
    for (Value operand : current->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && !mapping.contains(operand) && actions.find(maker) != reader && isRepeated(maker, reader))
        next.push_back(maker);
  }
  auto ordered = needed.takeVector();
  llvm::sort(ordered, [&](Operation *left, Operation *right) { return positions[left] < positions[right]; });
  for (Operation *current : ordered) {
    for (Value operand : current->getOperands())
      mapping.map(operand, get(operand, reader, user));
    describe(builder.clone(*current, mapping), reader, user);
  }
}

/// Reads `value` in the variable that holds it.
Value Cutter::read(net::VariableOp variable, Value value, ActionIndex reader) {
  auto read = net::ReadOp::create(builder, value.getLoc(), value.getType(), FlatSymbolRefAttr::get(variable));
  dist::setOn(read, getHolders(value));
  parts[reader].mapping.map(value, read.getResult());
  return read.getResult();
}

/// `value`, which another action makes, by the variable that holds it between the two.
Value Cutter::readCrossing(Value value, ActionIndex reader) {
  ActionIndex maker = *actions.find(value.getDefiningOp());
  auto [known, isNew] = crossings.try_emplace(value);
  if (isNew)
    known->second = {createVariable(value), maker, {}, getHolders(value)};
  known->second.readers.insert(reader);
  return read(known->second.variable, value, reader);
}

/// `value` in the function of `reader`, which `user` is in.
Value Cutter::get(Value value, ActionIndex reader, Operation *user) {
  if (Value known = parts[reader].mapping.lookupOrNull(value))
    return known;
  Operation *maker = value.getDefiningOp();
  if (isRepeated(maker, reader)) {
    repeat(maker, reader, user);
    return parts[reader].mapping.lookup(value);
  }
  if (net::AssignOp keeper = actions.getKeeper(value))
    return read(symbols.lookup<net::VariableOp>(keeper.getVariable()), value, reader);
  return readCrossing(value, reader);
}

/// The name of the variable within the step that holds `value`.
static std::string getName(Value value) {
  Operation *op = value.getDefiningOp();
  // A sent value keeps its name.
  while (isa<dist::CollectiveOp>(op) && op->getOperand(0).getDefiningOp())
    op = op->getOperand(0).getDefiningOp();
  auto read = dyn_cast<net::ReadOp>(op);
  StringRef name = read ? read.getVariable() : net::getUserName(op);
  if (name.empty())
    if (auto scope = net::kScopeAttr.get(op))
      name = scope.getValue();
  return ("within/" + (name.empty() ? op->getName().stripDialect() : name)).str();
}

net::VariableOp Cutter::createVariable(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  dist::Placement placement;
  placement.dims.resize(type.getRank());
  if (DictionaryAttr on = getHolders(value))
    for (NamedAttribute entry : on)
      if (auto holders = cast<DenseI64ArrayAttr>(entry.getValue()); holders.size() == 1)
        placement.setHolder(*mesh.find(entry.getName()), holders[0]);
  OpBuilder outside(builder.getContext());
  auto variable = net::VariableOp::create(outside, value.getLoc(), net::VariableKind::Accumulator, getName(value), type,
                                          net::InitializerAttr(), FlatSymbolRefAttr());
  dist::kWithinStepAttr.set(variable, builder.getUnitAttr());
  dist::kMappingAttr.set(variable, placement.toAttr(builder.getContext(), mesh, type.getShape()));
  symbols.insert(variable, firstFunction->getIterator());
  return variable;
}

/// Lets what the update alone reads be made only at the accumulation steps at which it does: the reduction of a
/// gradient of a single micro-batch.
void Cutter::takePlaceWhenUpdated(net::AssignOp assign, Value value) {
  DictionaryAttr needed = times ? times->get(value.getDefiningOp()) : DictionaryAttr();
  if (!needed)
    return;
  if (std::optional<NamedAttribute> list = needed.getNamed(mesh.getName(*mesh.find(dist::AxisKind::Steps))))
    dist::kDuringAttr.set(assign, builder.getDictionaryAttr(*list));
}

/// Makers leave what others read in its variable.
void Cutter::keepCrossings() {
  for (auto &[value, crossing] : crossings) {
    Part &maker = parts[crossing.maker];
    builder.setInsertionPoint(maker.func.getBody().front().getTerminator());
    auto assign = net::AssignOp::create(builder, value.getLoc(), FlatSymbolRefAttr::get(crossing.variable),
                                        maker.mapping.lookup(value));
    dist::setOn(assign, crossing.on);
    if (crossing.readers.size() == 1 && crossing.readers.front() == Actions::kUpdate)
      takePlaceWhenUpdated(assign, value);
  }
}

SmallVector<Crossing> Cutter::run() {
  SmallVector<ActionIndex> filled;
  for (auto [index, action] : llvm::enumerate(actions.get()))
    if (index != Actions::kUpdate && !action.ops.empty())
      filled.push_back(index);
  filled.push_back(Actions::kUpdate);
  for (ActionIndex action : filled) {
    createFunction(action);
    if (!firstFunction)
      firstFunction = *module.getOps<func::FuncOp>().begin();
    fill(action);
  }
  keepCrossings();
  // The action at the beginning is done once; no slice is left to choose.
  for (Part &part : parts)
    if (part.func)
      part.func.walk([](Operation *op) { dist::kOnceAttr.remove(op); });
  return llvm::map_to_vector(crossings, [](auto &entry) { return entry.second; });
}

namespace {

struct CutTasksPass : schedule::impl::CutTasksPassBase<CutTasksPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<std::optional<PipelineAxis>> pipeline = PipelineAxis::find(module);
    if (failed(pipeline))
      return signalPassFailure();
    if (!*pipeline)
      return;
    dist::Mesh mesh = dist::findMesh(module).getMesh();
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (func.isExternal() || dist::kActionAttr.isOn(func))
        continue;
      if (auto loops = func.getBody().front().getOps<net::LoopOp>(); !loops.empty()) {
        net::LoopOp first = *loops.begin();
        first.emitOpError()
            << "has " << first.getCount()
            << " iterations where the actions of a pipeline are cut; loops have to be unrolled before that";
        return signalPassFailure();
      }
      FailureOr<Actions> actions = Actions::find(func, mesh, **pipeline);
      if (failed(actions))
        return signalPassFailure();
      std::optional<NeededTimes> times;
      if (mesh.find(dist::AxisKind::Steps)) {
        FailureOr<NeededTimes> found = NeededTimes::find(func, mesh);
        if (failed(found))
          return signalPassFailure();
        times = std::move(*found);
      }
      SmallVector<Crossing> crossings = Cutter(module, func, mesh, **pipeline, *actions, std::move(times)).run();
      numCrossings += crossings.size();
      addSchedules(module, **pipeline, *actions, crossings);
      func.erase();
    }
  }
};

} // namespace
