//===- Transfer.cpp - modules from one context to another -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dialect of the same name may have other classes in the other context, so that no attribute of a dialect can be taken
// over. Its text is what both have in common. Each distinct attribute and type is printed and parsed once; constants,
// lists, strings and locations, which are many or large, are built without text.
//
//===----------------------------------------------------------------------===//

#include "Transfer.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;

template <typename T> static std::string print(T printed) {
  std::string text;
  llvm::raw_string_ostream out(text);
  printed.print(out);
  return text;
}

//===----------------------------------------------------------------------===//
// Types, attributes, locations
//===----------------------------------------------------------------------===//

Type Transfer::map(Type type) {
  auto [entry, isNew] = types.try_emplace(type);
  if (!isNew)
    return entry->second;
  Type mapped;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    Type element = map(tensor.getElementType());
    Attribute encoding = tensor.getEncoding() ? map(tensor.getEncoding()) : Attribute();
    if (element && static_cast<bool>(encoding) == static_cast<bool>(tensor.getEncoding()))
      mapped = RankedTensorType::get(tensor.getShape(), element, encoding);
  } else if (auto function = dyn_cast<FunctionType>(type)) {
    auto mapAll = [&](TypeRange list) { return llvm::map_to_vector(list, [&](Type each) { return map(each); }); };
    SmallVector<Type> inputs = mapAll(function.getInputs()), results = mapAll(function.getResults());
    if (!llvm::is_contained(inputs, Type()) && !llvm::is_contained(results, Type()))
      mapped = FunctionType::get(&context, inputs, results);
  } else {
    mapped = parseType(print(type), &context);
  }
  return types[type] = mapped;
}

Attribute Transfer::map(Attribute attribute) {
  auto [entry, isNew] = attributes.try_emplace(attribute);
  if (!isNew)
    return entry->second;
  Attribute built = build(attribute);
  return attributes[attribute] = built;
}

Attribute Transfer::build(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute); text && isa<NoneType>(text.getType()))
    return StringAttr::get(&context, text.getValue());
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    SmallVector<Attribute> elements = llvm::map_to_vector(list, [&](Attribute each) { return map(each); });
    return llvm::is_contained(elements, Attribute()) ? Attribute() : ArrayAttr::get(&context, elements);
  }
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    NamedAttrList entries;
    for (NamedAttribute entry : dictionary) {
      Attribute value = map(entry.getValue());
      if (!value)
        return {};
      entries.append(entry.getName().getValue(), value);
    }
    return entries.getDictionary(&context);
  }
  if (auto held = dyn_cast<TypeAttr>(attribute)) {
    Type type = map(held.getValue());
    return type ? TypeAttr::get(type) : Attribute();
  }
  // Constants may be large.
  if (auto dense = dyn_cast<DenseIntOrFPElementsAttr>(attribute)) {
    auto type = dyn_cast_or_null<ShapedType>(map(Type(dense.getType())));
    return type ? DenseElementsAttr::getFromRawBuffer(type, dense.getRawData()) : Attribute();
  }
  if (auto location = dyn_cast<LocationAttr>(attribute))
    return static_cast<LocationAttr>(map(Location(location)));
  return parseAttribute(print(attribute), &context);
}

Location Transfer::map(Location location) {
  LocationAttr from = location;
  if (auto found = attributes.find(from); found != attributes.end())
    return Location(cast<LocationAttr>(found->second));
  auto build = [&]() -> Location {
    if (auto range = dyn_cast<FileLineColRange>(from))
      return FileLineColRange::get(StringAttr::get(&context, range.getFilename().getValue()), range.getStartLine(),
                                   range.getStartColumn(), range.getEndLine(), range.getEndColumn());
    if (auto name = dyn_cast<NameLoc>(from))
      return NameLoc::get(StringAttr::get(&context, name.getName().getValue()), map(name.getChildLoc()));
    if (auto fused = dyn_cast<FusedLoc>(from)) {
      SmallVector<Location> parts = llvm::map_to_vector(fused.getLocations(), [&](Location part) { return map(part); });
      return FusedLoc::get(&context, parts);
    }
    if (auto call = dyn_cast<CallSiteLoc>(from))
      return CallSiteLoc::get(map(call.getCallee()), map(call.getCaller()));
    return UnknownLoc::get(&context);
  };
  Location built = build();
  attributes[from] = static_cast<LocationAttr>(built);
  return built;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// All attributes of an operation. Those of one that is not registered may be its properties.
static NamedAttrList getAttributes(Operation *op) {
  NamedAttrList all(op->getAttrDictionary());
  if (auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    for (NamedAttribute property : properties)
      if (!all.get(property.getName()))
        all.append(property);
  return all;
}

Operation *Transfer::copy(Operation *op) {
  StringRef name = op->getName().getStringRef();
  // Before the operation is looked up, which is registered by its dialect.
  Dialect *dialect = context.getOrLoadDialect(op->getName().getDialectNamespace());
  OperationState state(map(op->getLoc()), name);
  if (!state.name.isRegistered()) {
    if (!dialect || !dialect->allowsUnknownOperations())
      return op->emitError() << name
                             << " is of a dialect that graphs of StableHLO do not have; a module with operations "
                                "of other dialects has the source dialects of registerAllDialects beside them",
             nullptr;
  }
  for (NamedAttribute attribute : getAttributes(op)) {
    Attribute value = map(attribute.getValue());
    if (!value)
      return op->emitError() << name << " has an attribute \"" << attribute.getName().getValue()
                             << "\" that is not one of the builtin dialect or of StableHLO: " << attribute.getValue(),
             nullptr;
    state.addAttribute(attribute.getName().getValue(), value);
  }
  for (Value operand : op->getOperands()) {
    Value mapped = values.lookup(operand);
    if (!mapped)
      return op->emitError() << name
                             << " reads a value before its definition; the operations of a graph stand in order",
             nullptr;
    state.operands.push_back(mapped);
  }
  for (Type type : op->getResultTypes()) {
    state.types.push_back(map(type));
    if (!state.types.back())
      return op->emitError() << name << " makes a value of " << type << ", which is not of the builtin dialect",
             nullptr;
  }
  for (Block *successor : op->getSuccessors())
    state.addSuccessors(blocks.lookup(successor));
  for (unsigned index = 0; index < op->getNumRegions(); ++index)
    state.addRegion();
  Operation *made = Operation::create(state);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), made->getResults()))
    values[from] = to;
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), made->getRegions()))
    if (failed(copy(from, to))) {
      made->destroy();
      return nullptr;
    }
  return made;
}

LogicalResult Transfer::copy(Region &from, Region &to) {
  for (Block &block : from) {
    auto *made = new Block();
    to.push_back(made);
    blocks[&block] = made;
    for (BlockArgument argument : block.getArguments()) {
      Type type = map(argument.getType());
      if (!type)
        return emitError(argument.getLoc())
               << "an argument is of " << argument.getType() << ", which is not of the builtin dialect";
      values[argument] = made->addArgument(type, map(argument.getLoc()));
    }
  }
  for (Block &block : from)
    for (Operation &op : block) {
      Operation *made = copy(&op);
      if (!made)
        return failure();
      blocks[&block]->push_back(made);
    }
  return success();
}

OwningOpRef<ModuleOp> Transfer::copy(ModuleOp module) {
  // An attribute that cannot be parsed has an error here, at its operation.
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  return OwningOpRef<ModuleOp>(cast_if_present<ModuleOp>(copy(module.getOperation())));
}
