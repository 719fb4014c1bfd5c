//===- Pipeline.cpp - the actions of a pipeline as modules ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks at one coordinate of the axis of stages, a *stage group*, run one module per action of their stages, over
// the other axes. What passes from one action to another is an argument or a result, in which every rank has a part of
// its own. A send is no module but a copy of an array from one stage group to another. Other collectives between stage
// groups, which the update has, are modules for all ranks. Accumulation steps that differ have actions of their own.
//
//===----------------------------------------------------------------------===//

#include "Pipeline.h"
#include "Exchanges.h"
#include "Ports.h"
#include "Steps.h"
#include "dialects/Common/Traits.h"
#include "dialects/Dist/Support.h"
#include "meshwright/Support/Programs.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;
using namespace meshwright::dist;

namespace {

class PipelineWriter {
public:
  PipelineWriter(ModuleOp module, MeshOp meshOp, ModuleForm form)
      : module(module), mesh(meshOp.getMesh()), axisName(kStageAxisAttr.get(meshOp).getValue()),
        axis(*mesh.find(axisName)), form(form) {}

  FailureOr<Exported> run();

private:
  LogicalResult divide();
  /// True if the ranks at `coordinate` of the axis of stages are among `on`.
  bool isAt(DictionaryAttr on, int64_t coordinate) const { return covers(on, axisName, coordinate); }
  CollectiveOp findSend(func::FuncOp func) const;
  void storeSentLikeSources();
  bool isReturned(func::FuncOp func, unsigned index, int64_t coordinate) const;
  FailureOr<llvm::SetVector<Operation *>> findNeeded(func::FuncOp source, int64_t coordinate) const;
  FailureOr<func::FuncOp> specialize(func::FuncOp source, int64_t coordinate);
  LogicalResult writeAction(const StepAction &action);
  LogicalResult addModule(llvm::json::Object &entry, StringRef key, const Program &program, StringRef name);
  llvm::json::Array describeOrder();
  FailureOr<llvm::json::Object> describe();

  ModuleOp module;
  Mesh mesh;
  StringRef axisName;
  Axis axis;
  ModuleForm form;
  /// The actions in the order of the program, and the parts of those that were divided, by the name of the whole.
  SmallVector<StepAction> actions;
  llvm::StringMap<SmallVector<func::FuncOp>> parts;
  llvm::json::Array entries;
  Exported exported;
  /// The names of modules by their texts.
  llvm::StringMap<std::string> names;
};

} // namespace

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static std::string getAction(func::FuncOp func) { return kActionAttr.get(func).str(); }

/// The send of an action that does nothing else; null if it does more.
CollectiveOp PipelineWriter::findSend(func::FuncOp func) const {
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front())
    ops.push_back(&op);
  if (ops.size() != 4 || !isa<net::ReadOp>(ops[0]) || !isa<net::AssignOp>(ops[2]))
    return {};
  auto send = dyn_cast<CollectiveOp>(ops[1]);
  bool isAlone = send && send.getKind() == CollectiveKind::Send && send.getNumParts() == 1 &&
                 send.getAxes().size() == 1 && isExchange(send, axisName);
  return isAlone ? send : CollectiveOp();
}

/// Divides the actions that differ between accumulation steps, and those that exchange values with other stage groups
/// beside what they compute.
LogicalResult PipelineWriter::divide() {
  for (auto func : llvm::to_vector(module.getOps<func::FuncOp>())) {
    SmallVector<func::FuncOp> &made = parts[getAction(func)];
    FailureOr<SmallVector<StepAction>> divided = divideBySteps(func, mesh);
    if (failed(divided))
      return failure();
    for (const StepAction &action : *divided) {
      func::FuncOp whole = action.func;
      bool exchanges = llvm::any_of(whole.getBody().front(), [&](Operation &op) { return isExchange(&op, axisName); });
      SmallVector<func::FuncOp> funcs{whole};
      if (exchanges && !findSend(whole))
        funcs = splitAtExchanges(whole, axisName);
      for (func::FuncOp part : funcs)
        actions.push_back({part, action.steps});
      made.append(funcs);
    }
  }
  return success();
}

/// A variable that is sent as it is keeps its storage.
void PipelineWriter::storeSentLikeSources() {
  SymbolTable symbols(module);
  // A value is sent on at most once per stage group.
  for (int64_t pass = 0; pass < mesh.getSize(axis); ++pass)
    for (const StepAction &action : actions) {
      func::FuncOp func = action.func;
      if (!findSend(func))
        continue;
      auto source = symbols.lookup<net::VariableOp>((*func.getOps<net::ReadOp>().begin()).getVariable());
      auto target = symbols.lookup<net::VariableOp>((*func.getOps<net::AssignOp>().begin()).getVariable());
      if (TypeAttr whole = net::kGlobalTypeAttr.get(source)) {
        net::kGlobalTypeAttr.set(target, whole);
        kMappingAttr.set(target, kMappingAttr.get(source));
      }
    }
}

/// True if the ranks at `coordinate` return the result of `func` with that number.
bool PipelineWriter::isReturned(func::FuncOp func, unsigned index, int64_t coordinate) const {
  MappingAttr mapping = kMappingAttr.getOfResult(func, index);
  return !mapping || isAt(mapping.getSupport(), coordinate);
}

/// The operations of `source` that the ranks at `coordinate` need, the last one first; none if they assign and return
/// nothing.
FailureOr<llvm::SetVector<Operation *>> PipelineWriter::findNeeded(func::FuncOp source, int64_t coordinate) const {
  llvm::DenseSet<Value> live;
  llvm::SetVector<Operation *> needed;
  bool isIdle = true;
  for (Operation &op : llvm::reverse(source.getBody().front())) {
    bool isRoot = isa<net::AssignOp, func::ReturnOp>(op);
    if (!isAt(getOn(&op), coordinate) ||
        (!isRoot && llvm::none_of(op.getResults(), [&](Value result) { return live.contains(result); })))
      continue;
    needed.insert(&op);
    isIdle &= !isa<net::AssignOp>(op);
    auto either = dyn_cast<EitherOp>(op);
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      if (isa<func::ReturnOp>(op)) {
        if (!isReturned(source, index, coordinate))
          continue;
        isIdle = false;
      }
      bool isHere = isAt(getOn(operand), coordinate);
      // Ranks that hold the first value may lack the other one.
      if (bool holds = either && isAt(either.getHolders(), coordinate);
          either && (index == 0 ? !holds : holds && !isHere))
        continue;
      if (!isHere)
        return op.emitOpError() << "reads at coordinate " << coordinate << " of axis \"" << axisName
                                << "\" a value that only " << getOn(operand) << " has";
      live.insert(operand);
    }
  }
  return isIdle ? llvm::SetVector<Operation *>() : needed;
}

/// A function of the operations of `source` that the ranks at `coordinate` need; null if there are none.
FailureOr<func::FuncOp> PipelineWriter::specialize(func::FuncOp source, int64_t coordinate) {
  FailureOr<llvm::SetVector<Operation *>> needed = findNeeded(source, coordinate);
  if (failed(needed))
    return failure();
  if (needed->empty())
    return func::FuncOp();
  IRMapping mapping;
  func::FuncOp func = cloneSignature(source, mapping);
  SymbolTable(module).insert(func);
  auto builder = OpBuilder::atBlockEnd(&func.getBody().front());
  for (Operation *op : llvm::reverse(*needed)) {
    if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      SmallVector<Value> values;
      for (auto [index, operand] : llvm::enumerate(ret.getOperands()))
        values.push_back(isReturned(source, index, coordinate)
                             ? mapping.lookup(operand)
                             : AbsentOp::create(builder, ret.getLoc(), operand.getType()).getResult());
      func::ReturnOp::create(builder, ret.getLoc(), values);
      continue;
    }
    auto either = dyn_cast<EitherOp>(op);
    bool holds = either && isAt(either.getHolders(), coordinate);
    if (either && !(holds && mapping.contains(either.getOther())))
      mapping.map(either.getResult(), mapping.lookup(holds ? either.getHeld() : either.getOther()));
    else
      builder.clone(*op, mapping);
  }
  return func;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// Writes a module, or finds an equal one, and states its name as `key` of `entry`.
LogicalResult PipelineWriter::addModule(llvm::json::Object &entry, StringRef key, const Program &program,
                                        StringRef name) {
  FailureOr<std::string> text = writeProgram(program, form);
  if (failed(text))
    return failure();
  auto [known, isNew] = names.try_emplace(*text, name.str());
  if (isNew)
    exported.modules.push_back({name.str(), std::move(*text)});
  entry[llvm::json::ObjectKey(key.str())] = known->second;
  return success();
}

LogicalResult PipelineWriter::writeAction(const StepAction &action) {
  func::FuncOp func = action.func;
  std::string name = getAction(func);
  llvm::json::Object entry{{"name", name}};
  if (!action.steps.empty())
    entry["steps"] = llvm::json::Array(action.steps);
  if (CollectiveOp send = findSend(func)) {
    entry["from"] = send.getRoots()->front();
    entry["to"] = static_cast<int64_t>(*send.getTo());
    entry["takes"] = (*func.getOps<net::ReadOp>().begin()).getVariable();
    entry["gives"] = (*func.getOps<net::AssignOp>().begin()).getVariable();
  } else if (llvm::any_of(func.getBody().front(), [&](Operation &op) { return isExchange(&op, axisName); })) {
    Program program{func, mesh, name, /*isAction=*/true};
    if (failed(addModule(entry, "module", program, name)))
      return failure();
  } else {
    llvm::json::Object modules;
    for (int64_t coordinate = 0; coordinate < mesh.getSize(axis); ++coordinate) {
      FailureOr<func::FuncOp> own = specialize(func, coordinate);
      if (failed(own))
        return failure();
      if (!*own)
        continue;
      std::string place = std::to_string(coordinate);
      Program program{*own, mesh, name, /*isAction=*/true, axis, coordinate};
      LogicalResult isWritten = addModule(modules, place, program, name + "." + axisName.str() + place);
      own->erase();
      if (failed(isWritten))
        return failure();
    }
    entry["modules"] = std::move(modules);
  }
  entries.push_back(std::move(entry));
  return success();
}

/// The actions of every stage group in their order, each with its micro-batch, and the waits for sends.
llvm::json::Array PipelineWriter::describeOrder() {
  SmallVector<llvm::json::Array> rows(mesh.getSize(axis));
  for (auto schedule : module.getOps<ScheduleOp>()) {
    auto on = schedule.getOn().getAs<DenseI64ArrayAttr>(axisName);
    llvm::json::Array row;
    for (unsigned index = 0; index < schedule.getNumItems(); ++index) {
      ScheduleOp::Item item = schedule.getItem(index);
      for (func::FuncOp part : parts.lookup(cast<StringAttr>(schedule.getActions()[item.action]).getValue())) {
        llvm::json::Array entry{getAction(part), item.microBatch};
        if (item.isWait)
          entry.push_back("wait");
        row.push_back(std::move(entry));
      }
    }
    for (int64_t coordinate : on.asArrayRef())
      rows[coordinate] = row;
  }
  llvm::json::Array all;
  for (llvm::json::Array &row : rows)
    all.push_back(std::move(row));
  return all;
}

/// The values of the step and the order of its actions.
FailureOr<llvm::json::Object> PipelineWriter::describe() {
  // The update is the last one, and returns the results of the step.
  FailureOr<Ports> ports = Ports::find({actions.back().func, mesh, "", /*isAction=*/false, axis, 0});
  if (failed(ports))
    return failure();
  llvm::json::Object values = ports->describe(form);
  llvm::json::Array axes, outputs;
  for (Axis rankAxis = 0; rankAxis < mesh.getNumRankAxes(); ++rankAxis)
    axes.push_back(llvm::json::Array{mesh.getName(rankAxis).str(), mesh.getSize(rankAxis)});
  for (llvm::json::Value &argument : *values.getArray("arguments"))
    argument.getAsObject()->erase("result");
  for (llvm::json::Value &result : *values.getArray("results"))
    if (result.getAsObject()->getString("kind") == "output")
      outputs.push_back(std::move(result));
  llvm::json::Object slots;
  for (auto variable : module.getOps<net::VariableOp>())
    if (IntegerAttr number = kSlotsAttr.get(variable))
      slots[llvm::json::ObjectKey(variable.getSymName().str())] = number.getInt();
  std::optional<Axis> slices = mesh.find(AxisKind::Slices), steps = mesh.find(AxisKind::Steps);
  return llvm::json::Object{{"version", 1},
                            {"form", "pipeline"},
                            {"mesh", std::move(axes)},
                            {"stages", axisName},
                            {"slices", slices ? mesh.getSize(*slices) : 1},
                            {"steps", steps ? mesh.getSize(*steps) : 1},
                            {"arguments", std::move(*values.get("arguments"))},
                            {"results", std::move(outputs)},
                            {"slots", std::move(slots)},
                            {"actions", std::move(entries)},
                            {"order", describeOrder()}};
}

FailureOr<Exported> PipelineWriter::run() {
  if (failed(divide()))
    return failure();
  storeSentLikeSources();
  for (const StepAction &action : actions)
    if (failed(writeAction(action)))
      return failure();
  FailureOr<llvm::json::Object> list = describe();
  if (failed(list))
    return failure();
  llvm::raw_string_ostream(exported.text) << llvm::json::Value(std::move(*list)) << "\n";
  return std::move(exported);
}

FailureOr<Exported> exporter::writePipeline(ModuleOp module, ModuleForm form) {
  return PipelineWriter(module, findMesh(module), form).run();
}
