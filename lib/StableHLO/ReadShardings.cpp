//===- ReadShardings.cpp - what a graph says of its own placement ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Afterwards the module has at most one mesh, `given.mesh`, and all that exporters say of placements is
// `given.sharding` on arguments and results of the graph, and `given.constrain` on values. All is collected first,
// because an axis is divided into the factors that occur anywhere: `"x":(1)2` in one place makes `"x"` two axes in all
// others.
//
// XLA's older shardings name no axes; they speak of the numbers of all devices, which are taken as one axis, `devices`,
// and divided in the same way.
//
//===----------------------------------------------------------------------===//

#include "MeshFactors.h"
#include "ShardingForms.h"
#include "dialects/Given/Given.h"
#include "meshwright/StableHLO/Graph.h"
#include "meshwright/StableHLO/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_READSHARDINGSPASS
#include "meshwright/StableHLO/Passes.h.inc"
} // namespace meshwright::importer

/// The attributes of Shardy and of XLA.
static constexpr StringLiteral kSdyName = "sdy.sharding", kMhloName = "mhlo.sharding";
/// A computation per rank, and the shardings of its operands and results.
static constexpr StringLiteral kManualName = "sdy.manual_computation", kEntriesName = "in_shardings",
                               kExitsName = "out_shardings", kAxesName = "manual_axes";
/// The axis of all devices of an older sharding.
static constexpr StringLiteral kDevicesAxis = "devices";

namespace {

/// A sharding of which the mesh is known, before axes are divided.
struct ParsedSharding {
  SmallVector<SmallVector<AxisPart>> dims;
  SmallVector<bool> open;
  SmallVector<int64_t> priorities;
  SmallVector<AxisPart> replicated, unreduced;
};

/// Where a sharding is stated.
struct Statement {
  enum class Place : uint8_t { Argument, Result, Value, Constraint, Entry, Exit } place;
  Operation *op;
  /// The number of the argument, the result or the operand.
  unsigned index;
  Location loc;
  Type type;
  /// The number of its sharding in the list of all.
  size_t sharding = 0;
};

/// Reads the shardings of one module.
class ShardingReader {
public:
  explicit ShardingReader(ModuleOp module) : module(module), context(module.getContext()) {}

  LogicalResult read();
  /// Removes all that is said, unread.
  void ignore();

private:
  LogicalResult collectMeshes();
  LogicalResult useMesh(Attribute mesh, Location loc);
  LogicalResult collectFunction(func::FuncOp func);
  LogicalResult collectOp(Operation *op);
  LogicalResult collectManual(Operation *op);
  LogicalResult add(Statement statement, Attribute sharding, ArrayRef<int64_t> unspecified = {});

  LogicalResult parseAxes(ArrayAttr axes, const Twine &where, Location loc, SmallVectorImpl<AxisPart> &parts);
  LogicalResult parse(DictionaryAttr sharding, Location loc, ParsedSharding &parsed);
  LogicalResult parse(StringRef text, Type type, Location loc, ParsedSharding &parsed);
  LogicalResult verify(const ParsedSharding &parsed, Location loc) const;
  std::string describe(const AxisPart &part) const;

  LogicalResult findFactors();
  void appendNames(ArrayRef<AxisPart> parts, SmallVectorImpl<Attribute> &names) const;
  given::ShardingAttr build(const ParsedSharding &parsed) const;
  void write();
  void constrain(Value value, given::ShardingAttr sharding, Operation *at, Location loc);
  void infer(func::FuncOp graph);
  void divideManual(Operation *op, ArrayRef<std::pair<unsigned, given::ShardingAttr>> entries,
                    ArrayRef<std::pair<unsigned, given::ShardingAttr>> exits);
  void divideMeshes();
  void dropRest();

  ModuleOp module;
  MLIRContext *context;
  /// Meshes, and computations per rank, which go on to need them.
  SmallVector<Operation *> meshOps, manualOps;
  llvm::StringMap<Attribute> meshes;
  /// The mesh of all shardings, with the place that mentioned it first.
  SmallVector<std::string> names;
  SmallVector<int64_t> sizes;
  std::optional<Location> meshLoc;
  std::optional<MeshFactors> factors;
  /// The constraints of what enters computations per rank.
  llvm::SmallPtrSet<Operation *, 8> boundaries;
  SmallVector<Statement, 0> statements;
  SmallVector<ParsedSharding, 0> shardings;
  /// Shardings by what was written, because most values share a few.
  llvm::DenseMap<std::pair<Attribute, Attribute>, size_t> known;
};

} // namespace

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

static bool hasAxes(Attribute mesh) {
  auto entries = dyn_cast_or_null<DictionaryAttr>(mesh);
  auto axes = entries ? entries.getAs<ArrayAttr>(kAxesEntry) : ArrayAttr();
  return axes && !axes.empty();
}

LogicalResult ShardingReader::collectMeshes() {
  for (Operation &op : module.getOps()) {
    if (op.getName().getStringRef() != "sdy.mesh")
      continue;
    meshOps.push_back(&op);
    auto name = op.getAttrOfType<StringAttr>("sym_name");
    Attribute mesh = op.getAttr("mesh");
    if (!name || !isa_and_nonnull<DictionaryAttr>(mesh))
      return op.emitError() << "sdy.mesh has no name or no mesh";
    meshes[name.getValue()] = mesh;
    if (hasAxes(mesh) && failed(useMesh(mesh, op.getLoc())))
      return failure();
  }
  return success();
}

/// Takes `mesh`, which has axes, for that of all shardings, or checks that it is.
LogicalResult ShardingReader::useMesh(Attribute mesh, Location loc) {
  auto entries = cast<DictionaryAttr>(mesh);
  SmallVector<std::string> theirs;
  for (auto axis : entries.getAs<ArrayAttr>(kAxesEntry).getAsRange<StringAttr>())
    theirs.push_back(axis.str());
  ArrayRef<int64_t> counts = entries.getAs<DenseI64ArrayAttr>(kSizesEntry).asArrayRef();
  if (meshLoc) {
    if (theirs == names && counts == ArrayRef(sizes))
      return success();
    auto diagnostic = emitError(loc) << "the shardings of a graph are for one mesh, and this one has other axes";
    diagnostic.attachNote(*meshLoc) << "the mesh is first given here";
    return diagnostic;
  }
  llvm::StringSet<> seen;
  for (auto [name, size] : llvm::zip(theirs, counts)) {
    if (name.empty() || !seen.insert(name).second)
      return emitError(loc) << "axis \"" << name << "\" is empty or given twice in the mesh";
    if (size < 1)
      return emitError(loc) << "axis \"" << name << "\" has size " << size << "; sizes are positive";
  }
  names = std::move(theirs);
  sizes.assign(counts.begin(), counts.end());
  meshLoc = loc;
  return success();
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

std::string ShardingReader::describe(const AxisPart &part) const {
  std::string text = "\"" + names[part.axis] + "\"";
  if (part.size != sizes[part.axis])
    text += ":(" + std::to_string(part.before) + ")" + std::to_string(part.size);
  return text;
}

LogicalResult ShardingReader::parseAxes(ArrayAttr axes, const Twine &where, Location loc,
                                        SmallVectorImpl<AxisPart> &parts) {
  for (Attribute axis : axes) {
    auto list = dyn_cast<ArrayAttr>(axis);
    auto name = cast<StringAttr>(list ? list[0] : axis).getValue();
    const std::string *found = llvm::find(names, name);
    if (found == names.end())
      return emitError(loc) << where << " names axis \"" << name << "\", which the mesh lacks";
    auto number = static_cast<unsigned>(found - names.begin());
    AxisPart part{number, 1, sizes[number]};
    if (list) {
      int64_t before = cast<IntegerAttr>(list[1]).getInt(), size = cast<IntegerAttr>(list[2]).getInt();
      // Divisions, because products may overflow.
      if (before < 1 || size < 2 || sizes[number] % size != 0 || sizes[number] / size % before != 0)
        return emitError(loc) << where << " names the part (" << before << ")" << size << " of axis \"" << name
                              << "\", but " << before << " times " << size << " does not divide its size "
                              << sizes[number];
      part = {number, before, size};
    }
    parts.push_back(part);
  }
  return success();
}

LogicalResult ShardingReader::parse(DictionaryAttr sharding, Location loc, ParsedSharding &parsed) {
  for (auto [index, entry] : llvm::enumerate(sharding.getAs<ArrayAttr>(kDimsEntry))) {
    auto dim = cast<DictionaryAttr>(entry);
    if (failed(parseAxes(dim.getAs<ArrayAttr>(kAxesEntry), "dimension " + Twine(index) + " of the sharding", loc,
                         parsed.dims.emplace_back())))
      return failure();
    parsed.open.push_back(dim.contains(kOpenEntry));
    auto priority = dim.getAs<IntegerAttr>(kPriorityEntry);
    if (priority && parsed.dims.back().empty() && !parsed.open.back())
      return emitError(loc) << "dimension " << index << " of the sharding has priority " << priority.getInt()
                            << ", but it has no axes and is closed";
    if (priority && priority.getInt() < 0)
      return emitError(loc) << "dimension " << index << " of the sharding has priority " << priority.getInt()
                            << "; priorities are at least 0";
    parsed.priorities.push_back(priority ? priority.getInt() : 0);
  }
  std::tuple<StringLiteral, SmallVectorImpl<AxisPart> &> lists[] = {{kReplicatedEntry, parsed.replicated},
                                                                    {kUnreducedEntry, parsed.unreduced}};
  for (auto &[name, parts] : lists)
    if (auto axes = sharding.getAs<ArrayAttr>(name)) {
      if (failed(parseAxes(axes, "the list \"" + Twine(name) + "\" of the sharding", loc, parts)))
        return failure();
      for (size_t index = 1; index < parts.size(); ++index)
        if (std::pair(parts[index - 1].axis, parts[index - 1].before) >
            std::pair(parts[index].axis, parts[index].before))
          return emitError(loc) << "the list \"" << name << "\" of the sharding names " << describe(parts[index - 1])
                                << " before " << describe(parts[index]) << ", which is out of the order of the mesh";
    }
  return success();
}

/// Parses an older sharding of a value of `type`, over all devices as one axis.
LogicalResult ShardingReader::parse(StringRef text, Type type, Location loc, ParsedSharding &parsed) {
  DeviceSharding devices;
  if (std::optional<std::string> problem = parseDeviceSharding(text, devices))
    return emitError(loc) << "sharding \"" << text << "\" is not read: " << *problem;
  if (devices.isManual)
    return emitError(loc) << "sharding \"" << text << "\" is of a program per device; export shard_map with Shardy";
  if (!devices.dims.empty()) {
    Builder builder(context);
    Attribute mesh =
        builder.getDictionaryAttr({builder.getNamedAttr(kAxesEntry, builder.getStrArrayAttr({kDevicesAxis})),
                                   builder.getNamedAttr(kSizesEntry, builder.getDenseI64ArrayAttr({devices.devices}))});
    if (meshLoc && names.size() == 1 && names[0] == kDevicesAxis && sizes[0] != devices.devices) {
      auto diagnostic = emitError(loc) << "sharding \"" << text << "\" is for " << devices.devices << " devices";
      diagnostic.attachNote(*meshLoc) << "this one is for " << sizes[0];
      return diagnostic;
    }
    if (failed(useMesh(mesh, loc)))
      return failure();
  } else if (auto tensor = dyn_cast<ShapedType>(type); tensor && tensor.hasRank()) {
    devices.dims.resize(tensor.getRank());
  }
  parsed.dims = std::move(devices.dims);
  parsed.open.assign(parsed.dims.size(), false);
  parsed.priorities.assign(parsed.dims.size(), 0);
  return success();
}

/// Checks that no axis is named twice, whole or in parts.
LogicalResult ShardingReader::verify(const ParsedSharding &parsed, Location loc) const {
  SmallVector<AxisPart> seen;
  auto check = [&](ArrayRef<AxisPart> parts) -> LogicalResult {
    for (const AxisPart &part : parts) {
      for (const AxisPart &other : seen)
        if (overlap(part, other))
          return part == other ? emitError(loc) << "the sharding names axis " << describe(part) << " twice"
                               : emitError(loc) << "the sharding names " << describe(other) << " and " << describe(part)
                                                << ", which overlap";
      seen.push_back(part);
    }
    return success();
  };
  for (ArrayRef<AxisPart> dim : parsed.dims)
    if (failed(check(dim)))
      return failure();
  return success(succeeded(check(parsed.replicated)) && succeeded(check(parsed.unreduced)));
}

/// Notes that `sharding`, as it was written, holds for the place of `statement`. `unspecified` dimensions are open.
LogicalResult ShardingReader::add(Statement statement, Attribute sharding, ArrayRef<int64_t> unspecified) {
  if (auto entries = dyn_cast<DictionaryAttr>(sharding)) {
    Attribute mesh = entries.get(kMeshEntry);
    if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(mesh)) {
      mesh = meshes.lookup(symbol.getValue());
      if (!mesh)
        return emitError(statement.loc) << "the sharding is for mesh @" << symbol.getValue()
                                        << ", which the module lacks";
    }
    // JAX attaches random keys to a mesh without axes.
    if (!hasAxes(mesh))
      return success();
    if (failed(useMesh(mesh, statement.loc)))
      return failure();
  } else if (!isa<StringAttr>(sharding)) {
    return emitError(statement.loc) << sharding << " is no sharding";
  }
  Builder builder(context);
  // The older form says nothing of the number of dimensions where it splits none.
  auto tensor = dyn_cast<ShapedType>(statement.type);
  auto key = builder.getArrayAttr({builder.getI64IntegerAttr(tensor && tensor.hasRank() ? tensor.getRank() : -1),
                                   builder.getDenseI64ArrayAttr(unspecified)});
  auto [entry, isNew] = known.try_emplace({sharding, key}, shardings.size());
  if (isNew) {
    ParsedSharding parsed;
    if (auto entries = dyn_cast<DictionaryAttr>(sharding)) {
      if (failed(parse(entries, statement.loc, parsed)))
        return failure();
    } else if (failed(parse(cast<StringAttr>(sharding).getValue(), statement.type, statement.loc, parsed))) {
      return failure();
    }
    if (!tensor || !tensor.hasRank() || tensor.getRank() != static_cast<int64_t>(parsed.dims.size()))
      return emitError(statement.loc) << "the sharding has " << parsed.dims.size()
                                      << " dimensions, but the value is of " << statement.type;
    for (int64_t dim : unspecified)
      if (0 <= dim && dim < tensor.getRank())
        parsed.open[dim] = true;
    if (failed(verify(parsed, statement.loc)))
      return failure();
    shardings.push_back(std::move(parsed));
  }
  statement.sharding = entry->second;
  statements.push_back(statement);
  return success();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The sharding in a list of attributes, of either kind; null if there is none.
static Attribute findSharding(DictionaryAttr attributes) {
  if (!attributes)
    return {};
  Attribute sharding = attributes.get(kSdyName);
  return sharding ? sharding : attributes.get(kMhloName);
}

LogicalResult ShardingReader::collectFunction(func::FuncOp func) {
  using Place = Statement::Place;
  for (unsigned index = 0; index < func.getNumArguments(); ++index)
    if (Attribute sharding = findSharding(func.getArgAttrDict(index)))
      if (failed(add({Place::Argument, func, index, func.getArgument(index).getLoc(), func.getArgumentTypes()[index]},
                     sharding)))
        return failure();
  for (unsigned index = 0; index < func.getNumResults(); ++index)
    if (Attribute sharding = findSharding(func.getResultAttrDict(index)))
      if (failed(add({Place::Result, func, index, func.front().getTerminator()->getLoc(), func.getResultTypes()[index]},
                     sharding)))
        return failure();
  return success();
}

/// The dimensions that a call of JAX leaves to the compiler: `unspecified_dims=[0,2]`.
static SmallVector<int64_t> getUnspecified(Operation *op) {
  SmallVector<int64_t> dims;
  auto config = op->getAttrOfType<StringAttr>("backend_config");
  StringRef text = config ? config.getValue() : StringRef();
  size_t at = text.find("unspecified_dims=[");
  if (at == StringRef::npos)
    return dims;
  SmallVector<StringRef> numbers;
  text.substr(at).split('[').second.split(']').first.split(numbers, ',');
  for (StringRef number : numbers)
    if (int64_t dim; !number.trim().getAsInteger(10, dim))
      dims.push_back(dim);
  return dims;
}

static bool isShardingCall(Operation *op) {
  auto target = op->getAttrOfType<StringAttr>("call_target_name");
  return op->getName().getStringRef() == "stablehlo.custom_call" && target && target.getValue() == "Sharding";
}

LogicalResult ShardingReader::collectOp(Operation *op) {
  using Place = Statement::Place;
  StringRef name = op->getName().getStringRef();
  bool constrains = name == "sdy.sharding_constraint" || name == "sdy.reshard";
  if (constrains || name == "sdy.propagation_barrier" || isShardingCall(op)) {
    if (op->getNumOperands() != 1 || op->getNumResults() != 1 ||
        op->getOperand(0).getType() != op->getResult(0).getType())
      return op->emitError() << op->getName() << " has one operand and one result, of the same type";
    Attribute sharding = constrains ? op->getAttr("sharding") : findSharding(op->getAttrDictionary());
    // JAX constrains the numbers that a reduction combines, too, within computations per rank.
    auto scalar = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (scalar && scalar.getRank() == 0 && !isa<func::FuncOp>(op->getParentOp()) &&
        op->getParentOp()->getName().getStringRef() != kManualName)
      return success();
    if (constrains && !sharding)
      return op->emitError() << op->getName() << " has no sharding";
    if (sharding &&
        failed(add({Place::Constraint, op, 0, op->getLoc(), op->getResult(0).getType()}, sharding, getUnspecified(op))))
      return failure();
    return success();
  }
  if (name == kManualName)
    return collectManual(op);
  if (name == "sdy.sharding_group" &&
      (op->getNumOperands() != 1 || op->getNumResults() != 0 || !op->getAttrOfType<IntegerAttr>("group_id")))
    return op->emitError() << op->getName() << " has one operand, no result and a group_id";
  Attribute sharding = isa<func::FuncOp>(op) ? Attribute() : findSharding(op->getDiscardableAttrDictionary());
  if (!sharding)
    return success();
  // A list of the results' shardings.
  auto list = dyn_cast<ArrayAttr>(sharding);
  if (!list)
    list = ArrayAttr::get(context, sharding);
  if (list.size() != op->getNumResults())
    return op->emitError() << op->getName() << " has " << list.size() << " shardings for " << op->getNumResults()
                           << " results";
  for (auto [index, entry] : llvm::enumerate(list))
    if (failed(
            add({Place::Value, op, static_cast<unsigned>(index), op->getLoc(), op->getResult(index).getType()}, entry)))
      return failure();
  return success();
}

/// The boundary of a computation per rank states placements of its operands and results.
LogicalResult ShardingReader::collectManual(Operation *op) {
  manualOps.push_back(op);
  auto collect = [&](StringRef name, Statement::Place place, ValueRange values) -> LogicalResult {
    auto list = op->getAttrOfType<ArrayAttr>(name);
    if (!list || list.size() != values.size())
      return op->emitError() << kManualName << " has no list \"" << name << "\" of " << values.size()
                             << " shardings; the form that JAX prints has one";
    for (auto [index, sharding, value] : llvm::enumerate(list, values)) {
      // A sharding may leave out the dimensions of a value that is not split.
      auto entries = dyn_cast<DictionaryAttr>(sharding);
      auto dims = entries ? entries.getAs<ArrayAttr>(kDimsEntry) : ArrayAttr();
      if (!dims)
        return op->emitError() << kManualName << " has " << sharding << " as a sharding";
      if (dims.empty())
        continue;
      if (failed(add({place, op, static_cast<unsigned>(index), op->getLoc(), value.getType()}, sharding)))
        return failure();
    }
    return success();
  };
  return success(succeeded(collect(kEntriesName, Statement::Place::Entry, op->getOperands())) &&
                 succeeded(collect(kExitsName, Statement::Place::Exit, op->getResults())));
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

LogicalResult ShardingReader::findFactors() {
  factors.emplace(sizes);
  for (const ParsedSharding &sharding : shardings) {
    auto addAll = [&](ArrayRef<AxisPart> parts) {
      for (const AxisPart &part : parts)
        factors->add(part);
    };
    llvm::for_each(sharding.dims, addAll);
    addAll(sharding.replicated);
    addAll(sharding.unreduced);
  }
  if (std::optional<unsigned> axis = factors->find())
    return emitError(*meshLoc) << "the shardings divide axis \"" << names[*axis] << "\" of size " << sizes[*axis]
                               << " into parts that no factors of it have in common";
  return success();
}

void ShardingReader::appendNames(ArrayRef<AxisPart> parts, SmallVectorImpl<Attribute> &list) const {
  for (const AxisPart &part : parts)
    for (const AxisPart &factor : factors->getFactors(part)) {
      std::string name = names[factor.axis];
      if (factor.size != sizes[factor.axis])
        name += ":(" + std::to_string(factor.before) + ")" + std::to_string(factor.size);
      list.push_back(StringAttr::get(context, name));
    }
}

given::ShardingAttr ShardingReader::build(const ParsedSharding &parsed) const {
  Builder builder(context);
  auto toNames = [&](ArrayRef<AxisPart> parts) {
    SmallVector<Attribute> list;
    appendNames(parts, list);
    return builder.getArrayAttr(list);
  };
  SmallVector<Attribute> dims;
  for (ArrayRef<AxisPart> dim : parsed.dims)
    dims.push_back(toNames(dim));
  return given::ShardingAttr::get(context, builder.getArrayAttr(dims), builder.getDenseBoolArrayAttr(parsed.open),
                                  builder.getDenseI64ArrayAttr(parsed.priorities), toNames(parsed.replicated),
                                  toNames(parsed.unreduced));
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Lets all users of `value` from `at` on read it through a constraint.
void ShardingReader::constrain(Value value, given::ShardingAttr sharding, Operation *at, Location loc) {
  OpBuilder builder(at);
  auto made = given::ConstrainOp::create(builder, loc, value.getType(), value, sharding, IntegerAttr());
  value.replaceAllUsesExcept(made.getResult(), made);
}

void ShardingReader::write() {
  func::FuncOp graph;
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !isComputation(func))
      graph = graph ? graph : func;
  SmallVector<given::ShardingAttr, 0> built;
  for (const ParsedSharding &sharding : shardings)
    built.push_back(build(sharding));
  llvm::DenseMap<unsigned, given::ShardingAttr> arguments, results;
  llvm::DenseMap<Operation *, SmallVector<std::pair<unsigned, given::ShardingAttr>>> entries, exits;
  auto splits = [](given::ShardingAttr sharding) {
    return llvm::any_of(sharding.getDims(), [](Attribute dim) { return !cast<ArrayAttr>(dim).empty(); });
  };
  for (const Statement &statement : statements) {
    given::ShardingAttr sharding = built[statement.sharding];
    auto func = dyn_cast<func::FuncOp>(statement.op);
    OpBuilder builder(context);
    switch (statement.place) {
    case Statement::Place::Argument:
      if (func == graph)
        arguments[statement.index] = sharding;
      else
        constrain(func.getArgument(statement.index), sharding, &func.front().front(), statement.loc);
      break;
    case Statement::Place::Result:
      if (func == graph) {
        results[statement.index] = sharding;
        break;
      }
      builder.setInsertionPoint(func.front().getTerminator());
      func.front().getTerminator()->setOperand(
          statement.index, given::ConstrainOp::create(builder, statement.loc, statement.type,
                                                      func.front().getTerminator()->getOperand(statement.index),
                                                      sharding, IntegerAttr()));
      break;
    case Statement::Place::Value:
      constrain(statement.op->getResult(statement.index), sharding, statement.op->getNextNode(), statement.loc);
      break;
    case Statement::Place::Constraint:
      builder.setInsertionPoint(statement.op);
      statement.op->replaceAllUsesWith(given::ConstrainOp::create(
          builder, statement.loc, statement.type, statement.op->getOperand(0), sharding, IntegerAttr()));
      statement.op->erase();
      break;
    case Statement::Place::Entry:
      entries[statement.op].push_back({statement.index, sharding});
      if (splits(sharding)) {
        builder.setInsertionPoint(statement.op);
        auto made = given::ConstrainOp::create(builder, statement.loc, statement.type,
                                               statement.op->getOperand(statement.index), sharding, IntegerAttr());
        boundaries.insert(made);
        statement.op->setOperand(statement.index, made);
      }
      break;
    case Statement::Place::Exit:
      exits[statement.op].push_back({statement.index, sharding});
      if (splits(sharding))
        constrain(statement.op->getResult(statement.index), sharding, statement.op->getNextNode(), statement.loc);
      break;
    }
  }
  for (Operation *op : manualOps)
    divideManual(op, entries.lookup(op), exits.lookup(op));
  // All at once: each change of a function's attributes takes time in the number of its arguments.
  auto rewrite = [&](DictionaryAttr old, given::ShardingAttr sharding) {
    NamedAttrList list(old);
    list.erase(kSdyName);
    list.erase(kMhloName);
    if (sharding)
      list.append(given::kShardingAttr, sharding);
    return list.getDictionary(context);
  };
  for (auto func : module.getOps<func::FuncOp>()) {
    SmallVector<DictionaryAttr, 0> ofArguments, ofResults;
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      ofArguments.push_back(rewrite(func.getArgAttrDict(index), func == graph ? arguments.lookup(index) : nullptr));
    for (unsigned index = 0; index < func.getNumResults(); ++index)
      ofResults.push_back(rewrite(func.getResultAttrDict(index), func == graph ? results.lookup(index) : nullptr));
    func.setAllArgAttrs(ofArguments);
    func.setAllResultAttrs(ofResults);
  }
  if (graph)
    infer(graph);
}

/// An argument that all its users constrain alike is kept so, and so is one that enters computations per rank alike,
/// which would have to take parts of it otherwise.
void ShardingReader::infer(func::FuncOp graph) {
  SmallVector<std::pair<unsigned, given::ShardingAttr>> found;
  for (BlockArgument argument : graph.getArguments()) {
    if (given::kShardingAttr.getOfArgument(graph, argument.getArgNumber()))
      continue;
    given::ShardingAttr common;
    bool alike = true, areAll = true, enters = false;
    for (Operation *user : argument.getUsers()) {
      auto constraint = dyn_cast<given::ConstrainOp>(user);
      given::ShardingAttr sharding = constraint ? constraint.getSharding().value_or(nullptr) : nullptr;
      areAll &= static_cast<bool>(sharding);
      if (!sharding)
        continue;
      enters |= boundaries.contains(user);
      alike &= (!common || common == sharding) && sharding.getUnreduced().empty();
      common = sharding;
    }
    if (common && alike && (areAll || enters))
      found.push_back({argument.getArgNumber(), common});
  }
  if (found.empty())
    return;
  SmallVector<DictionaryAttr, 0> attributes;
  for (unsigned index = 0; index < graph.getNumArguments(); ++index)
    attributes.push_back(DictionaryAttr::getWithSorted(context, {}));
  for (unsigned index = 0; index < graph.getNumArguments(); ++index)
    if (DictionaryAttr own = graph.getArgAttrDict(index))
      attributes[index] = own;
  for (auto [index, sharding] : found) {
    NamedAttrList list(attributes[index]);
    list.set(given::kShardingAttr, sharding);
    attributes[index] = list.getDictionary(context);
  }
  graph.setAllArgAttrs(attributes);
}

/// Rewrites the boundary of a computation per rank in terms of the factors of axes.
void ShardingReader::divideManual(Operation *op, ArrayRef<std::pair<unsigned, given::ShardingAttr>> entries,
                                  ArrayRef<std::pair<unsigned, given::ShardingAttr>> exits) {
  Builder builder(context);
  auto rewrite = [&](StringRef name, ArrayRef<std::pair<unsigned, given::ShardingAttr>> list) {
    SmallVector<Attribute> shardings(op->getAttrOfType<ArrayAttr>(name).getValue());
    for (auto [index, sharding] : list) {
      SmallVector<Attribute> dims;
      for (Attribute axes : sharding.getDims())
        dims.push_back(builder.getDictionaryAttr(builder.getNamedAttr(kAxesEntry, axes)));
      NamedAttrList parts(cast<DictionaryAttr>(shardings[index]));
      parts.set(kDimsEntry, builder.getArrayAttr(dims));
      shardings[index] = parts.getDictionary(context);
    }
    op->setAttr(name, builder.getArrayAttr(shardings));
  };
  rewrite(kEntriesName, entries);
  rewrite(kExitsName, exits);
  SmallVector<Attribute> axes;
  if (auto list = op->getAttrOfType<ArrayAttr>(kAxesName))
    for (auto name : list.getAsRange<StringAttr>()) {
      const std::string *found = llvm::find(names, name.getValue());
      if (found == names.end())
        axes.push_back(name);
      else
        appendNames(factors->getFactors(static_cast<unsigned>(found - names.begin())), axes);
    }
  op->setAttr(kAxesName, builder.getArrayAttr(axes));
}

/// Leaves computations per rank the meshes that they name, with divided axes.
void ShardingReader::divideMeshes() {
  Builder builder(context);
  for (Operation *op : meshOps) {
    if (!hasAxes(op->getAttr("mesh")))
      continue;
    NamedAttrList entries(cast<DictionaryAttr>(op->getAttr("mesh")));
    given::MeshAttr divided = given::kMeshAttr.get(module);
    entries.set(kAxesEntry, divided.getNames());
    entries.set(kSizesEntry, divided.getSizes());
    op->setAttr("mesh", entries.getDictionary(context));
  }
}

/// Removes operations and attributes that are read, or that say nothing of the mesh.
void ShardingReader::dropRest() {
  module.walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    bool passes = name == "sdy.sharding_constraint" || name == "sdy.reshard" || name == "sdy.propagation_barrier" ||
                  isShardingCall(op);
    if (passes) {
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
      return;
    }
    if (name == "sdy.sharding_group") {
      if (meshLoc) {
        OpBuilder builder(op);
        auto group = builder.getI64IntegerAttr(op->getAttrOfType<IntegerAttr>("group_id").getInt());
        Value value = op->getOperand(0);
        auto made =
            given::ConstrainOp::create(builder, op->getLoc(), value.getType(), value, given::ShardingAttr(), group);
        value.replaceUsesWithIf(made.getResult(), [&](OpOperand &use) {
          return use.getOwner() != made.getOperation() &&
                 !(use.getOwner()->getBlock() == made->getBlock() && use.getOwner()->isBeforeInBlock(made));
        });
      }
      op->erase();
      return;
    }
    if (!isa<func::FuncOp>(op)) {
      op->removeDiscardableAttr(kSdyName);
      op->removeDiscardableAttr(kMhloName);
    }
  });
  // Computations per rank are read later (ManualRegions.cpp), with their mesh.
  if (!manualOps.empty())
    return;
  for (Operation *mesh : meshOps)
    mesh->erase();
}

void ShardingReader::ignore() {
  bool hasManual = false;
  module.walk([&](Operation *op) {
    if (op->getName().getStringRef() == "sdy.mesh")
      meshOps.push_back(op);
    hasManual |= op->getName().getStringRef() == kManualName;
  });
  // Computations per rank need their mesh.
  if (hasManual)
    meshOps.clear();
  // Without statements this removes the attributes of functions alone.
  write();
  dropRest();
}

LogicalResult ShardingReader::read() {
  if (failed(collectMeshes()))
    return failure();
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto func = dyn_cast<func::FuncOp>(op); func && !func.isExternal() && failed(collectFunction(func)))
      return WalkResult::interrupt();
    return WalkResult(collectOp(op));
  });
  if (result.wasInterrupted() || failed(findFactors()))
    return failure();
  // Without a mesh all that is said is that every rank holds everything.
  if (!meshLoc)
    statements.clear();
  write();
  dropRest();
  if (!meshLoc)
    return success();
  SmallVector<Attribute> axes;
  SmallVector<int64_t> counts;
  for (unsigned axis = 0; axis < names.size(); ++axis) {
    SmallVector<AxisPart> parts = factors->getFactors(axis);
    appendNames(parts, axes);
    for (const AxisPart &part : parts)
      counts.push_back(part.size);
  }
  Builder builder(context);
  given::kMeshAttr.set(module,
                       given::MeshAttr::get(context, builder.getArrayAttr(axes), builder.getDenseI64ArrayAttr(counts)));
  if (!manualOps.empty())
    divideMeshes();
  return success();
}

namespace {

struct ReadShardings : importer::impl::ReadShardingsPassBase<ReadShardings> {
  using Base::Base;

  void runOnOperation() override {
    ShardingReader reader(getOperation());
    if (ignore)
      reader.ignore();
    else if (failed(reader.read()))
      signalPassFailure();
  }
};

} // namespace
