//===- ManualForm.cpp - the short form of computations per rank -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sharding of a computation per rank becomes a dictionary: "mesh", the name of its mesh, and "dims", the names of the
// axes of every dimension. What else Shardy can say of a sharding (axes that may split, priorities, axes over which the
// value is replicated) has no meaning at the boundary of such a computation.
//
//===----------------------------------------------------------------------===//

#include "ShortForms.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;

/// `{"dp", "tp", ?}p0`, or `{"dp":(1)2}` for a part of an axis, which stays one name.
static ParseResult parseAxes(AsmParser &parser, Attribute &axes) {
  SmallVector<Attribute> names;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (succeeded(parser.parseOptionalQuestion()))
      return success();
    if (parser.parseString(&name))
      return failure();
    if (succeeded(parser.parseOptionalColon())) {
      int64_t before, size;
      if (parser.parseLParen() || parser.parseInteger(before) || parser.parseRParen() || parser.parseInteger(size))
        return failure();
      name += ":(" + std::to_string(before) + ")" + std::to_string(size);
    }
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseAxis))
    return failure();
  // The priority of a dimension in propagation is a word such as `p1`.
  StringRef priority;
  (void)parser.parseOptionalKeyword(&priority);
  axes = parser.getBuilder().getArrayAttr(names);
  return success();
}

/// `<@mesh, [{"dp"}, {}], replicated={"tp"}>`
static ParseResult parseSharding(AsmParser &parser, Attribute &sharding) {
  Builder &builder = parser.getBuilder();
  StringAttr mesh;
  SmallVector<Attribute> dims;
  if (parser.parseLess() || parser.parseSymbolName(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseAxes(parser, dims.emplace_back()); }))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    StringRef what;
    Attribute axes;
    if (parser.parseKeyword(&what) || parser.parseEqual() || parseAxes(parser, axes))
      return failure();
  }
  sharding = builder.getDictionaryAttr(
      {builder.getNamedAttr("mesh", mesh), builder.getNamedAttr("dims", builder.getArrayAttr(dims))});
  return parser.parseGreater();
}

/// `in_shardings=[<@mesh, [{"dp"}]>, ...]`
static ParseResult parseShardings(OpAsmParser &parser, OperationState &state, StringRef name) {
  SmallVector<Attribute> shardings;
  if (parser.parseKeyword(name) || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseSharding(parser, shardings.emplace_back()); }))
    return failure();
  state.addAttribute(name, parser.getBuilder().getArrayAttr(shardings));
  return success();
}

ParseResult importer::parseManualComputation(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<OpAsmParser::Argument> arguments;
  Attribute manual;
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parseShardings(parser, state, "in_shardings") || parseShardings(parser, state, "out_shardings") ||
      parser.parseKeyword("manual_axes") || parser.parseEqual() || parseAxes(parser, manual) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseRegion(*state.addRegion(), arguments) || parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type))
    return failure();
  state.addAttribute("manual_axes", manual);
  state.addTypes(type.getResults());
  return parser.resolveOperands(operands, type.getInputs(), loc, state.operands);
}
