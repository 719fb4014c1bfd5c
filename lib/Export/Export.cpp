//===- Export.cpp - a partitioned program as StableHLO --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables become arguments and results: a step takes the state and returns the next one. In the manual form arguments
// and results are whole arrays with a sharding, and the program of a rank is the body of one manual region over all
// axes; between the two stand reshapes from the part of an array to the local shape. In the form of replicas arguments
// and results are the parts.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Export.h"
#include "Body.h"
#include "Forms.h"
#include "Storage.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Support.h"
#include "meshwright/Import/Names.h"
#include "meshwright/Overlap/Passes.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;
using namespace meshwright::dist;

std::optional<ModuleForm> exporter::parseModuleForm(StringRef name) {
  return llvm::StringSwitch<std::optional<ModuleForm>>(name)
      .Case("manual", ModuleForm::Manual)
      .Case("replicas", ModuleForm::Replicas)
      .Default(std::nullopt);
}

static constexpr StringLiteral kCounter = "counter";

namespace {

/// An argument or a result of the exported step.
struct Port {
  /// The dotted name, and the path from which Import makes it.
  std::string name, path;
  Storage storage;
  RankedTensorType local;
  /// The variable, or null for an input or an output.
  net::VariableOp variable;
  /// The purpose: `parameter`, `input`, `output`, ….
  StringRef kind;
  /// The number of the result that takes the memory of this argument.
  std::optional<unsigned> heir;

  /// True for the number of the step, of those whose gradients become one update.
  bool isCounter() const { return !variable && kind == kCounter; }
  /// The type in the signature.
  RankedTensorType getType(ModuleForm form, const Mesh &mesh) const {
    return form == ModuleForm::Manual ? storage.getGlobal() : storage.getLocal(mesh);
  }
};

/// Writes one step.
class Exporter {
public:
  Exporter(ModuleOp module, ModuleForm form) : module(module), form(form) {
    if (MeshOp op = findMesh(module))
      mesh = op.getMesh();
  }

  FailureOr<std::string> write();

private:
  LogicalResult findPorts(func::FuncOp func);
  LogicalResult addPort(SmallVectorImpl<Port> &ports, Operation *op, StringRef name, std::string path, Type local,
                        TypeAttr global, MappingAttr mapping, StringRef kind, net::VariableOp variable = {});
  bool isDistributed() const { return form == ModuleForm::Manual && mesh.getNumRanks() > 1; }
  std::string getSharding(const Port &port) const { return "<@mesh, " + port.storage.describeDims(mesh) + ">"; }
  LogicalResult writeBody(func::FuncOp func, Writer &writer, ArrayRef<Term> parts, SmallVectorImpl<Term> &results);
  bool isDuring(DictionaryAttr during, bool atLast) const;
  LogicalResult writeSteps(func::FuncOp func, Writer &writer, Term step, llvm::function_ref<Term(unsigned, bool)> write,
                           SmallVectorImpl<Term> &written);
  void writeSignature(Writer &writer, ArrayRef<Term> arguments);
  std::string describePorts() const;

  ModuleOp module;
  ModuleForm form;
  Mesh mesh;
  SmallVector<Port, 0> arguments, results;
};

} // namespace

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

LogicalResult Exporter::addPort(SmallVectorImpl<Port> &ports, Operation *op, StringRef name, std::string path,
                                Type local, TypeAttr global, MappingAttr mapping, StringRef kind,
                                net::VariableOp variable) {
  auto localType = cast<RankedTensorType>(local);
  auto whole = global ? cast<RankedTensorType>(global.getValue()) : localType;
  Placement placement = Placement::replicated(whole.getRank());
  if (mapping) {
    FailureOr<Placement> resolved =
        Placement::resolve(mapping, mesh, whole.getShape(), [&] { return op->emitError(); });
    if (failed(resolved))
      return failure();
    placement = *resolved;
  }
  ports.push_back({name.str(), std::move(path), Storage(placement, mesh, whole), localType, variable, kind, {}});
  return success();
}

LogicalResult Exporter::findPorts(func::FuncOp func) {
  llvm::StringSet<> assigned;
  func.walk([&](net::AssignOp assign) { assigned.insert(assign.getVariable()); });
  for (auto variable : module.getOps<net::VariableOp>())
    if (failed(addPort(arguments, variable, variable.getSymName(), getPath(variable.getSymName(), variable.getLoc()),
                       variable.getType(), net::kGlobalTypeAttr.get(variable), kMappingAttr.get(variable),
                       net::stringifyVariableKind(variable.getKind()), variable)))
      return failure();
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringAttr name = net::kNameAttr.getOfArgument(func, index);
    std::string text = name ? name.str() : "arg" + std::to_string(index);
    if (failed(addPort(arguments, func, text, getPath(text, argument.getLoc()), argument.getType(),
                       net::kGlobalTypeAttr.getOfArgument(func, index), kMappingAttr.getOfArgument(func, index),
                       "input")))
      return failure();
  }
  for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
    StringAttr name = net::kNameAttr.getOfResult(func, index);
    std::string text = name ? name.str() : "out" + std::to_string(index);
    if (failed(addPort(results, func, text, text == "result" ? text : "result" + getKeys(text), type,
                       net::kGlobalTypeAttr.getOfResult(func, index), kMappingAttr.getOfResult(func, index), "output")))
      return failure();
  }
  if (std::optional<Axis> steps = mesh.find(AxisKind::Steps)) {
    auto number = RankedTensorType::get({}, IntegerType::get(module.getContext(), 32));
    std::string name = mesh.getName(*steps).str();
    arguments.push_back(
        {name, name, Storage(Placement::replicated(0), mesh, number), number, {}, kCounter, results.size()});
    results.push_back(arguments.back());
    results.back().path = "result" + getKeys(name);
  }
  for (Port &argument : arguments)
    if (argument.variable && assigned.contains(argument.name)) {
      argument.heir = results.size();
      results.push_back(argument);
      results.back().path = "result" + getKeys(argument.name);
    }
  return success();
}

std::string Exporter::describePorts() const {
  auto describe = [&](Port port) {
    llvm::json::Object object = port.storage.toJson(mesh);
    object["name"] = port.name;
    object["kind"] = port.kind;
    if (port.heir)
      object["result"] = *port.heir;
    if (net::InitializerAttr init = port.variable ? port.variable.getInitAttr() : net::InitializerAttr();
        init && init.getKind() == net::InitializerKind::Constant)
      object["init"] = init.getA().getValueAsDouble();
    if (port.isCounter())
      object["init"] = 0;
    return object;
  };
  llvm::json::Array axes, inputs, outputs;
  for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis)
    axes.push_back(llvm::json::Array{mesh.getName(axis), mesh.getSize(axis)});
  for (const Port &port : arguments)
    inputs.push_back(describe(port));
  for (const Port &port : results) {
    llvm::json::Object object = describe(port);
    object.erase("result");
    outputs.push_back(std::move(object));
  }
  llvm::json::Object all{{"version", 1},
                         {"form", form == ModuleForm::Manual ? "manual" : "replicas"},
                         {"mesh", std::move(axes)},
                         {"arguments", std::move(inputs)},
                         {"results", std::move(outputs)}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(all));
  return text;
}

//===----------------------------------------------------------------------===//
// The text
//===----------------------------------------------------------------------===//

void Exporter::writeSignature(Writer &writer, ArrayRef<Term> terms) {
  llvm::raw_ostream &out = writer.line();
  out << "func.func public @main(\n";
  for (auto [index, port, term] : llvm::enumerate(arguments, terms)) {
    SmallVector<std::string> attributes;
    if (isDistributed())
      attributes.push_back("sdy.sharding = #sdy.sharding" + getSharding(port));
    if (port.heir)
      attributes.push_back("tf.aliasing_output = " + std::to_string(*port.heir) + " : i32");
    writer.line() << "    " << term.name << ": " << term.type;
    if (!attributes.empty())
      out << " {" << llvm::join(attributes, ", ") << "}";
    out << " loc(\"";
    llvm::printEscapedString(port.path, out);
    out << "\")" << (index + 1 == arguments.size() ? "" : ",") << "\n";
  }
  writer.line() << ") -> (\n";
  for (auto [index, port] : llvm::enumerate(results)) {
    writer.line() << "    " << port.getType(form, mesh) << " {jax.result_info = \"";
    llvm::printEscapedString(port.path, out);
    out << "\"";
    if (isDistributed())
      out << ", sdy.sharding = #sdy.sharding" << getSharding(port);
    out << "}" << (index + 1 == results.size() ? "" : ",") << "\n";
  }
  writer.line() << ") {\n";
}

/// The axes of ranks whose coordinates operations of `block` read.
static SmallVector<Axis> findCoordinates(Block &block, const Mesh &mesh) {
  llvm::SmallSetVector<Axis, 4> axes;
  block.walk([&](Operation *op) {
    if (auto coordinate = dyn_cast<CoordinateOp>(op))
      axes.insert(*mesh.find(coordinate.getAxis()));
    if (auto either = dyn_cast<EitherOp>(op))
      for (NamedAttribute holder : either.getHolders())
        axes.insert(*mesh.find(holder.getName().getValue()));
  });
  SmallVector<Axis> sorted = axes.takeVector();
  llvm::sort(sorted);
  return sorted;
}

/// The times at which `assign` takes place; null for all.
static DictionaryAttr getTimes(net::AssignOp assign) {
  DictionaryAttr during = kDuringAttr.get(assign);
  auto when = dyn_cast<WhenOp>(assign->getParentOp());
  return when ? join(during, when.getTimes()) : during;
}

/// Writes the program of a rank: `parts` are the parts of the arguments, and so are `written` of the results.
LogicalResult Exporter::writeBody(func::FuncOp func, Writer &writer, ArrayRef<Term> parts,
                                  SmallVectorImpl<Term> &written) {
  Block &block = func.getBody().front();
  writer.writeCoordinates(findCoordinates(block, mesh), module.getContext());
  llvm::StringMap<Term> variables;
  Term step;
  unsigned numInputs = 0;
  for (auto [port, part] : llvm::zip_equal(arguments, parts)) {
    Term value = writer.reshape(part, port.local.getShape());
    if (port.isCounter())
      step = value;
    else if (port.variable)
      variables[port.name] = value;
    else
      writer.set(block.getArgument(numInputs++), value);
  }
  block.walk([&](net::ReadOp read) { writer.set(read.getResult(), variables.lookup(read.getVariable())); });
  llvm::StringMap<net::AssignOp> assigns;
  block.walk([&](net::AssignOp assign) { assigns[assign.getVariable()] = assign; });
  // The values that a port takes at the last step and at the others; null where it keeps its value.
  auto getValue = [&](unsigned index, bool atLast) -> Value {
    const Port &port = results[index];
    DictionaryAttr during = port.variable ? getTimes(assigns.lookup(port.name)) : kDuringAttr.getOfResult(func, index);
    if (during && !isDuring(during, atLast))
      return {};
    return port.variable ? assigns.lookup(port.name).getValue() : block.getTerminator()->getOperand(index);
  };
  auto write = [&](unsigned index, bool atLast) {
    const Port &port = results[index];
    ArrayRef<int64_t> shape = port.storage.getLocal(mesh).getShape();
    if (Value value = getValue(index, atLast))
      return writer.reshape(writer.get(value), shape);
    if (port.variable)
      return writer.reshape(variables.lookup(port.name), shape);
    return writer.splat(port.local.getElementType(), 0, shape);
  };
  if (!step.type) {
    if (failed(Body(block, writer).write()))
      return failure();
    for (unsigned index = 0; index < results.size(); ++index)
      written.push_back(write(index, /*atLast=*/true));
    return success();
  }
  return writeSteps(func, writer, step, write, written);
}

/// True if `during` has the last step or, for those before it, any.
bool Exporter::isDuring(DictionaryAttr during, bool atLast) const {
  Axis steps = *mesh.find(AxisKind::Steps);
  auto times = during.getAs<DenseI64ArrayAttr>(mesh.getName(steps));
  int64_t last = mesh.getSize(steps) - 1;
  return !times || llvm::any_of(times.asArrayRef(), [&](int64_t time) { return (time == last) == atLast; });
}

/// Writes a step of several whose gradients become one update: its counted conditional is one on the number of the
/// step, on which ranks agree.
LogicalResult Exporter::writeSteps(func::FuncOp func, Writer &writer, Term step,
                                   llvm::function_ref<Term(unsigned, bool)> write, SmallVectorImpl<Term> &written) {
  Axis steps = *mesh.find(AxisKind::Steps);
  writer.setCoordinate(steps, step);
  Block &block = func.getBody().front();
  if (failed(Body(block, writer).write()))
    return failure();
  Type i32 = step.getElementType();
  Term isLast = writer.compare("EQ", step, writer.integer(i32, mesh.getSize(steps) - 1));
  SmallVector<Type> types;
  SmallVector<unsigned> ports;
  unsigned counter = 0;
  for (auto [index, port] : llvm::enumerate(results)) {
    if (port.isCounter()) {
      counter = index;
      continue;
    }
    ports.push_back(index);
    types.push_back(port.storage.getLocal(mesh));
  }
  auto writeConditional = [&](WhenOp when) -> LogicalResult {
    Block &body = when.getBody().front();
    if (failed(Body(body, writer).write()))
      return failure();
    for (auto [result, yielded] : llvm::zip_equal(when.getResults(), body.getTerminator()->getOperands()))
      writer.set(result, writer.get(yielded));
    return success();
  };
  LogicalResult isWritten = success();
  auto writeBranch = [&](bool atLast) {
    writer.writeBlock({}, [&](ArrayRef<Term>) -> Terms {
      for (WhenOp when : block.getOps<WhenOp>())
        if (atLast && succeeded(isWritten))
          isWritten = writeConditional(when);
      Terms values;
      if (failed(isWritten))
        return values;
      for (unsigned index : ports)
        values.push_back(write(index, atLast));
      return values;
    });
  };
  auto writeLast = [&] { writeBranch(true); };
  auto writeOther = [&] { writeBranch(false); };
  SmallVector<Term> chosen = writer.generic("stablehlo.if", isLast, types, "", {writeLast, writeOther});
  if (failed(isWritten))
    return failure();
  Term next = writer.binary("stablehlo.add", step, writer.integer(i32, 1));
  next = writer.select(isLast, writer.integer(i32, 0), next);
  written.assign(chosen.begin(), chosen.end());
  written.insert(written.begin() + counter, next);
  return success();
}

static void writeTypes(llvm::raw_ostream &out, ArrayRef<Term> terms) {
  llvm::interleaveComma(terms, out, [&](const Term &term) { out << term.type; });
}

static void writeReturn(Writer &writer, StringRef name, ArrayRef<Term> terms) {
  llvm::raw_ostream &out = writer.line();
  out << name;
  if (!terms.empty()) {
    out << " ";
    llvm::interleaveComma(terms, out, [&](const Term &term) { out << term.name; });
    out << " : ";
    writeTypes(out, terms);
  }
  out << "\n";
}

FailureOr<std::string> Exporter::write() {
  auto funcs = llvm::to_vector(module.getOps<func::FuncOp>());
  if (funcs.size() != 1) {
    Operation *place = funcs.size() > 1 ? funcs[1].getOperation() : module.getOperation();
    return place->emitError() << "a step of " << funcs.size() << " functions has no form in StableHLO; export comes "
                              << "before Schedule, where there is one";
  }
  if (std::optional<Axis> slices = mesh.find(AxisKind::Slices); slices && mesh.getSize(*slices) > 1)
    return findMesh(module).emitError() << "axis \"" << mesh.getName(*slices) << "\" has " << mesh.getSize(*slices)
                                        << " slices of a batch, which have no form in StableHLO yet; accumulate over "
                                           "steps instead";
  func::FuncOp func = funcs.front();
  if (failed(findPorts(func)))
    return failure();
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "// " << describePorts() << "\n";
  Writer writer(mesh, form, out);
  bool isManual = form == ModuleForm::Manual;
  int64_t ranks = mesh.getNumRanks();
  out << "module @" << module.getSymName().value_or("step")
      << " attributes {mhlo.num_partitions = " << (isManual ? ranks : 1)
      << " : i32, mhlo.num_replicas = " << (isManual ? 1 : ranks) << " : i32} {\n";
  writer.indent();
  if (isDistributed()) {
    writer.line() << "sdy.mesh @mesh = <[";
    llvm::interleaveComma(llvm::seq<Axis>(0, mesh.getNumRankAxes()), out,
                          [&](Axis axis) { out << '"' << mesh.getName(axis) << "\"=" << mesh.getSize(axis); });
    out << "]>\n";
  }
  SmallVector<Term> whole, returned;
  for (const Port &port : arguments)
    whole.push_back(writer.makeTerm(port.getType(form, mesh)));
  writeSignature(writer, whole);
  writer.indent();
  if (!isDistributed()) {
    if (failed(writeBody(func, writer, whole, returned)))
      return failure();
  } else {
    auto writeShardings = [&](ArrayRef<Port> ports) {
      out << "[";
      llvm::interleaveComma(ports, out, [&](const Port &port) { out << getSharding(port); });
      out << "]";
    };
    SmallVector<Term> parts, written;
    for (const Port &port : arguments)
      parts.push_back(writer.makeTerm(port.storage.getLocal(mesh)));
    std::string base = writer.makeName();
    writer.line();
    if (!results.empty())
      out << base << ":" << results.size() << " = ";
    out << "sdy.manual_computation(";
    llvm::interleaveComma(whole, out, [&](const Term &term) { out << term.name; });
    out << ") in_shardings=";
    writeShardings(arguments);
    out << " out_shardings=";
    writeShardings(results);
    out << " manual_axes={";
    llvm::interleaveComma(llvm::seq<Axis>(0, mesh.getNumRankAxes()), out,
                          [&](Axis axis) { out << '"' << mesh.getName(axis) << '"'; });
    out << "} (";
    llvm::interleaveComma(parts, out, [&](const Term &term) { out << term.name << ": " << term.type; });
    out << ") {\n";
    writer.indent();
    if (failed(writeBody(func, writer, parts, written)))
      return failure();
    writeReturn(writer, "sdy.return", written);
    writer.outdent();
    for (auto [index, port] : llvm::enumerate(results))
      returned.push_back({base + "#" + std::to_string(index), port.storage.getGlobal()});
    writer.line() << "} : (";
    writeTypes(out, whole);
    out << ") -> (";
    writeTypes(out, returned);
    out << ")\n";
  }
  writeReturn(writer, "return", returned);
  writer.outdent();
  writer.line() << "}\n";
  writer.outdent();
  out << "}\n";
  writer.writeLocations();
  return text;
}

FailureOr<std::string> exporter::exportStableHLO(ModuleOp module, ModuleForm form) {
  // Collectives on contiguous memory and local operations remain of conversions. Common operations stay: one in a loop
  // and an equal one after it must not become one.
  OwningOpRef<ModuleOp> lowered = module.clone();
  PassManager manager(module.getContext());
  manager.addPass(partition::createInlineConditionalsPass());
  manager.addPass(schedule::createElideEmptyPass());
  manager.addPass(schedule::createLowerConversionsPass());
  manager.addPass(partition::createFormConditionalsPass());
  if (failed(manager.run(*lowered)))
    return failure();
  return Exporter(*lowered, form).write();
}
