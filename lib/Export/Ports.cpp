//===- Ports.cpp - the arguments and results of a module ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step takes all variables and inputs, and returns its outputs and the variables that it assigns. An action of a
// pipeline takes what it reads. Names are those of the graph: arguments have the paths from which Import makes them.
//
//===----------------------------------------------------------------------===//

#include "Ports.h"
#include "meshwright/Import/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;
using namespace meshwright::dist;

static constexpr StringLiteral kCounter = "counter", kSlice = "slice", kInput = "input", kOutput = "output",
                               kValue = "value";

bool Port::isCounter() const { return time && kind == kCounter; }

Mesh Program::getRanks() const {
  SmallVector<std::string> names;
  SmallVector<int64_t> sizes;
  SmallVector<AxisKind> kinds;
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis) {
    names.push_back(mesh.getName(axis).str());
    sizes.push_back(stage && axis == stageAxis ? 1 : mesh.getSize(axis));
    kinds.push_back(mesh.getKind(axis));
  }
  return Mesh(names, sizes, kinds);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// `['h']` or `[3]` for every component of a dotted name.
static std::string getKeys(StringRef dotted) {
  std::string keys;
  while (!dotted.empty()) {
    auto [component, rest] = importer::splitComponent(dotted);
    std::string key;
    for (size_t index = 0; index < component.size(); ++index)
      key += component[index] == '\\' && index + 1 < component.size() ? component[++index] : component[index];
    bool isNumber = llvm::all_of(key, llvm::isDigit);
    keys += isNumber ? "[" + key + "]" : "['" + key + "']";
    dotted = rest;
  }
  return keys;
}

/// The path that an exporter wrote at `loc`, if it is the origin of `name`; else one from which Import makes it.
static std::string getPath(StringRef name, Location loc) {
  std::string path;
  loc->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (!named || importer::getDottedName(named.getName().getValue()) != name)
      return WalkResult::advance();
    path = named.getName().getValue().str();
    return WalkResult::interrupt();
  });
  if (!path.empty())
    return path;
  auto [root, rest] = importer::splitComponent(name);
  std::string made = root.str() + getKeys(rest);
  return importer::getDottedName(made) == name ? made : name.str();
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// The placement among the ranks that run the program.
FailureOr<Placement> Ports::getPlacement(Operation *op, RankedTensorType whole, MappingAttr mapping) const {
  if (!mapping)
    return Placement::replicated(whole.getRank());
  FailureOr<Placement> placement =
      Placement::resolve(mapping, program.mesh, whole.getShape(), [&] { return op->emitError(); });
  if (succeeded(placement) && program.stage)
    placement->erase(program.stageAxis);
  return placement;
}

LogicalResult Ports::add(SmallVectorImpl<Port> &ports, Operation *op, StringRef name, std::string path, Type local,
                         TypeAttr global, MappingAttr mapping, StringRef kind) {
  auto localType = cast<RankedTensorType>(local);
  auto whole = global ? cast<RankedTensorType>(global.getValue()) : localType;
  FailureOr<Placement> placement = getPlacement(op, whole, mapping);
  if (failed(placement))
    return failure();
  Port port{name.str(), std::move(path), Storage(*placement, mesh, whole), localType, kind};
  if (DictionaryAttr support = mapping && program.stage ? mapping.getSupport() : DictionaryAttr())
    if (auto holders = support.getAs<DenseI64ArrayAttr>(program.mesh.getName(program.stageAxis)))
      llvm::append_range(port.holders, holders.asArrayRef());
  ports.push_back(std::move(port));
  return success();
}

LogicalResult Ports::addVariable(SmallVectorImpl<Port> &ports, net::VariableOp variable) {
  StringRef name = variable.getSymName();
  if (kWithinStepAttr.isOn(variable) && !net::kGlobalTypeAttr.get(variable)) {
    // A value that passes between actions has no placement: every rank has a part of its own.
    auto type = cast<RankedTensorType>(variable.getTensorType());
    Placement placement = Placement::replicated(type.getRank());
    placement.partialAxes = llvm::to_vector<2>(llvm::seq<Axis>(0, mesh.getNumRankAxes()));
    ports.push_back({name.str(), name.str(), Storage(placement, mesh, type), type, kValue});
  } else if (failed(add(ports, variable, name, getPath(name, variable.getLoc()), variable.getType(),
                        net::kGlobalTypeAttr.get(variable), kMappingAttr.get(variable),
                        kWithinStepAttr.isOn(variable) ? StringRef(kValue)
                                                       : net::stringifyVariableKind(variable.getKind())))) {
    return failure();
  }
  ports.back().variable = variable;
  return success();
}

/// Adds the number of a time on `axis`.
void Ports::addNumber(Axis axis, StringRef kind) {
  auto number = RankedTensorType::get({}, IntegerType::get(program.func->getContext(), 32));
  std::string name = mesh.getName(axis).str();
  arguments.push_back({name, name, Storage(Placement::replicated(0), mesh, number), number, kind});
  arguments.back().time = axis;
}

/// True if an operation of the program reads the coordinate on `axis`.
bool Ports::readsTime(Axis axis) const {
  func::FuncOp func = program.func;
  StringRef name = mesh.getName(axis);
  return llvm::any_of(func.getBody().front(), [&](Operation &op) {
    auto coordinate = dyn_cast<CoordinateOp>(op);
    auto accumulate = dyn_cast<AccumulateOp>(op);
    return (coordinate && coordinate.getAxis() == name) || (accumulate && accumulate.getAxis() == name);
  });
}

LogicalResult Ports::find() {
  func::FuncOp func = program.func;
  Block &block = func.getBody().front();
  llvm::StringSet<> read, assigned;
  block.walk([&](net::AssignOp assign) { assigned.insert(assign.getVariable()); });
  block.walk([&](net::ReadOp op) { read.insert(op.getVariable()); });
  auto variables = llvm::to_vector(func->getParentOfType<ModuleOp>().getOps<net::VariableOp>());
  auto isTaken = [&](net::VariableOp variable) {
    return program.isAction ? read.contains(variable.getSymName()) : !kWithinStepAttr.isOn(variable);
  };
  llvm::DenseMap<Operation *, unsigned> taken;
  for (net::VariableOp variable : variables)
    if (isTaken(variable)) {
      taken[variable] = arguments.size();
      if (failed(addVariable(arguments, variable)))
        return failure();
    }
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (program.isAction && argument.use_empty())
      continue;
    StringAttr name = net::kNameAttr.getOfArgument(func, index);
    std::string text = name ? name.str() : "arg" + std::to_string(index);
    if (failed(add(arguments, func, text, getPath(text, argument.getLoc()), argument.getType(),
                   net::kGlobalTypeAttr.getOfArgument(func, index), kMappingAttr.getOfArgument(func, index), kInput)))
      return failure();
    arguments.back().index = index;
  }
  for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
    if (program.isAction && block.getTerminator()->getOperand(index).getDefiningOp<AbsentOp>())
      continue;
    StringAttr name = net::kNameAttr.getOfResult(func, index);
    std::string text = name ? name.str() : "out" + std::to_string(index);
    if (failed(add(results, func, text, text == "result" ? text : "result" + getKeys(text), type,
                   net::kGlobalTypeAttr.getOfResult(func, index), kMappingAttr.getOfResult(func, index), kOutput)))
      return failure();
    results.back().index = index;
  }
  if (std::optional<Axis> steps = mesh.find(AxisKind::Steps); steps && !program.isAction) {
    addNumber(*steps, kCounter);
    arguments.back().heir = results.size();
    results.push_back(arguments.back());
    results.back().path = "result" + getKeys(arguments.back().name);
  }
  if (std::optional<Axis> slices = mesh.find(AxisKind::Slices); slices && program.isAction && readsTime(*slices))
    addNumber(*slices, kSlice);
  for (net::VariableOp variable : variables) {
    if (!assigned.contains(variable.getSymName()) || (kWithinStepAttr.isOn(variable) && !program.isAction))
      continue;
    if (auto argument = taken.find(variable); argument != taken.end())
      arguments[argument->second].heir = results.size();
    if (failed(addVariable(results, variable)))
      return failure();
    results.back().path = "result" + getKeys(results.back().name);
  }
  return success();
}

/// The initial value of a variable; null where it has none.
static net::InitializerAttr getInit(const Port &port) {
  net::VariableOp variable = port.variable;
  return variable ? variable.getInitAttr() : net::InitializerAttr();
}

llvm::json::Object Ports::describe(ModuleForm form) const {
  auto describePort = [&](const Port &port) {
    llvm::json::Object object = port.storage.toJson(mesh);
    object["name"] = port.name;
    object["kind"] = port.kind;
    if (port.heir)
      object["result"] = *port.heir;
    if (net::InitializerAttr init = getInit(port); init && init.getKind() == net::InitializerKind::Constant)
      object["init"] = init.getA().getValueAsDouble();
    if (port.isCounter())
      object["init"] = 0;
    if (port.time)
      object["count"] = mesh.getSize(*port.time);
    if (!port.holders.empty() && !program.isAction)
      object["holders"] = llvm::json::Array(port.holders);
    return object;
  };
  llvm::json::Array axes, inputs, outputs;
  for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis)
    axes.push_back(llvm::json::Array{mesh.getName(axis).str(), mesh.getSize(axis)});
  for (const Port &port : arguments)
    inputs.push_back(describePort(port));
  for (const Port &port : results) {
    llvm::json::Object object = describePort(port);
    object.erase("result");
    outputs.push_back(std::move(object));
  }
  return llvm::json::Object{{"version", 1},
                            {"form", form == ModuleForm::Manual ? "manual" : "replicas"},
                            {"mesh", std::move(axes)},
                            {"arguments", std::move(inputs)},
                            {"results", std::move(outputs)}};
}

FailureOr<Ports> Ports::find(const Program &program) {
  Ports ports(program);
  if (failed(ports.find()))
    return failure();
  return std::move(ports);
}
