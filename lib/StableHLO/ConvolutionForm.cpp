//===- ConvolutionForm.cpp - parser of the short form of convolutions -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceDialects.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;

namespace {

/// The letters of a tensor's non-spatial dimensions, and the attribute names of its dimensions in the generic form.
struct Side {
  char first, second;
  StringRef firstName, secondName, spatialName;
};

constexpr Side kSides[] = {
    {'b', 'f', "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
    {'i', 'o', "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions"},
    {'b', 'f', "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};

} // namespace

/// Parses `[b, 0, 1, f]`: both letters and all spatial dimensions from 0 on, each once.
static ParseResult parseSide(AsmParser &parser, const Side &side, NamedAttrList &entries) {
  SMLoc loc = parser.getCurrentLocation();
  // By position: the number of a spatial dimension, or -1 and -2 for the letters.
  SmallVector<int64_t> places;
  auto parsePlace = [&]() -> ParseResult {
    OptionalParseResult number = parser.parseOptionalInteger(places.emplace_back());
    if (number.has_value())
      return *number;
    StringRef letter;
    if (parser.parseKeyword(&letter))
      return failure();
    places.back() = letter == StringRef(&side.first, 1) ? -1 : letter == StringRef(&side.second, 1) ? -2 : -3;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePlace))
    return failure();
  auto find = [&](int64_t wanted) -> int64_t {
    return llvm::count(places, wanted) == 1 ? llvm::find(places, wanted) - places.begin() : -1;
  };
  SmallVector<int64_t> spatial;
  for (int64_t index = 0, count = static_cast<int64_t>(places.size()) - 2; index < count; ++index)
    spatial.push_back(find(index));
  int64_t first = find(-1), second = find(-2);
  if (first < 0 || second < 0 || llvm::is_contained(spatial, -1))
    return parser.emitError(loc) << "dimensions are " << side.first << ", " << side.second
                                 << " and the numbers of the spatial dimensions from 0 on, each once";
  Builder &builder = parser.getBuilder();
  entries.append(side.firstName, builder.getI64IntegerAttr(first));
  entries.append(side.secondName, builder.getI64IntegerAttr(second));
  entries.append(side.spatialName, builder.getDenseI64ArrayAttr(spatial));
  return success();
}

ParseResult importer::parseConvolutionNumbers(AsmParser &parser, NamedAttrList &entries) {
  return failure(parseSide(parser, kSides[0], entries) || parser.parseKeyword("x") ||
                 parseSide(parser, kSides[1], entries) || parser.parseArrow() || parseSide(parser, kSides[2], entries));
}

/// Parses `[1, 2]` or `[[1, 2], [3, 4]]` and flattens the numbers.
static ParseResult parseNumbers(AsmParser &parser, SmallVectorImpl<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    int64_t number;
    OptionalParseResult parsed = parser.parseOptionalInteger(number);
    if (!parsed.has_value())
      return parseNumbers(parser, numbers);
    numbers.push_back(number);
    return *parsed;
  });
}

static ParseResult parseReversals(AsmParser &parser, SmallVectorImpl<bool> &reversals) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    bool isReversed = succeeded(parser.parseOptionalKeyword("true"));
    reversals.push_back(isReversed);
    return isReversed ? success() : parser.parseKeyword("false");
  });
}

/// Parses an entry of `window = {stride = [1, 1], …}`.
static ParseResult parseWindowEntry(OpAsmParser &parser, OperationState &state) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword) || parser.parseEqual())
    return failure();
  if (keyword == "reverse") {
    SmallVector<bool> reversals;
    if (parseReversals(parser, reversals))
      return failure();
    state.addAttribute("window_reversal", parser.getBuilder().getDenseBoolArrayAttr(reversals));
    return success();
  }
  static constexpr std::pair<StringRef, StringRef> names[] = {
      {"stride", "window_strides"}, {"pad", "padding"}, {"lhs_dilate", "lhs_dilation"}, {"rhs_dilate", "rhs_dilation"}};
  const auto *known = llvm::find_if(names, [&](const auto &name) { return name.first == keyword; });
  if (known == std::end(names))
    return parser.emitError(loc) << "\"" << keyword
                                 << "\" of a window is not known; stride, pad, lhs_dilate, rhs_dilate and reverse are";
  SmallVector<int64_t> numbers;
  if (parseNumbers(parser, numbers))
    return failure();
  state.addAttribute(known->second, parser.getBuilder().getDenseI64ArrayAttr(numbers));
  return success();
}

ParseResult importer::parseConvolution(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  NamedAttrList numbers;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("dim_numbers") ||
      parser.parseEqual() || parseConvolutionNumbers(parser, numbers) || parser.parseComma() ||
      parser.parseKeyword("window") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] { return parseWindowEntry(parser, state); }) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  state.addAttribute("dimension_numbers", numbers.getDictionary(parser.getContext()));
  FunctionType type;
  if (parser.parseColonType(type))
    return failure();
  state.addTypes(type.getResults());
  return parser.resolveOperands(operands, type.getInputs(), loc, state.operands);
}
