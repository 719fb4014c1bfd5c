//===- Given.cpp - the given dialect --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms and checks of meshes and shardings. Their text is close to Shardy's, but an axis here is always a whole one.
//
//===----------------------------------------------------------------------===//

#include "dialects/Given/Given.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::given;

#include "dialects/Given/GivenDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Given/GivenAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Attributes/GivenDiscardable.cpp.inc"
#include "dialects/Given/GivenOps.cpp.inc"

void GivenDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Given/GivenAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Given/GivenOps.cpp.inc"
      >();
  addInterface(std::make_unique<AttributeContract>(this, kDeclarations));
}

LogicalResult GivenDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return getRegisteredInterface<AttributeContract>()->verifyOperation(op, attribute);
}

LogicalResult GivenDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                     NamedAttribute attribute) {
  return getRegisteredInterface<AttributeContract>()->verifyArgument(op, index, attribute);
}

LogicalResult GivenDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                        NamedAttribute attribute) {
  return getRegisteredInterface<AttributeContract>()->verifyResult(op, index, attribute);
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<Attribute> names;
  SmallVector<int64_t> sizes;
  SMLoc loc = parser.getCurrentLocation();
  auto parseAxis = [&] {
    std::string name;
    if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), parser.getBuilder().getArrayAttr(names),
                    parser.getBuilder().getDenseI64ArrayAttr(sizes));
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(llvm::zip(getNames(), getSizes().asArrayRef()), printer,
                        [&](auto axis) { printer << std::get<0>(axis) << " = " << std::get<1>(axis); });
  printer << "]>";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayAttr names, DenseI64ArrayAttr sizes) {
  assert(static_cast<int64_t>(names.size()) == sizes.size() && "a mesh has one size per axis");
  llvm::SmallPtrSet<Attribute, 8> seen;
  for (auto [name, size] : llvm::zip(names, sizes.asArrayRef())) {
    auto text = dyn_cast<StringAttr>(name);
    if (!text || text.empty() || !seen.insert(name).second)
      return emitError() << "axis " << name << " is empty or given twice in the mesh";
    if (size < 1)
      return emitError() << "axis " << name << " has size " << size << "; sizes are positive";
  }
  return success();
}

std::optional<unsigned> MeshAttr::find(Attribute name) const {
  const Attribute *found = llvm::find(getNames(), name);
  return found == getNames().end() ? std::nullopt : std::optional<unsigned>(found - getNames().begin());
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

namespace {

/// The parts of one dimension.
struct Dimension {
  SmallVector<Attribute> axes;
  bool open = false;
  int64_t priority = 0;
};

} // namespace

/// Parses `{"dp", ?}p1`.
static ParseResult parseDimension(AsmParser &parser, Dimension &dimension) {
  auto parseAxis = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      dimension.open = true;
      return success();
    }
    std::string name;
    if (dimension.open)
      return parser.emitError(parser.getCurrentLocation()) << "an axis follows the question mark, which is last";
    if (parser.parseString(&name))
      return failure();
    dimension.axes.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseAxis))
    return failure();
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(&word)))
    return success();
  if (!word.consume_front("p") || word.getAsInteger(10, dimension.priority))
    return parser.emitError(loc) << "\"" << word << "\" is no priority; an example is p1";
  return success();
}

static ParseResult parseNames(AsmParser &parser, ArrayAttr &names) {
  SmallVector<Attribute> list;
  auto parseName = [&] {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    list.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseName))
    return failure();
  names = parser.getBuilder().getArrayAttr(list);
  return success();
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> dims;
  SmallVector<bool> open;
  SmallVector<int64_t> priorities;
  ArrayAttr replicated = builder.getArrayAttr({}), unreduced = replicated;
  SMLoc loc = parser.getCurrentLocation();
  auto parseDim = [&] {
    Dimension dimension;
    if (parseDimension(parser, dimension))
      return failure();
    dims.push_back(builder.getArrayAttr(dimension.axes));
    open.push_back(dimension.open);
    priorities.push_back(dimension.priority);
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("replicated"))) {
      if (parseNames(parser, replicated))
        return {};
    } else if (parser.parseKeyword("unreduced") || parseNames(parser, unreduced)) {
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), builder.getArrayAttr(dims),
                    builder.getDenseBoolArrayAttr(open), builder.getDenseI64ArrayAttr(priorities), replicated,
                    unreduced);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(llvm::seq(getRank()), printer, [&](unsigned dim) {
    printer << "{";
    llvm::interleaveComma(getAxes(dim), printer);
    if (isOpen(dim))
      printer << (getAxes(dim).empty() ? "?" : ", ?");
    printer << "}";
    if (int64_t priority = getPriorities()[dim])
      printer << "p" << priority;
  });
  printer << "]";
  if (!getReplicated().empty())
    printer << ", replicated = " << getReplicated();
  if (!getUnreduced().empty())
    printer << ", unreduced = " << getUnreduced();
  printer << ">";
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayAttr dims,
                                   DenseBoolArrayAttr open, DenseI64ArrayAttr priorities, ArrayAttr replicated,
                                   ArrayAttr unreduced) {
  [[maybe_unused]] auto size = static_cast<int64_t>(dims.size());
  assert(open.size() == size && priorities.size() == size && "a sharding says the same of every dimension");
  llvm::SmallPtrSet<Attribute, 8> seen;
  auto check = [&](Attribute list) -> LogicalResult {
    auto names = cast<ArrayAttr>(list);
    for (Attribute name : names)
      if (!seen.insert(name).second)
        return emitError() << "axis " << name << " is named twice in a sharding";
    return success();
  };
  for (Attribute dim : dims)
    if (failed(check(dim)))
      return failure();
  return success(succeeded(check(replicated)) && succeeded(check(unreduced)));
}

std::optional<unsigned> ShardingAttr::findDim(Attribute axis) const {
  for (unsigned dim : llvm::seq(getRank()))
    if (llvm::is_contained(getAxes(dim), axis))
      return dim;
  return std::nullopt;
}

LogicalResult ShardingAttr::verifyFor(Type type, MeshAttr mesh, function_ref<InFlightDiagnostic()> emitError) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != static_cast<int64_t>(getRank()))
    return emitError() << "the sharding has " << getRank() << " dimensions, but the value is of " << type;
  if (!mesh)
    return emitError() << "there is a sharding, but the module has no given.mesh";
  auto check = [&](ArrayAttr names) -> LogicalResult {
    for (Attribute name : names)
      if (!mesh.find(name))
        return emitError() << "the mesh has no axis " << name;
    return success();
  };
  for (Attribute dim : getDims())
    if (failed(check(cast<ArrayAttr>(dim))))
      return failure();
  return success(succeeded(check(getReplicated())) && succeeded(check(getUnreduced())));
}

LogicalResult ConstrainOp::verify() {
  if (!getSharding() && !getGroup())
    return emitOpError() << "has neither a sharding nor a group";
  if (getSharding() && getSharding()->getRank() != static_cast<unsigned>(getType().getRank()))
    return emitOpError() << "has a sharding of " << getSharding()->getRank() << " dimensions for " << getType();
  return success();
}

LogicalResult given::verifyShardings(Operation *module) {
  MeshAttr mesh = kMeshAttr.get(module);
  auto check = [&](ShardingAttr sharding, Type type, function_ref<InFlightDiagnostic()> emitError) {
    return sharding ? sharding.verifyFor(type, mesh, emitError) : success();
  };
  llvm::DenseMap<int64_t, ConstrainOp> groups;
  WalkResult result = module->walk([&](Operation *op) {
    if (auto variable = dyn_cast<net::VariableOp>(op))
      return WalkResult(check(kShardingAttr.get(op), variable.getTensorType(), [&] { return op->emitError(); }));
    auto constrain = dyn_cast<ConstrainOp>(op);
    if (constrain && constrain.getGroup()) {
      auto [first, isNew] = groups.try_emplace(static_cast<int64_t>(*constrain.getGroup()), constrain);
      if (first->second.getType().getShape() != constrain.getType().getShape()) {
        auto diagnostic = op->emitError()
                          << "group " << *constrain.getGroup() << " has values of " << first->second.getType()
                          << " and " << constrain.getType() << "; values that are kept alike have one shape";
        diagnostic.attachNote(first->second.getLoc()) << "the first is here";
        return WalkResult::interrupt();
      }
    }
    if (constrain)
      return WalkResult(check(constrain.getSharding().value_or(ShardingAttr()), constrain.getType(),
                              [&] { return op->emitError(); }));
    auto func = dyn_cast<func::FuncOp>(op);
    for (unsigned index = 0; func && index < func.getNumArguments(); ++index)
      if (failed(check(kShardingAttr.getOfArgument(func, index), func.getArgumentTypes()[index],
                       [&] { return emitError(func.getArgument(index).getLoc()); })))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void given::forgetShardings(Operation *module) {
  if (!kMeshAttr.isOn(module))
    return;
  kMeshAttr.remove(module);
  auto without = [&](DictionaryAttr attributes) {
    NamedAttrList list(attributes);
    list.erase(kShardingAttr);
    return list.getDictionary(module->getContext());
  };
  module->walk([&](Operation *op) {
    if (isa<net::VariableOp>(op))
      kShardingAttr.remove(op);
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func || func.getNumArguments() == 0)
      return;
    // All at once: each change of a function's attributes takes time in the number of its arguments.
    SmallVector<DictionaryAttr, 0> attributes;
    func.getAllArgAttrs(attributes);
    func.setAllArgAttrs(llvm::map_to_vector(attributes, without));
  });
}

void given::dropShardings(Operation *module) {
  module->walk([](ConstrainOp op) {
    op.getResult().replaceAllUsesWith(op.getOperand());
    op.erase();
  });
  forgetShardings(module);
}

SmallVector<Attribute> given::orderByPriority(Operation *module) {
  llvm::MapVector<Attribute, int64_t> priorities;
  auto add = [&](ShardingAttr sharding) {
    for (unsigned dim = 0; sharding && dim < sharding.getRank(); ++dim)
      for (Attribute axis : sharding.getAxes(dim)) {
        int64_t priority = sharding.getPriorities()[dim];
        auto [entry, isNew] = priorities.insert({axis, priority});
        entry->second = std::min(entry->second, priority);
      }
  };
  module->walk([&](Operation *op) {
    if (isa<net::VariableOp>(op))
      add(kShardingAttr.get(op));
    if (auto constrain = dyn_cast<ConstrainOp>(op))
      add(constrain.getSharding().value_or(nullptr));
    auto func = dyn_cast<func::FuncOp>(op);
    for (unsigned index = 0; func && index < func.getNumArguments(); ++index)
      add(kShardingAttr.getOfArgument(func, index));
  });
  auto ordered = priorities.takeVector();
  llvm::stable_sort(ordered, [](const auto &a, const auto &b) { return a.second < b.second; });
  SmallVector<Attribute> axes;
  if (!ordered.empty() && ordered.front().second != ordered.back().second)
    for (const auto &[axis, priority] : ordered)
      axes.push_back(axis);
  return axes;
}
