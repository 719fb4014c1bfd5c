//===- CallForms.cpp - short forms of calls and similar operations --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShortForms.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;

using Operands = SmallVector<OpAsmParser::UnresolvedOperand>;

ParseResult importer::parseCholesky(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  if (parser.parseOperand(operand))
    return failure();
  if (succeeded(parser.parseOptionalComma())) {
    Attribute lower;
    if (parser.parseKeyword("lower") || parser.parseEqual() || parser.parseAttribute(lower))
      return failure();
    state.addAttribute("lower", lower);
  }
  return parseTypes(parser, state, operand);
}

ParseResult importer::parseReducePrecision(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  StringRef format;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperand(operand) || parser.parseComma() || parser.parseKeyword("format") || parser.parseEqual() ||
      parser.parseKeyword(&format))
    return failure();
  StringRef rest = format;
  int32_t exponent = 0, mantissa = 0;
  if (!rest.consume_front("e") || rest.consumeInteger(10, exponent) || !rest.consume_front("m") ||
      rest.getAsInteger(10, mantissa))
    return parser.emitError(loc) << "\"" << format << "\" is not a format of floats; e5m10 is one";
  state.addAttribute("exponent_bits", parser.getBuilder().getI32IntegerAttr(exponent));
  state.addAttribute("mantissa_bits", parser.getBuilder().getI32IntegerAttr(mantissa));
  return parseTypes(parser, state, operand);
}

ParseResult importer::parseTopK(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  Type type;
  int64_t count;
  if (parser.parseLParen() || parser.parseOperand(operand) || parser.parseComma() || parser.parseKeyword("k") ||
      parser.parseEqual() || parser.parseInteger(count) || parser.parseRParen() ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.parseArrowTypeList(state.types) || parser.resolveOperand(operand, type, state.operands))
    return failure();
  state.addAttribute("k", parser.getBuilder().getI64IntegerAttr(count));
  return success();
}

ParseResult importer::parseCustomCall(OpAsmParser &parser, OperationState &state) {
  StringAttr target;
  Operands operands;
  if (parser.parseSymbolName(target) || parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren))
    return failure();
  state.addAttribute("call_target_name", target);
  return parseTypes(parser, state, operands);
}

ParseResult importer::parseComposite(OpAsmParser &parser, OperationState &state) {
  std::string name;
  Operands operands;
  if (parser.parseString(&name) || parser.parseOperandList(operands))
    return failure();
  state.addAttribute("name", parser.getBuilder().getStringAttr(name));
  return parseTypes(parser, state, operands);
}

ParseResult importer::parseBarrier(OpAsmParser &parser, OperationState &state) {
  Operands operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getNameLoc();
  if (parser.parseOperandList(operands) || parser.parseOptionalAttrDict(state.attributes))
    return failure();
  if (!operands.empty() && parser.parseColonTypeList(types))
    return failure();
  state.addTypes(types);
  return parser.resolveOperands(operands, types, loc, state.operands);
}
