//===- ShardingForms.cpp - shardings as Shardy writes them ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsers of the forms alone; ReadShardings.cpp checks what they say.
//
//===----------------------------------------------------------------------===//

#include "ShardingForms.h"
#include "ShortForms.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

ParseResult importer::parseMesh(AsmParser &parser, Attribute &mesh) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> names;
  SmallVector<int64_t> sizes;
  auto parseAxis = [&] {
    std::string name;
    if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(builder.getStringAttr(name));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return failure();
  SmallVector<int64_t> devices;
  bool lists = succeeded(parser.parseOptionalComma());
  if (lists && (parser.parseKeyword("device_ids") || parser.parseEqual() ||
                parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                               [&] { return parser.parseInteger(devices.emplace_back()); })))
    return failure();
  if (parser.parseGreater())
    return failure();
  NamedAttrList entries;
  entries.append(kAxesEntry, builder.getArrayAttr(names));
  entries.append(kSizesEntry, builder.getDenseI64ArrayAttr(sizes));
  if (lists)
    entries.append(kDevicesEntry, builder.getDenseI64ArrayAttr(devices));
  mesh = entries.getDictionary(parser.getContext());
  return success();
}

/// Parses `"x"` or `"x":(2)4`.
static ParseResult parseAxis(AsmParser &parser, SmallVectorImpl<Attribute> &axes) {
  Builder &builder = parser.getBuilder();
  std::string name;
  int64_t before, size;
  if (parser.parseString(&name))
    return failure();
  Attribute axis = builder.getStringAttr(name);
  if (succeeded(parser.parseOptionalColon())) {
    if (parser.parseLParen() || parser.parseInteger(before) || parser.parseRParen() || parser.parseInteger(size))
      return failure();
    axis = builder.getArrayAttr({axis, builder.getI64IntegerAttr(before), builder.getI64IntegerAttr(size)});
  }
  axes.push_back(axis);
  return success();
}

ParseResult importer::parseAxes(AsmParser &parser, ArrayAttr &axes) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] { return parseAxis(parser, list); }))
    return failure();
  axes = parser.getBuilder().getArrayAttr(list);
  return success();
}

/// Parses `{"x", ?}p1`.
static ParseResult parseDimension(AsmParser &parser, SmallVectorImpl<Attribute> &dims) {
  Builder &builder = parser.getBuilder();
  NamedAttrList entries;
  SmallVector<Attribute> axes;
  auto parseEntry = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    if (entries.get(kOpenEntry))
      return parser.emitError(loc) << "the question mark of an open dimension comes last";
    if (failed(parser.parseOptionalQuestion()))
      return parseAxis(parser, axes);
    entries.append(kOpenEntry, builder.getUnitAttr());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return failure();
  entries.append(kAxesEntry, builder.getArrayAttr(axes));
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    int64_t priority;
    if (!word.consume_front("p") || word.getAsInteger(10, priority))
      return parser.emitError(loc) << "\"" << word << "\" is no priority; an example is p1";
    entries.append(kPriorityEntry, builder.getI64IntegerAttr(priority));
  }
  dims.push_back(entries.getDictionary(parser.getContext()));
  return success();
}

ParseResult importer::parseSharding(AsmParser &parser, Attribute &sharding) {
  Builder &builder = parser.getBuilder();
  NamedAttrList entries;
  SmallVector<Attribute> dims;
  if (parser.parseLess())
    return failure();
  Attribute mesh;
  if (succeeded(parser.parseOptionalKeyword("mesh"))) {
    if (parseMesh(parser, mesh))
      return failure();
  } else {
    StringAttr name;
    if (parser.parseSymbolName(name))
      return failure();
    mesh = FlatSymbolRefAttr::get(name);
  }
  entries.append(kMeshEntry, mesh);
  if (parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseDimension(parser, dims); }))
    return failure();
  entries.append(kDimsEntry, builder.getArrayAttr(dims));
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    ArrayAttr axes;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    if ((word != kReplicatedEntry && word != kUnreducedEntry) || entries.get(word))
      return parser.emitError(loc)
             << "a sharding has one list of \"replicated\" and one of \"unreduced\" axes, but this "
                "is \""
             << word << "\"";
    if (parser.parseEqual() || parseAxes(parser, axes))
      return failure();
    entries.append(word, axes);
  }
  sharding = entries.getDictionary(parser.getContext());
  return parser.parseGreater();
}

ParseResult importer::parseShardings(AsmParser &parser, Attribute &shardings) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseSharding(parser, list.emplace_back()); }))
    return failure();
  shardings = parser.getBuilder().getArrayAttr(list);
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// `mesh @mesh = <["dp"=2, "tp"=2]>`
ParseResult importer::parseSdyMesh(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  Attribute mesh;
  if (parser.parseSymbolName(name, "sym_name", state.attributes) || parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseEqual() || parseMesh(parser, mesh) || parser.parseOptionalAttrDict(state.attributes))
    return failure();
  state.addAttribute("mesh", mesh);
  return success();
}

/// `sharding_constraint %a <@mesh, [{"dp", ?}, {}]> : type`
ParseResult importer::parseSdyConstraint(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  Attribute sharding;
  if (parser.parseOperand(operand) || parseSharding(parser, sharding))
    return failure();
  state.addAttribute("sharding", sharding);
  return parseTypes(parser, state, operand);
}

/// `sharding_group %a group_id=1 : type`
ParseResult importer::parseSdyGroup(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  int64_t group;
  Type type;
  if (parser.parseOperand(operand) || parser.parseKeyword("group_id") || parser.parseEqual() ||
      parser.parseInteger(group) || parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type))
    return failure();
  state.addAttribute("group_id", parser.getBuilder().getI64IntegerAttr(group));
  return parser.resolveOperand(operand, type, state.operands);
}

/// `propagation_barrier %a allowed_direction=NONE : type`
ParseResult importer::parseSdyBarrier(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  StringRef direction;
  if (parser.parseOperand(operand) || parser.parseKeyword("allowed_direction") || parser.parseEqual() ||
      parser.parseKeyword(&direction))
    return failure();
  state.addAttribute("allowed_direction", parser.getBuilder().getStringAttr(direction));
  return parseTypes(parser, state, operand);
}
