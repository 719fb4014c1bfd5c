//===- Stages.cpp - the stages of a pipeline ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What computes much, or with parameters, is of the stage of its block. The rest goes where least is sent: forward
// first, from lower to higher stages, then backward from higher to lower, to which the values of forward are given.
// Parameters follow from what reads them.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"
#include "StageCut.h"
#include "meshwright/Support/Bytes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::annotate;
using namespace meshwright::dist;

static int64_t getBytes(Value value) { return meshwright::getBytes(cast<RankedTensorType>(value.getType())); }

static std::string describe(Operation *op) {
  if (StringRef name = net::getUserName(op); !name.empty())
    return "\"" + name.str() + "\"";
  StringRef scope = getScope(op);
  return "\"" + (scope.empty() ? "" : scope.str() + "/") + op->getName().stripDialect().str() + "\"";
}

namespace {

/// Gives the operations of one step their stages.
class StageAnnotator {
public:
  StageAnnotator(const StageProgram &program, const StageCut &cut, int64_t numStages)
      : program(program), cut(cut), numStages(numStages) {
    forward.numStages = backward.numStages = numStages;
  }

  /// Emits an error at `loc` where values would have to flow to a lower stage, or a stage has nothing to compute.
  LogicalResult placeForward(Location loc);
  void placeBackward();
  /// For every variable the first stage that reads it.
  const llvm::MapVector<StringAttr, int64_t> &getStagesOfVariables() const { return stagesOfVariables; }

private:
  void buildForward();
  LogicalResult reportConflict(Location loc, const StageConflict &conflict) const;
  LogicalResult checkStages(Location loc) const;
  StageRange getRange(Operation *op) const;
  std::optional<int64_t> getPlace(Operation *op) const;
  unsigned addForward(Operation *op);
  unsigned addBackward(Operation *op);
  void findUpdate(Operation *gradient, int64_t stage);
  void findUpdates();
  void addUpdates();
  StageFlow::Value &getForwardValue(Value value);
  int64_t getStage(Operation *op) const { return cast<IntegerAttr>(op->getDiscardableAttr(kStageAttr)).getInt(); }
  void setStage(Operation *op, int64_t stage) {
    op->setDiscardableAttr(kStageAttr, IntegerAttr::get(IntegerType::get(op->getContext(), 64), stage));
  }
  void findGradients();
  int64_t countBackwardBytes(Value value) const;
  /// Stages in the order in which values of backward flow through them.
  int64_t turn(int64_t stage) const { return numStages - 1 - stage; }

  const StageProgram &program;
  const StageCut &cut;
  int64_t numStages;
  StageFlow forward, backward;
  llvm::DenseMap<Operation *, unsigned> forwardOps, backwardOps;
  /// The number of every value of a flow. All reads of a variable are one.
  llvm::DenseMap<Value, unsigned> forwardValues, backwardValues;
  llvm::MapVector<StringAttr, unsigned> variables;
  llvm::MapVector<StringAttr, int64_t> stagesOfVariables;
  llvm::DenseSet<Operation *> inBackward;
  /// What backward makes last of gradients, with the stages, turned, of their variables.
  llvm::MapVector<Operation *, int64_t> updates;
  /// Values of backward that are on their way to the update, with the bytes that they have there.
  llvm::DenseMap<Value, int64_t> gradients;
};

} // namespace

/// The one stage that the place of `op` says.
std::optional<int64_t> StageAnnotator::getPlace(Operation *op) const {
  auto place = cut.ofPlace.find(op);
  if (place == cut.ofPlace.end() || place->second.first != place->second.last)
    return std::nullopt;
  return place->second.first;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// The stages that an operation of forward may be of. What is light and reads no parameter may leave its place.
StageRange StageAnnotator::getRange(Operation *op) const {
  StageRange range = {0, numStages - 1};
  auto narrow = [&](const llvm::DenseMap<Operation *, StageRange> &ranges) {
    if (auto found = ranges.find(op); found != ranges.end())
      range = {std::max(range.first, found->second.first), std::min(range.last, found->second.last)};
  };
  bool isLight = !isHeavy(op) && (program.isOfVariables(op) || program.getReads(op).empty());
  if (!isLight)
    narrow(cut.ofPlace);
  narrow(cut.ofEnd);
  return range;
}

/// The number of `op`; that of its variable, if it is a read.
unsigned StageAnnotator::addForward(Operation *op) {
  auto add = [&](StageRange range, std::optional<int64_t> preferred) {
    forward.ops.push_back({range, preferred});
    return static_cast<unsigned>(forward.ops.size()) - 1;
  };
  auto read = dyn_cast<net::ReadOp>(op);
  if (!read)
    return add(getRange(op), getPlace(op));
  auto [variable, isNew] = variables.insert({read.getVariableAttr().getAttr(), 0});
  if (isNew)
    variable->second = add({0, numStages - 1}, std::nullopt);
  return variable->second;
}

/// Adds the operations of forward and the values between them.
void StageAnnotator::buildForward() {
  llvm::DenseMap<unsigned, unsigned> valueOfVariable;
  for (Operation *op : program.forward) {
    unsigned number = forwardOps[op] = addForward(op);
    for (Value operand : llvm::SmallSetVector<Value, 4>(op->operand_begin(), op->operand_end()))
      if (auto value = forwardValues.find(operand); value != forwardValues.end())
        if (auto &readers = forward.values[value->second].readers; !llvm::is_contained(readers, number))
          readers.push_back(number);
    for (Value result : op->getResults()) {
      unsigned next = forward.values.size();
      unsigned value = isa<net::ReadOp>(op) ? valueOfVariable.try_emplace(number, next).first->second : next;
      if (value == next)
        forward.values.push_back({getBytes(result), number, {0, 0}, {}});
      forwardValues[result] = value;
    }
  }
}

LogicalResult StageAnnotator::reportConflict(Location loc, const StageConflict &conflict) const {
  auto find = [&](unsigned number) {
    return *llvm::find_if(program.forward, [&](Operation *op) { return forwardOps.lookup(op) == number; });
  };
  Operation *earlier = find(conflict.earlier), *op = find(conflict.op);
  InFlightDiagnostic error = emitError(loc) << "does not cut the network: ";
  if (earlier == op)
    error << describe(op) << " is to be of stage " << conflict.first << " or later and of stage " << conflict.last
          << " or earlier";
  else
    error << describe(earlier) << " of stage " << conflict.first << " is needed for " << describe(op) << " of stage "
          << conflict.last;
  if (earlier != op)
    error.attachNote(earlier->getLoc()) << "of stage " << conflict.first;
  error.attachNote(op->getLoc()) << "of stage " << conflict.last;
  return failure();
}

/// Checks that every stage has something to compute.
LogicalResult StageAnnotator::checkStages(Location loc) const {
  SmallVector<bool> used(numStages, false);
  for (Operation *op : program.forward)
    if (!program.isOfVariables(op))
      used[getStage(op)] = true;
  for (auto [stage, isUsed] : llvm::enumerate(used))
    if (!isUsed)
      return emitError(loc) << "leaves stage " << stage << " of " << numStages
                            << " without any operation that computes with variables and inputs";
  return success();
}

LogicalResult StageAnnotator::placeForward(Location loc) {
  buildForward();
  if (auto conflict = narrowRanges(forward))
    return reportConflict(loc, *conflict);
  SmallVector<int64_t, 0> stages = assignStages(forward);
  for (Operation *op : program.forward)
    setStage(op, stages[forwardOps[op]]);
  for (auto [name, number] : variables)
    stagesOfVariables[name] = stages[number];
  return checkStages(loc);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// A gradient is added up over the micro-batches where it is made, and sent once, in the type in which the update reads
/// it. So every step on its way counts as much as the last.
void StageAnnotator::findGradients() {
  for (Operation *op : llvm::reverse(program.backward))
    for (Value value : op->getResults()) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
      int64_t bytes = getBytes(value);
      bool isGradient = !value.use_empty();
      for (Operation *user : value.getUsers()) {
        if (!inBackward.contains(user))
          continue;
        auto after = gradients.find(user->getResult(0));
        isGradient &= after != gradients.end() && cast<RankedTensorType>(after->first.getType()).getShape() == shape;
        bytes = isGradient ? std::max(bytes, after->second) : bytes;
      }
      if (isGradient)
        gradients[value] = bytes;
    }
}

int64_t StageAnnotator::countBackwardBytes(Value value) const {
  auto gradient = gradients.find(value);
  return gradient == gradients.end() ? getBytes(value) : gradient->second;
}

/// A value of forward, as backward sees it: it is in all stages from the one that makes it to the last that reads it.
StageFlow::Value &StageAnnotator::getForwardValue(Value value) {
  auto [entry, isNew] = backwardValues.try_emplace(value, backward.values.size());
  if (isNew) {
    int64_t first = getStage(value.getDefiningOp()), last = first;
    for (Operation *user : value.getUsers())
      if (forwardOps.contains(user))
        last = std::max(last, getStage(user));
    backward.values.push_back({getBytes(value), std::nullopt, {turn(last), turn(first)}, {}});
  }
  return backward.values[entry->second];
}

/// An operation of backward prefers its place, or else the stage that forward reads its operands in, that of the
/// variable whose gradient it makes, or that of its cotangents. What is heavy is there, unless a cotangent comes later.
unsigned StageAnnotator::addBackward(Operation *op) {
  unsigned number = backward.ops.size();
  StageRange range = {0, numStages - 1};
  std::optional<int64_t> read;
  for (Value operand : llvm::SmallSetVector<Value, 4>(op->operand_begin(), op->operand_end())) {
    if (Operation *maker = operand.getDefiningOp(); maker && forwardOps.contains(maker)) {
      StageFlow::Value &value = getForwardValue(operand);
      value.readers.push_back(number);
      read = std::min(read.value_or(numStages), value.range.first);
    } else if (auto known = backwardValues.find(operand); known != backwardValues.end()) {
      StageFlow::Value &value = backward.values[known->second];
      value.readers.push_back(number);
      range.first = std::max(range.first, backward.ops[*value.producer].range.first);
    }
  }
  std::optional<int64_t> place = getPlace(op) ? turn(*getPlace(op)) : read;
  if (auto update = updates.find(op); !place && update != updates.end())
    place = update->second;
  if (isHeavy(op) && place)
    range.first = range.last = std::max(range.first, *place);
  backward.ops.push_back({range, place.value_or(0)});
  return number;
}

/// Finds what backward makes of the gradient of a variable of `stage`, which `gradient` is or is made of.
void StageAnnotator::findUpdate(Operation *gradient, int64_t stage) {
  llvm::SmallSetVector<Operation *, 8> reached;
  reached.insert(gradient);
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *op = reached[next];
    if (inBackward.contains(op)) {
      updates[op] = turn(stage);
      continue;
    }
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && !forwardOps.contains(maker))
        reached.insert(maker);
  }
}

void StageAnnotator::findUpdates() {
  for (Operation &op : program.func.getBody().front()) {
    StringRef name = net::getUserName(&op);
    if (op.getNumResults() == 0 || !name.consume_front(net::kGradientPrefix))
      continue;
    auto stage = stagesOfVariables.find(StringAttr::get(op.getContext(), name));
    if (stage != stagesOfVariables.end())
      findUpdate(&op, stage->second);
  }
}

/// The update of a variable reads its gradient where the variable is.
void StageAnnotator::addUpdates() {
  for (auto [maker, stage] : updates) {
    StageFlow::Value &value = backward.values[backwardValues[maker->getResult(0)]];
    int64_t first = std::max(stage, backward.ops[*value.producer].range.first);
    value.readers.push_back(backward.ops.size());
    backward.ops.push_back({{first, first}, std::nullopt});
  }
}

void StageAnnotator::placeBackward() {
  inBackward.insert(program.backward.begin(), program.backward.end());
  findGradients();
  findUpdates();
  for (Operation *op : program.backward) {
    unsigned number = backwardOps[op] = addBackward(op);
    for (Value result : op->getResults()) {
      backwardValues[result] = backward.values.size();
      backward.values.push_back({countBackwardBytes(result), number, {0, 0}, {}});
    }
  }
  addUpdates();
  // No operation has to be before what makes its operands, so that nothing is in conflict.
  narrowRanges(backward);
  SmallVector<int64_t, 0> stages = assignStages(backward);
  for (Operation *op : program.backward)
    setStage(op, turn(stages[backwardOps[op]]));
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// Keeps every variable on the coordinate of its stage.
static void placeVariables(ModuleOp module, const llvm::MapVector<StringAttr, int64_t> &stages,
                           const schedule::TaskOrder &order, StringRef axis) {
  MLIRContext *context = module.getContext();
  for (auto variable : module.getOps<net::VariableOp>()) {
    auto stage = stages.find(variable.getSymNameAttr());
    if (stage == stages.end())
      continue;
    auto kept = variable->getAttrOfType<MappingAttr>(kMappingAttr);
    SmallVector<Attribute> dims(variable.getTensorType().getRank(), ArrayAttr::get(context, {}));
    auto support = DictionaryAttr::get(
        context, NamedAttribute(StringAttr::get(context, axis),
                                DenseI64ArrayAttr::get(context, {order.rankOfStage[stage->second]})));
    variable->setAttr(kMappingAttr, MappingAttr::get(context, kept ? kept.getDims() : ArrayAttr::get(context, dims),
                                                     ReduceKind::Sum, ArrayAttr::get(context, {}), support));
  }
}

LogicalResult annotate::annotateStages(ModuleOp module, const strategy::StrategyFile &file) {
  StringRef axis = file.getStageAxis();
  if (axis.empty())
    return success();
  MLIRContext *context = module.getContext();
  FailureOr<schedule::TaskOrder> order = file.makeTaskOrder(context);
  if (failed(order))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  schedule::writeCsv(*order, stream);
  MeshOp mesh = findMesh(module);
  mesh->setAttr(kStageAxisAttr, StringAttr::get(context, axis));
  mesh->setAttr(kTaskOrderAttr, StringAttr::get(context, text));
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    StageProgram program(func);
    FailureOr<StageCut> cut = findCut(program, file, *order);
    if (failed(cut))
      return failure();
    StageAnnotator annotator(program, *cut, order->getNumStages());
    if (failed(annotator.placeForward(file.getLoc(context, "pipeline.stages"))))
      return failure();
    annotator.placeBackward();
    placeVariables(module, annotator.getStagesOfVariables(), *order, axis);
  }
  return success();
}
