//===- SourceDialects.cpp - attributes of exported text -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceDialects.h"
#include "Known.h"
#include "ShardingForms.h"
#include "dialects/Net/Net.h"
#include "meshwright/StableHLO/Text.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright::importer;

SourceDialect::SourceDialect(StringRef name, MLIRContext *context, TypeID id) : Dialect(name, context, id) {
  allowUnknownOperations();
}

std::optional<Dialect::ParseOpHook> SourceDialect::getParseOperationHook(StringRef) const {
  return ParseOpHook(parseShortForm);
}

/// Parses `name = [0, 1]` or `name = 1`.
static ParseResult parseEntry(AsmParser &parser, NamedAttrList &entries) {
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name) || parser.parseEqual())
    return failure();
  if (entries.get(name))
    return parser.emitError(loc) << "\"" << name << "\" is given twice";
  Builder &builder = parser.getBuilder();
  int64_t number;
  OptionalParseResult parsed = parser.parseOptionalInteger(number);
  if (parsed.has_value()) {
    entries.append(name, builder.getI64IntegerAttr(number));
    return *parsed;
  }
  SmallVector<int64_t> numbers;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(numbers.emplace_back()); }))
    return failure();
  entries.append(name, builder.getDenseI64ArrayAttr(numbers));
  return success();
}

Attribute SourceDialect::parseAttribute(DialectAsmParser &parser, Type) const {
  Builder &builder = parser.getBuilder();
  StringRef spec = parser.getFullSymbolSpec(), mnemonic = spec.take_until([](char c) { return c == '<' || c == ' '; });
  if (mnemonic == "dot" || mnemonic == "gather" || mnemonic == "scatter") {
    NamedAttrList entries;
    if (parser.parseKeyword(mnemonic) ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&] { return parseEntry(parser, entries); }))
      return {};
    return entries.getDictionary(getContext());
  }
  if (mnemonic == "conv") {
    NamedAttrList entries;
    if (parser.parseKeyword(mnemonic) || parser.parseLess() || parseConvolutionNumbers(parser, entries) ||
        parser.parseGreater())
      return {};
    return entries.getDictionary(getContext());
  }
  if (getNamespace() == SdyDialect::getDialectNamespace()) {
    Attribute parsed;
    auto parse = mnemonic == "sharding" ? parseSharding : mnemonic == "mesh" ? parseMesh : nullptr;
    if (parse)
      return parser.parseKeyword(mnemonic) || parse(parser, parsed) ? Attribute() : parsed;
    if (mnemonic == "sharding_per_value")
      return parser.parseKeyword(mnemonic) || parser.parseLess() || parseShardings(parser, parsed) ||
                     parser.parseGreater()
                 ? Attribute()
                 : parsed;
  }
  if (mnemonic == "precision" || mnemonic == "comparison_direction" || mnemonic == "comparison_type" ||
      mnemonic == "rng_algorithm" || mnemonic == "transpose") {
    StringRef value;
    if (parser.parseKeyword(mnemonic) || parser.parseKeyword(&value))
      return {};
    return builder.getStringAttr(value);
  }
  return builder.getStringAttr(spec);
}

Type VHLODialect::parseType(DialectAsmParser &parser) const {
  parser.emitError(parser.getNameLoc()) << "a type " << describeUnknown("vhlo.type");
  return {};
}

void meshwright::importer::registerSourceDialects(DialectRegistry &registry) {
  registry.insert<StableHLODialect, CHLODialect, SdyDialect, MHLODialect, VHLODialect, func::FuncDialect,
                  net::NetDialect>();
}

bool meshwright::importer::isOfOtherSource(ModuleOp module) {
  std::pair<StringLiteral, TypeID> own[] = {
      {StableHLODialect::getDialectNamespace(), TypeID::get<StableHLODialect>()},
      {CHLODialect::getDialectNamespace(), TypeID::get<CHLODialect>()},
      {SdyDialect::getDialectNamespace(), TypeID::get<SdyDialect>()},
      {MHLODialect::getDialectNamespace(), TypeID::get<MHLODialect>()},
      {VHLODialect::getDialectNamespace(), TypeID::get<VHLODialect>()},
  };
  WalkResult found = module.walk([&](Operation *op) {
    StringRef name = op->getName().getDialectNamespace();
    for (const auto &[known, type] : own)
      if (name == known && (!op->getDialect() || op->getDialect()->getTypeID() != type))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return found.wasInterrupted();
}
