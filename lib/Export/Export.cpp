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
#include "Pipeline.h"
#include "Ports.h"
#include "Slices.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "meshwright/Overlap/Passes.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Pipelining/Passes.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
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

namespace {

/// Writes one program.
class Exporter {
public:
  Exporter(const Program &program, const Ports &ports, ModuleForm form)
      : program(program), func(program.func), arguments(ports.arguments), results(ports.results), form(form),
        mesh(program.getRanks()), header(ports.describe(form)) {}

  FailureOr<std::string> write();

private:
  bool isDistributed() const { return form == ModuleForm::Manual && mesh.getNumRanks() > 1; }
  std::string getSharding(const Port &port) const { return "<@mesh, " + port.storage.describeDims(mesh) + ">"; }
  LogicalResult writeBody(Writer &writer, ArrayRef<Term> parts, SmallVectorImpl<Term> &results);
  bool isDuring(DictionaryAttr during, bool atLast) const;
  LogicalResult writeSteps(Writer &writer, Term step, llvm::function_ref<Term(unsigned, bool)> write,
                           SmallVectorImpl<Term> &written);
  void writeSignature(Writer &writer, ArrayRef<Term> arguments);

  const Program &program;
  func::FuncOp func;
  ArrayRef<Port> arguments, results;
  ModuleForm form;
  /// The ranks that run the program.
  Mesh mesh;
  llvm::json::Object header;
};

} // namespace

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
  auto add = [&](StringRef name) {
    if (Axis axis = *mesh.find(name); !mesh.isTime(axis))
      axes.insert(axis);
  };
  block.walk([&](Operation *op) {
    if (auto coordinate = dyn_cast<CoordinateOp>(op))
      add(coordinate.getAxis());
    if (auto either = dyn_cast<EitherOp>(op))
      for (NamedAttribute holder : either.getHolders())
        add(holder.getName().getValue());
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
LogicalResult Exporter::writeBody(Writer &writer, ArrayRef<Term> parts, SmallVectorImpl<Term> &written) {
  Block &block = func.getBody().front();
  SmallVector<Axis> axes = findCoordinates(block, mesh);
  if (const auto *stages = llvm::find(axes, program.stageAxis); program.stage && stages != axes.end()) {
    axes.erase(stages);
    writer.setCoordinate(program.stageAxis, writer.integer(IntegerType::get(func->getContext(), 32), *program.stage));
  }
  writer.writeCoordinates(axes, func->getContext());
  llvm::StringMap<Term> variables;
  Term step;
  for (auto [port, part] : llvm::zip_equal(arguments, parts)) {
    Term value = writer.reshape(part, port.local.getShape());
    if (port.variable)
      variables[port.name] = value;
    else if (port.time)
      writer.setCoordinate(*port.time, value);
    else
      writer.set(block.getArgument(port.index), value);
    if (port.isCounter())
      step = value;
  }
  block.walk([&](net::ReadOp read) { writer.set(read.getResult(), variables.lookup(read.getVariable())); });
  llvm::StringMap<net::AssignOp> assigns;
  block.walk([&](net::AssignOp assign) { assigns[assign.getVariable()] = assign; });
  // The values that a port takes at the last step and at the others; null where it keeps its value.
  auto getValue = [&](unsigned index, bool atLast) -> Value {
    const Port &port = results[index];
    DictionaryAttr during =
        port.variable ? getTimes(assigns.lookup(port.name)) : kDuringAttr.getOfResult(func, port.index);
    if (during && !isDuring(during, atLast))
      return {};
    return port.variable ? assigns.lookup(port.name).getValue() : block.getTerminator()->getOperand(port.index);
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
  Body body(block, writer);
  std::optional<Slices> slices;
  if (std::optional<Axis> axis = mesh.find(AxisKind::Slices); axis && !program.isAction) {
    FailureOr<Slices> found = Slices::find(func, mesh, *axis);
    if (failed(found) || failed(found->write(body, writer)))
      return failure();
    slices.emplace(std::move(*found));
  }
  auto isRest = [&](Operation *op) {
    return (!slices || slices->isAfter(op)) && !(program.isAction && isa<AbsentOp>(op));
  };
  if (failed(body.write(isRest)))
    return failure();
  if (step.type)
    return writeSteps(writer, step, write, written);
  for (unsigned index = 0; index < results.size(); ++index)
    written.push_back(write(index, /*atLast=*/true));
  return success();
}

/// True if `during` has the last step or, for those before it, any; of an action of a pipeline, which has only its own
/// steps, in any case.
bool Exporter::isDuring(DictionaryAttr during, bool atLast) const {
  std::optional<Axis> steps = mesh.find(AxisKind::Steps);
  if (!steps || program.isAction)
    return true;
  auto times = during.getAs<DenseI64ArrayAttr>(mesh.getName(*steps));
  int64_t last = mesh.getSize(*steps) - 1;
  return !times || llvm::any_of(times.asArrayRef(), [&](int64_t time) { return (time == last) == atLast; });
}

/// Writes the end of a step of several whose gradients become one update: its counted conditional is one on the number
/// of the step, on which ranks agree.
LogicalResult Exporter::writeSteps(Writer &writer, Term step, llvm::function_ref<Term(unsigned, bool)> write,
                                   SmallVectorImpl<Term> &written) {
  Axis steps = *mesh.find(AxisKind::Steps);
  Block &block = func.getBody().front();
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
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "// " << llvm::json::Value(std::move(header)) << "\n";
  Writer writer(mesh, form, out);
  bool isManual = form == ModuleForm::Manual;
  int64_t ranks = mesh.getNumRanks();
  out << "module " << FlatSymbolRefAttr::get(func->getContext(), program.name)
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
    if (failed(writeBody(writer, whole, returned)))
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
    if (failed(writeBody(writer, parts, written)))
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

FailureOr<std::string> exporter::writeProgram(const Program &program, ModuleForm form) {
  FailureOr<Ports> ports = Ports::find(program);
  if (failed(ports))
    return failure();
  return Exporter(program, *ports, form).write();
}

std::string Exported::toText() const {
  std::string all = text;
  for (const auto &[name, module] : modules)
    all += "// ----- " + name + "\n" + module;
  return all;
}

FailureOr<Exported> exporter::exportStableHLO(ModuleOp module, ModuleForm form) {
  MeshOp meshOp = findMesh(module);
  bool isPipeline = meshOp && kStageAxisAttr.isOn(meshOp);
  auto funcs = llvm::to_vector(module.getOps<func::FuncOp>());
  if (funcs.size() != 1 || funcs.front().isExternal()) {
    Operation *place = funcs.empty() ? module.getOperation() : funcs.back().getOperation();
    return place->emitError() << "a step of " << funcs.size() << " functions has no form in StableHLO; export comes "
                              << "before Schedule, where there is one with a body";
  }
  // Collectives on contiguous memory and local operations remain of conversions. Common operations stay: one in a loop
  // and an equal one after it must not become one.
  OwningOpRef<ModuleOp> lowered = module.clone();
  PassManager manager(module.getContext());
  manager.addPass(partition::createInlineConditionalsPass());
  manager.addPass(schedule::createElideEmptyPass());
  manager.addPass(schedule::createLowerConversionsPass());
  if (isPipeline)
    manager.addPass(schedule::createCutTasksPass());
  else
    manager.addPass(partition::createFormConditionalsPass());
  if (failed(manager.run(*lowered)))
    return failure();
  if (isPipeline)
    return writePipeline(*lowered, form);
  func::FuncOp func = *lowered->getOps<func::FuncOp>().begin();
  FailureOr<std::string> text = writeProgram({func, getMesh(func), module.getSymName().value_or("step").str()}, form);
  if (failed(text))
    return failure();
  return Exported{std::move(*text), {}};
}
