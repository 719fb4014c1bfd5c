//===- Dist.cpp - the dist dialect: mapping, mesh, reshard ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the dialect; parses, prints and verifies `#dist.mapping` and `dist.mesh`, whose syntax is too compact for a
// declarative format; verifies `dist.coordinate` and `dist.reshard`; and reads and writes the placements of values. The
// verifier of a mapping knows no mesh; Placement.h resolves the mapping against one.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Manual.h"
#include "dialects/Dist/Placement.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

#include "dialects/Dist/DistConversionInterface.cpp.inc"
#include "dialects/Dist/DistDialect.cpp.inc"
#include "dialects/Dist/DistEnums.cpp.inc"
// Called by the generated code.
static ParseResult parseDigits(AsmParser &parser, SmallVectorImpl<DigitAttr> &digits);
static void printDigits(AsmPrinter &printer, ArrayRef<DigitAttr> digits);

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Dist/DistTypes.cpp.inc"
static ParseResult parseKindAndReduction(OpAsmParser &parser, CollectiveKindAttr &kind, ReduceKindAttr &reduction) {
  FailureOr<CollectiveKind> parsed = parseCollectiveKind(parser);
  if (failed(parsed))
    return failure();
  kind = CollectiveKindAttr::get(parser.getContext(), *parsed);
  // Kinds that do not reduce name no reduction.
  if (getTraits(*parsed).isReducing())
    return parser.parseCustomAttributeWithFallback(reduction);
  reduction = ReduceKindAttr::get(parser.getContext(), ReduceKind::Sum);
  return success();
}

static void printKindAndReduction(OpAsmPrinter &printer, CollectiveOp, CollectiveKindAttr kind,
                                  ReduceKindAttr reduction) {
  printer << stringifyCollectiveKind(kind.getValue());
  if (getTraits(kind.getValue()).isReducing())
    printer << " " << stringifyReduceKind(reduction.getValue());
}

#define GET_OP_CLASSES
#include "dialects/Attributes/DistDiscardable.cpp.inc"
#include "dialects/Dist/DistOps.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Dist/DistAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Dist/DistTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dist/DistOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dist/DistManual.cpp.inc"
      >();
  addInterface(std::make_unique<AttributeContract>(this, kDeclarations));
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return getRegisteredInterface<AttributeContract>()->verifyOperation(op, attribute);
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  return getRegisteredInterface<AttributeContract>()->verifyArgument(op, index, attribute);
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute attribute) {
  return getRegisteredInterface<AttributeContract>()->verifyResult(op, index, attribute);
}

bool meshwright::dist::isOnHost(Operation *variable) {
  auto memory = kMemoryAttr.get(variable);
  return memory && memory.getValue() == MemoryKind::Host;
}

RankedTensorType meshwright::dist::getTensorType(Type type) {
  auto handle = dyn_cast<HandleType>(type);
  return handle ? handle.getType() : cast<RankedTensorType>(type);
}

//===----------------------------------------------------------------------===//
// MappingAttr
//===----------------------------------------------------------------------===//

/// Parses what a digit is: an axis name, optionally with the size of its parts, or a number.
static ParseResult parseDigit(AsmParser &parser, DigitAttr &digit) {
  SMLoc loc = parser.getCurrentLocation();
  StringAttr name;
  std::optional<int64_t> size;
  std::string axis;
  OptionalParseResult number = parser.parseOptionalInteger(size.emplace());
  if (number.has_value()) {
    if (failed(*number))
      return failure();
  } else {
    size.reset();
    if (parser.parseString(&axis))
      return failure();
    name = parser.getBuilder().getStringAttr(axis);
    if (succeeded(parser.parseOptionalKeyword("by")) && parser.parseInteger(size.emplace()))
      return failure();
  }
  digit = DigitAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), name, size);
  return success(digit != nullptr);
}

static void printDigit(AsmPrinter &printer, DigitAttr digit) {
  if (digit.isPlain())
    printer << *digit.getSize();
  else
    printer << digit.getAxis();
  if (!digit.isPlain() && digit.getSize())
    printer << " by " << *digit.getSize();
}

Attribute DigitAttr::parse(AsmParser &parser, Type) {
  DigitAttr digit;
  return parser.parseLess() || parseDigit(parser, digit) || parser.parseGreater() ? DigitAttr() : digit;
}

void DigitAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDigit(printer, *this);
  printer << ">";
}

LogicalResult DigitAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr axis,
                                std::optional<int64_t> size) {
  // digit_c1
  if (!axis && !size)
    return emitError() << "a digit of the dims mapping has neither an axis nor a size";
  if (size && *size <= 0)
    return emitError() << "digit " << *size << " of the dims mapping is not positive";
  return success();
}

static ParseResult parseDigits(AsmParser &parser, SmallVectorImpl<DigitAttr> &digits) {
  return parser.parseCommaSeparatedList([&] { return parseDigit(parser, digits.emplace_back()); });
}

static void printDigits(AsmPrinter &printer, ArrayRef<DigitAttr> digits) {
  llvm::interleaveComma(digits, printer, [&](DigitAttr digit) { printDigit(printer, digit); });
}

MappingAttr MappingAttr::getReplicated(MLIRContext *context, unsigned rank) {
  Builder builder(context);
  SmallVector<DigitsAttr> dims(rank, DigitsAttr::get(context, {}));
  return get(context, dims, ReduceKind::Sum, builder.getArrayAttr({}), builder.getDictionaryAttr({}));
}

bool MappingAttr::isReplicated() const {
  return getPartialAxes().empty() && getSupport().empty() &&
         llvm::all_of(getDims(), [](DigitsAttr digits) { return digits.empty(); });
}

static ParseResult parseAxes(AsmParser &parser, SmallVectorImpl<Attribute> &axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    std::string axis;
    if (parser.parseString(&axis))
      return failure();
    axes.push_back(parser.getBuilder().getStringAttr(axis));
    return success();
  });
}

static ParseResult parseSupport(AsmParser &parser, NamedAttrList &support) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
    std::string axis;
    SmallVector<int64_t> coordinates;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseString(&axis) || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&] { return parser.parseInteger(coordinates.emplace_back()); }))
      return failure();
    if (axis.empty() || support.get(axis))
      return parser.emitError(loc) << "axis \"" << axis << "\" is empty or stands twice in the support";
    support.set(axis, parser.getBuilder().getDenseI64ArrayAttr(coordinates));
    return success();
  });
}

Attribute MappingAttr::parse(AsmParser &parser, Type) {
  Builder &builder = parser.getBuilder();
  SmallVector<DigitsAttr> dims;
  SmallVector<Attribute> partialAxes;
  NamedAttrList support;
  ReduceKind kind = ReduceKind::Sum;
  auto parseDim = [&]() -> ParseResult {
    SmallVector<DigitAttr> digits;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&] { return parseDigit(parser, digits.emplace_back()); }))
      return failure();
    dims.push_back(DigitsAttr::get(parser.getContext(), digits));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword("dims") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("partial"))) {
      FailureOr<ReduceKind> parsed =
          parser.parseEqual() ? FailureOr<ReduceKind>() : FieldParser<ReduceKind>::parse(parser);
      if (failed(parsed) || parseAxes(parser, partialAxes))
        return {};
      kind = *parsed;
    } else if (parser.parseKeyword("on") || parseSupport(parser, support)) {
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), dims, kind,
                    builder.getArrayAttr(partialAxes), support.getDictionary(parser.getContext()));
}

void MappingAttr::print(AsmPrinter &printer) const {
  printer << "<dims = [";
  llvm::interleaveComma(getDims(), printer, [&](DigitsAttr digits) {
    printer << "[";
    printDigits(printer, digits.getList());
    printer << "]";
  });
  printer << "]";
  if (!getPartialAxes().empty())
    printer << ", partial = " << stringifyReduceKind(getPartialKind()) << " " << getPartialAxes();
  if (!getSupport().empty()) {
    printer << ", on {";
    llvm::interleaveComma(getSupport(), printer, [&](NamedAttribute entry) {
      printer << entry.getName() << " = [";
      llvm::interleaveComma(cast<DenseI64ArrayAttr>(entry.getValue()).asArrayRef(), printer);
      printer << "]";
    });
    printer << "}";
  }
  printer << ">";
}

LogicalResult MappingAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<DigitsAttr> dims, ReduceKind,
                                  ArrayAttr partialAxes, DictionaryAttr support) {
  llvm::StringSet<> seen;
  // mapping_c1
  auto see = [&](Attribute axis) -> LogicalResult {
    auto name = dyn_cast<StringAttr>(axis);
    if (!name || !seen.insert(name).second)
      return emitError() << "axis " << axis << " stands twice in the dims mapping";
    return success();
  };
  for (DigitsAttr digits : dims)
    for (DigitAttr digit : digits)
      if (!digit.isPlain() && failed(see(digit.getAxis())))
        return failure();
  for (Attribute axis : partialAxes)
    if (failed(see(axis)))
      return failure();
  // mapping_c2
  for (NamedAttribute entry : support) {
    auto coordinates = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
    if (!coordinates || coordinates.empty())
      return emitError() << "support of axis " << entry.getName() << " is empty or no list of coordinates";
    ArrayRef<int64_t> list = coordinates.asArrayRef();
    for (auto [before, after] : llvm::zip(list.drop_back(), list.drop_front()))
      if (before >= after)
        return emitError() << "support of axis " << entry.getName() << " has coordinate " << after << " after "
                           << before;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// MeshOp
//===----------------------------------------------------------------------===//

ParseResult MeshOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<Attribute> axes;
  SmallVector<int64_t> sizes;
  SmallVector<int32_t> kinds;
  auto parseAxis = [&]() -> ParseResult {
    std::string axis;
    AxisKind kind = succeeded(parser.parseOptionalKeyword("slices"))  ? AxisKind::Slices
                    : succeeded(parser.parseOptionalKeyword("steps")) ? AxisKind::Steps
                                                                      : AxisKind::Ranks;
    kinds.push_back(static_cast<int32_t>(kind));
    if (parser.parseString(&axis) || parser.parseEqual() || parser.parseInteger(sizes.emplace_back()))
      return failure();
    axes.push_back(parser.getBuilder().getStringAttr(axis));
    return success();
  };
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes) || parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) || parser.parseGreater() ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  result.addAttribute("axes", parser.getBuilder().getArrayAttr(axes));
  result.addAttribute("sizes", parser.getBuilder().getDenseI64ArrayAttr(sizes));
  if (llvm::any_of(kinds, [](int32_t kind) { return kind != static_cast<int32_t>(AxisKind::Ranks); }))
    result.addAttribute("kinds", parser.getBuilder().getDenseI32ArrayAttr(kinds));
  return success();
}

void MeshOp::build(OpBuilder &builder, OperationState &state, StringRef name, const Mesh &mesh) {
  SmallVector<StringRef> axes;
  SmallVector<int64_t> sizes;
  SmallVector<int32_t> kinds;
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis) {
    axes.push_back(mesh.getName(axis));
    sizes.push_back(mesh.getSize(axis));
    kinds.push_back(static_cast<int32_t>(mesh.getKind(axis)));
  }
  bool hasTimes = mesh.getNumRankAxes() < mesh.getNumAxes();
  build(builder, state, builder.getStringAttr(name), builder.getStrArrayAttr(axes), builder.getDenseI64ArrayAttr(sizes),
        hasTimes ? builder.getDenseI32ArrayAttr(kinds) : DenseI32ArrayAttr());
}

static StringRef getPrefix(AxisKind kind) {
  switch (kind) {
  case AxisKind::Ranks:
    return "";
  case AxisKind::Slices:
    return "slices ";
  case AxisKind::Steps:
    return "steps ";
  }
  return "";
}

void MeshOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printer << " <[";
  Mesh mesh = getMesh();
  llvm::interleaveComma(llvm::seq<Axis>(0, mesh.getNumAxes()), printer, [&](Axis axis) {
    printer << getPrefix(mesh.getKind(axis)) << getAxes()[axis] << " = " << mesh.getSize(axis);
  });
  printer << "]>";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"sym_name", "axes", "sizes", "kinds"});
}

LogicalResult MeshOp::verify() {
  // mesh_c4
  auto module = dyn_cast<ModuleOp>((*this)->getParentOp());
  if (MeshOp first = module ? findMesh(module) : *this; first != *this) {
    InFlightDiagnostic diagnostic = emitOpError() << "is a second mesh; placements are on the first one";
    diagnostic.attachNote(first.getLoc()) << "the first mesh is here";
    return diagnostic;
  }
  if (getAxes().size() != getSizes().size())
    return emitOpError() << "has " << getAxes().size() << " axes but " << getSizes().size() << " sizes";
  if (getKinds() && getKinds()->size() != getSizes().size())
    return emitOpError() << "has " << getAxes().size() << " axes but " << getKinds()->size() << " kinds";
  SmallVector<int32_t> kinds(getSizes().size(), static_cast<int32_t>(AxisKind::Ranks));
  if (getKinds())
    llvm::copy(*getKinds(), kinds.begin());
  for (int32_t kind : kinds)
    if (kind < 0 || kind > static_cast<int32_t>(AxisKind::Steps))
      return emitOpError() << "has " << kind << " as the kind of an axis";
  // mesh_c3
  for (auto [before, kind] :
       llvm::zip(ArrayRef(kinds).drop_back(!kinds.empty()), ArrayRef(kinds).drop_front(!kinds.empty())))
    if (kind < before || (kind == before && kind != static_cast<int32_t>(AxisKind::Ranks)))
      return emitOpError() << "has axes in another order than those of ranks, one of slices, one of steps";
  llvm::StringSet<> seen;
  int64_t ranks = 1, times = 1;
  for (auto [axis, size, kind] : llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes(), kinds)) {
    // mesh_c1
    if (axis.empty() || !seen.insert(axis).second)
      return emitOpError() << "axis \"" << axis << "\" is empty or stands twice";
    // mesh_c2
    bool isTime = kind != static_cast<int32_t>(AxisKind::Ranks);
    int64_t &product = isTime ? times : ranks;
    if (size <= 0 || product > INT32_MAX / size)
      return emitOpError() << "axis \"" << axis << "\" has size " << size << "; sizes are positive and the number of "
                           << (isTime ? "times" : "ranks") << " is at most " << INT32_MAX;
    product *= size;
  }
  return success();
}

Mesh MeshOp::getMesh() {
  SmallVector<std::string> names;
  for (StringRef axis : getAxes().getAsValueRange<StringAttr>())
    names.push_back(axis.str());
  SmallVector<AxisKind> kinds;
  ArrayRef<int32_t> numbers = getKinds().value_or(ArrayRef<int32_t>());
  for (int32_t kind : numbers)
    kinds.push_back(static_cast<AxisKind>(kind));
  return Mesh(names, getSizes(), kinds);
}

MeshOp dist::findMesh(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

//===----------------------------------------------------------------------===//
// CoordinateOp, ReshardOp, AccumulateOp
//===----------------------------------------------------------------------===//

LogicalResult CoordinateOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  // coordinate_c1
  if (!mesh || !mesh.getMesh().find(getAxis()))
    return emitOpError() << "names axis \"" << getAxis() << "\", which the module's mesh does not have";
  return success();
}

LogicalResult ReshardOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  // reshard_c1
  if (!mesh)
    return emitOpError() << "stands in a module without mesh";
  auto shape = cast<RankedTensorType>(getResult().getType()).getShape();
  auto error = [&] { return emitOpError(); };
  return success(succeeded(Placement::resolve(getFrom(), mesh.getMesh(), shape, error)) &&
                 succeeded(Placement::resolve(getTo(), mesh.getMesh(), shape, error)));
}

LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto module = (*this)->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  std::optional<Axis> axis = mesh ? mesh.getMesh().find(getAxis()) : std::nullopt;
  // accumulate_c2
  if (!axis || !mesh.getMesh().isTime(*axis))
    return emitOpError() << "names axis \"" << getAxis() << "\", which is no axis of times of the module's mesh";
  // accumulate_c3
  int64_t last = 0;
  for (int64_t coordinate : getSums().value_or(ArrayRef<int64_t>())) {
    if (coordinate <= last || coordinate >= mesh.getMesh().getSize(*axis))
      return emitOpError() << "sums at coordinate " << coordinate << " after " << last << " of axis \"" << getAxis()
                           << "\" of size " << mesh.getMesh().getSize(*axis)
                           << "; these ascend, and the first has nothing to add to";
    last = coordinate;
  }
  return success();
}

LogicalResult WhenOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  // when_c1
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "yields not the " << getNumResults() << " results that it has";
  return success();
}

LogicalResult WhenOp::verifySymbolUses(SymbolTableCollection &) {
  auto module = (*this)->getParentOfType<ModuleOp>();
  MeshOp meshOp = module ? findMesh(module) : MeshOp();
  Mesh mesh = meshOp ? meshOp.getMesh() : Mesh();
  // when_c2
  if (getTimes().empty())
    return emitOpError() << "names no times";
  for (NamedAttribute entry : getTimes()) {
    std::optional<Axis> axis = mesh.find(entry.getName());
    auto times = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
    if (!axis || !mesh.isTime(*axis))
      return emitOpError() << "names axis " << entry.getName() << ", which is no axis of times of the module's mesh";
    ArrayRef<int64_t> list = times ? times.asArrayRef() : ArrayRef<int64_t>();
    bool isAscending = llvm::is_sorted(list, std::less_equal<>());
    if (list.empty() || !isAscending || list.front() < 0 || list.back() >= mesh.getSize(*axis) ||
        static_cast<int64_t>(list.size()) == mesh.getSize(*axis))
      return emitOpError() << "names " << entry.getValue() << " of axis " << entry.getName() << ", which are not some "
                           << "of its " << mesh.getSize(*axis) << " times in ascending order";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Placements of values
//===----------------------------------------------------------------------===//

MappingAttr dist::getMapping(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto mappings = kResultsAttr.get(result.getOwner());
    if (!mappings || mappings.size() <= result.getResultNumber())
      return {};
    return dyn_cast<MappingAttr>(mappings[result.getResultNumber()]);
  }
  auto argument = cast<BlockArgument>(value);
  if (auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
    return kMappingAttr.getOfArgument(func, argument.getArgNumber());
  return {};
}

void dist::setMapping(Value value, MappingAttr mapping) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    cast<func::FuncOp>(argument.getOwner()->getParentOp()).setArgAttr(argument.getArgNumber(), kMappingAttr, mapping);
    return;
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  SmallVector<Attribute> mappings(op->getNumResults(), UnitAttr::get(op->getContext()));
  if (auto existing = kResultsAttr.get(op))
    llvm::copy(existing, mappings.begin());
  mappings[result.getResultNumber()] = mapping;
  kResultsAttr.set(op, ArrayAttr::get(op->getContext(), mappings));
}
