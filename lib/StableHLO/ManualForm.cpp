//===- ManualForm.cpp - the short form of computations per rank -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shardings are read as anywhere (ShardingForms.cpp). Axes that may split, priorities and axes over which a value is
// replicated have no meaning at the boundary of such a computation.
//
//===----------------------------------------------------------------------===//

#include "ShardingForms.h"
#include "ShortForms.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;

/// `in_shardings=[<@mesh, [{"dp"}]>, ...]`
static ParseResult parseNamedShardings(OpAsmParser &parser, OperationState &state, StringRef name) {
  Attribute shardings;
  if (parser.parseKeyword(name) || parser.parseEqual() || importer::parseShardings(parser, shardings))
    return failure();
  state.addAttribute(name, shardings);
  return success();
}

ParseResult importer::parseManualComputation(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<OpAsmParser::Argument> arguments;
  ArrayAttr manual;
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parseNamedShardings(parser, state, "in_shardings") || parseNamedShardings(parser, state, "out_shardings") ||
      parser.parseKeyword("manual_axes") || parser.parseEqual() || importer::parseAxes(parser, manual) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseRegion(*state.addRegion(), arguments) || parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type))
    return failure();
  state.addAttribute("manual_axes", manual);
  state.addTypes(type.getResults());
  return parser.resolveOperands(operands, type.getInputs(), loc, state.operands);
}
