//===- ShortForm.cpp - parsers of the short forms of StableHLO operations -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the form that JAX prints by default into the attributes and regions of the generic form, so that converters do
// not depend on how an operation was written. There is one parser per form, and a table from names to parsers.
//
//===----------------------------------------------------------------------===//

#include "Known.h"
#include "ShardingForms.h"
#include "ShortForms.h"
#include "SourceDialects.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

using Operands = SmallVector<OpAsmParser::UnresolvedOperand>;
using ParseFn = ParseResult (*)(OpAsmParser &, OperationState &);

/// Parses `[0, 1]` into an attribute.
static ParseResult parseDims(OpAsmParser &parser, Attribute &dims) {
  SmallVector<int64_t> numbers;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(numbers.emplace_back()); }))
    return failure();
  dims = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  return success();
}

/// Parses `, keyword = [0, 1]` into attribute `name`.
static ParseResult parseNamedDims(OpAsmParser &parser, OperationState &state, StringRef keyword, StringRef name) {
  Attribute dims;
  if (parser.parseComma() || parser.parseKeyword(keyword) || parser.parseEqual() || parseDims(parser, dims))
    return failure();
  state.addAttribute(name, dims);
  return success();
}

ParseResult importer::parseTypes(OpAsmParser &parser, OperationState &state,
                                 ArrayRef<OpAsmParser::UnresolvedOperand> operands) {
  SmallVector<Type> types;
  SMLoc loc = parser.getNameLoc();
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColonTypeList(types))
    return failure();
  if (auto function = dyn_cast<FunctionType>(types.front()); function && types.size() == 1) {
    state.addTypes(function.getResults());
    return parser.resolveOperands(operands, function.getInputs(), loc, state.operands);
  }
  // `select` lists the type of the predicate and one type for all other values.
  if (operands.size() == 3 && types.size() == 2)
    types.push_back(types.back());
  Type result = types.back();
  if (types.size() == 1)
    types.assign(operands.size(), result);
  if (succeeded(parser.parseOptionalArrow()) && parser.parseType(result))
    return failure();
  state.addTypes(result);
  return parser.resolveOperands(operands, types, loc, state.operands);
}

/// `op %a, %b : types`
static ParseResult parseElementwise(OpAsmParser &parser, OperationState &state) {
  Operands operands;
  return failure(parser.parseOperandList(operands) || parseTypes(parser, state, operands));
}

/// `constant dense<0.0> : tensor<4xf32>`
static ParseResult parseConstant(OpAsmParser &parser, OperationState &state) {
  SMLoc loc = parser.getCurrentLocation();
  Attribute value;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseAttribute(value, "value", state.attributes))
    return failure();
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements)
    return parser.emitError(loc) << "a constant is dense<...> of a tensor type, not " << value;
  state.addTypes(elements.getType());
  return success();
}

/// `iota dim = 0 : tensor<4xi32>`
static ParseResult parseIota(OpAsmParser &parser, OperationState &state) {
  int64_t dim;
  Type type;
  if (parser.parseKeyword("dim") || parser.parseEqual() || parser.parseInteger(dim) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type))
    return failure();
  state.addAttribute("iota_dimension", parser.getBuilder().getI64IntegerAttr(dim));
  state.addTypes(type);
  return success();
}

/// `op %a, dims = [0] : types`, into attribute `name`
static ParseResult parseWithDims(OpAsmParser &parser, OperationState &state, StringRef name) {
  OpAsmParser::UnresolvedOperand operand;
  return failure(parser.parseOperand(operand) || parseNamedDims(parser, state, "dims", name) ||
                 parseTypes(parser, state, operand));
}

static ParseResult parseBroadcast(OpAsmParser &parser, OperationState &state) {
  return parseWithDims(parser, state, "broadcast_dimensions");
}

static ParseResult parseTranspose(OpAsmParser &parser, OperationState &state) {
  return parseWithDims(parser, state, "permutation");
}

/// `slice %a [0:4, 2:8:2] : types`
static ParseResult parseSlice(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  SmallVector<int64_t> starts, limits, strides;
  auto parseRange = [&]() -> ParseResult {
    if (parser.parseInteger(starts.emplace_back()) || parser.parseColon() || parser.parseInteger(limits.emplace_back()))
      return failure();
    strides.push_back(1);
    return failure(succeeded(parser.parseOptionalColon()) && parser.parseInteger(strides.back()));
  };
  if (parser.parseOperand(operand) || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange))
    return failure();
  Builder &builder = parser.getBuilder();
  state.addAttribute("start_indices", builder.getDenseI64ArrayAttr(starts));
  state.addAttribute("limit_indices", builder.getDenseI64ArrayAttr(limits));
  state.addAttribute("strides", builder.getDenseI64ArrayAttr(strides));
  return parseTypes(parser, state, operand);
}

/// `pad %a, %b, low = [0], high = [0], interior = [0] : types`
static ParseResult parsePad(OpAsmParser &parser, OperationState &state) {
  Operands operands(2);
  return failure(parser.parseOperand(operands[0]) || parser.parseComma() || parser.parseOperand(operands[1]) ||
                 parseNamedDims(parser, state, "low", "edge_padding_low") ||
                 parseNamedDims(parser, state, "high", "edge_padding_high") ||
                 parseNamedDims(parser, state, "interior", "interior_padding") || parseTypes(parser, state, operands));
}

/// Parses operands, each followed by a comma, up to a keyword.
static ParseResult parseOperandsAndComma(OpAsmParser &parser, Operands &operands) {
  OpAsmParser::UnresolvedOperand operand;
  for (;;) {
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value())
      return success();
    if (failed(*parsed) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
}

/// `dynamic_slice %a, %i, %j, sizes = [1, 8] : types`
static ParseResult parseDynamicSlice(OpAsmParser &parser, OperationState &state) {
  Operands operands;
  Attribute sizes;
  if (parseOperandsAndComma(parser, operands) || parser.parseKeyword("sizes") || parser.parseEqual() ||
      parseDims(parser, sizes))
    return failure();
  state.addAttribute("slice_sizes", sizes);
  return parseTypes(parser, state, operands);
}

static ParseResult parseReverse(OpAsmParser &parser, OperationState &state) {
  return parseWithDims(parser, state, "dimensions");
}

/// `concatenate %a, %b, dim = 0 : types`
static ParseResult parseConcatenate(OpAsmParser &parser, OperationState &state) {
  Operands operands;
  int64_t dim;
  if (parseOperandsAndComma(parser, operands) || parser.parseKeyword("dim") || parser.parseEqual() ||
      parser.parseInteger(dim))
    return failure();
  state.addAttribute("dimension", parser.getBuilder().getI64IntegerAttr(dim));
  return parseTypes(parser, state, operands);
}

/// `compare LT, %a, %b, FLOAT : types`, with an optional kind
static ParseResult parseCompare(OpAsmParser &parser, OperationState &state) {
  StringRef direction, kind;
  Operands operands(2);
  if (parser.parseKeyword(&direction) || parser.parseComma() || parser.parseOperand(operands[0]) ||
      parser.parseComma() || parser.parseOperand(operands[1]))
    return failure();
  state.addAttribute("comparison_direction", parser.getBuilder().getStringAttr(direction));
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword(&kind))
      return failure();
    state.addAttribute("compare_type", parser.getBuilder().getStringAttr(kind));
  }
  return parseTypes(parser, state, operands);
}

/// Parses `[0] x [1]` into the entries `lhs_NAME` and `rhs_NAME`.
static ParseResult parsePairedDims(OpAsmParser &parser, NamedAttrList &entries, StringRef name) {
  Attribute lhs, rhs;
  if (parser.parseEqual() || parseDims(parser, lhs) || parser.parseKeyword("x") || parseDims(parser, rhs))
    return failure();
  entries.append(("lhs_" + name).str(), lhs);
  entries.append(("rhs_" + name).str(), rhs);
  return success();
}

/// `dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] :
/// types`
static ParseResult parseDot(OpAsmParser &parser, OperationState &state) {
  Operands operands(2);
  NamedAttrList entries;
  if (parser.parseOperand(operands[0]) || parser.parseComma() || parser.parseOperand(operands[1]))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    if (keyword == "batching_dims" || keyword == "contracting_dims") {
      bool isBatch = keyword == "batching_dims";
      if (parsePairedDims(parser, entries, isBatch ? "batching_dimensions" : "contracting_dimensions"))
        return failure();
    } else if (keyword == "precision") {
      // Ignored: products are computed at least in the operands' type.
      StringRef precision;
      if (parser.parseEqual() ||
          parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parser.parseKeyword(&precision); }))
        return failure();
    } else {
      return parser.emitError(loc) << "\"" << keyword
                                   << "\" of a product is not known; batching_dims, contracting_dims and precision are";
    }
  }
  state.addAttribute("dot_dimension_numbers", entries.getDictionary(parser.getContext()));
  return parseTypes(parser, state, operands);
}

/// Builds the body of `applies stablehlo.add`.
static void buildBody(OpAsmParser &parser, OperationState &state, StringRef applied, Type elementType) {
  Location loc = parser.getEncodedSourceLoc(parser.getNameLoc());
  Block &body = state.addRegion()->emplaceBlock();
  Type scalar = RankedTensorType::get({}, elementType);
  body.addArguments({scalar, scalar}, {loc, loc});
  // The region has no parent yet, from which a builder would take the context.
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&body);
  OperationState combine(loc, applied, body.getArguments(), {scalar});
  Value result = builder.create(combine)->getResult(0);
  builder.create(OperationState(loc, "stablehlo.return", {result}, {}));
}

/// Parses `reducer(%p: type, %q: type) (...) { ... }`, with one pair of arguments per operand. The arguments of the
/// block are all first ones, then all second ones.
static ParseResult parseReducer(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> first, second;
  if (parser.parseLParen())
    return failure();
  do {
    if (parser.parseArgument(first.emplace_back(), /*allowType=*/true) || parser.parseComma() ||
        parser.parseArgument(second.emplace_back(), /*allowType=*/true) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalLParen()));
  first.append(second);
  return parser.parseRegion(*state.addRegion(), first);
}

/// `reduce(%a init: %b) applies stablehlo.add across dimensions = [1] : type`, or several pairs and a reducer after the
/// type
static ParseResult parseReduce(OpAsmParser &parser, OperationState &state) {
  Operands inputs, inits;
  do {
    if (parser.parseLParen() || parser.parseOperand(inputs.emplace_back()) || parser.parseKeyword("init") ||
        parser.parseColon() || parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  StringRef applied;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("applies")) && parser.parseKeyword(&applied))
    return failure();
  Attribute dims;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      parseDims(parser, dims))
    return failure();
  state.addAttribute("dimensions", dims);
  inputs.append(inits);
  if (parseTypes(parser, state, inputs))
    return failure();
  if (applied.empty())
    return failure(parser.parseKeyword("reducer") || parseReducer(parser, state));
  auto type = dyn_cast<ShapedType>(state.operands.front().getType());
  if (!type || state.operands.size() != 2 || !applied.starts_with("stablehlo."))
    return parser.emitError(loc) << "\"applies " << applied << "\" is for one tensor, with an operation of stablehlo";
  buildBody(parser, state, applied, type.getElementType());
  return success();
}

/// `rng_bit_generator %a, algorithm = PHILOX : types`
static ParseResult parseRandomBits(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  StringRef algorithm;
  if (parser.parseOperand(operand) || parser.parseComma() || parser.parseKeyword("algorithm") || parser.parseEqual() ||
      parser.parseKeyword(&algorithm))
    return failure();
  state.addAttribute("rng_algorithm", parser.getBuilder().getStringAttr(algorithm));
  return parseTypes(parser, state, operand);
}

/// `while(%p = %a, %q = %b) : types cond {...} do {...}`. Both regions have an argument per operand, of the same name.
static ParseResult parseWhile(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  Operands operands;
  SmallVector<Type> types;
  auto parsePair = [&] {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parsePair))
    return failure();
  if (!operands.empty() && parser.parseColonTypeList(types))
    return failure();
  if (parser.resolveOperands(operands, types, loc, state.operands) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  state.addTypes(types);
  return failure(parser.parseKeyword("cond") || parser.parseRegion(*state.addRegion(), arguments) ||
                 parser.parseKeyword("do") || parser.parseRegion(*state.addRegion(), arguments));
}

/// `return %a, %b : types`
static ParseResult parseReturn(OpAsmParser &parser, OperationState &state) {
  Operands operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands))
    return failure();
  if (!operands.empty() && parser.parseColonTypeList(types))
    return failure();
  return parser.resolveOperands(operands, types, loc, state.operands);
}

/// The parser of an operation with a form of its own. Gather and scatter have only the generic form.
static ParseFn getOwnForm(StringRef name) {
  static const llvm::StringMap<ParseFn> forms = {{"chlo.top_k", parseTopK},
                                                 {"stablehlo.broadcast_in_dim", parseBroadcast},
                                                 {"stablehlo.cholesky", parseCholesky},
                                                 {"stablehlo.compare", parseCompare},
                                                 {"stablehlo.composite", parseComposite},
                                                 {"stablehlo.concatenate", parseConcatenate},
                                                 {"stablehlo.constant", parseConstant},
                                                 {"stablehlo.convolution", parseConvolution},
                                                 {"stablehlo.custom_call", parseCustomCall},
                                                 {"stablehlo.dot", parseDot},
                                                 {"stablehlo.dot_general", parseDot},
                                                 {"stablehlo.dynamic_slice", parseDynamicSlice},
                                                 {"stablehlo.iota", parseIota},
                                                 {"stablehlo.optimization_barrier", parseBarrier},
                                                 {"stablehlo.pad", parsePad},
                                                 {"stablehlo.reduce", parseReduce},
                                                 {"stablehlo.reduce_precision", parseReducePrecision},
                                                 {"stablehlo.return", parseReturn},
                                                 {"stablehlo.reverse", parseReverse},
                                                 {"stablehlo.rng_bit_generator", parseRandomBits},
                                                 {"stablehlo.slice", parseSlice},
                                                 {"stablehlo.transpose", parseTranspose},
                                                 {"stablehlo.while", parseWhile},
                                                 {"sdy.manual_computation", parseManualComputation},
                                                 {"sdy.mesh", parseSdyMesh},
                                                 {"sdy.propagation_barrier", parseSdyBarrier},
                                                 {"sdy.reshard", parseSdyConstraint},
                                                 {"sdy.return", parseReturn},
                                                 {"sdy.sharding_constraint", parseSdyConstraint},
                                                 {"sdy.sharding_group", parseSdyGroup}};
  return forms.lookup(name);
}

ParseResult meshwright::importer::parseShortForm(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef();
  if (ParseFn parse = getOwnForm(name))
    return parse(parser, state);
  static const llvm::StringSet<> alike = {
      "stablehlo.reshape", "stablehlo.bitcast_convert",      "stablehlo.popcnt",       "stablehlo.count_leading_zeros",
      "chlo.next_after",   "stablehlo.dynamic_update_slice", "stablehlo.partition_id", "stablehlo.replica_id"};
  if (isElementwise(name) || isBroadcasting(name) || alike.contains(name))
    return parseElementwise(parser, state);
  // The parser prefixes messages with the operation's name.
  if (isKnown(name))
    return parser.emitError(parser.getNameLoc()) << "only has the generic form";
  return parser.emitError(parser.getNameLoc()) << describeUnknown(name);
}
