//===- SourceDialects.h - dialects of exported text -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_SOURCEDIALECTS_H
#define MESHWRIGHT_LIB_STABLEHLO_SOURCEDIALECTS_H

#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace meshwright::importer {

/// Parses the short form of the operation named in `state` into the attributes and regions of its generic form. Emits
/// an error if the operation is unknown or has no short form.
mlir::ParseResult parseShortForm(mlir::OpAsmParser &parser, mlir::OperationState &state);

/// Parses `convolution(%a, %b) dim_numbers = …, window = {…} {…} : types`.
mlir::ParseResult parseConvolution(mlir::OpAsmParser &parser, mlir::OperationState &state);
/// Parses `[b, 0, f]x[0, i, o]->[b, 0, f]` into one entry per kind of dimension.
mlir::ParseResult parseConvolutionNumbers(mlir::AsmParser &parser, mlir::NamedAttrList &entries);

/// A dialect of exported text, which is parsed and then converted. Its operations are not registered: they have
/// attributes, operands and regions but no verifier, so every converter checks what it uses. Attributes become builtin
/// ones: `#stablehlo.gather<a = [0], b = 1>` and `#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>` become a dictionary
/// of `array<i64>` and i64, `#stablehlo<precision DEFAULT>` the string "DEFAULT", Shardy's meshes and shardings the
/// dictionaries of ShardingForms.h, and any other attribute the string of its text.
class SourceDialect : public mlir::Dialect {
public:
  mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser, mlir::Type type) const override;
  std::optional<ParseOpHook> getParseOperationHook(llvm::StringRef name) const override;

protected:
  SourceDialect(llvm::StringRef name, mlir::MLIRContext *context, mlir::TypeID id);
};

class StableHLODialect : public SourceDialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StableHLODialect)
  static constexpr llvm::StringLiteral getDialectNamespace() { return "stablehlo"; }
  explicit StableHLODialect(mlir::MLIRContext *context)
      : SourceDialect(getDialectNamespace(), context, mlir::TypeID::get<StableHLODialect>()) {}
};

class CHLODialect : public SourceDialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CHLODialect)
  static constexpr llvm::StringLiteral getDialectNamespace() { return "chlo"; }
  explicit CHLODialect(mlir::MLIRContext *context)
      : SourceDialect(getDialectNamespace(), context, mlir::TypeID::get<CHLODialect>()) {}
};

class SdyDialect : public SourceDialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SdyDialect)
  static constexpr llvm::StringLiteral getDialectNamespace() { return "sdy"; }
  explicit SdyDialect(mlir::MLIRContext *context)
      : SourceDialect(getDialectNamespace(), context, mlir::TypeID::get<SdyDialect>()) {}
};

/// Dialects that are only registered for errors that name the tool that converts them to StableHLO.
class MHLODialect : public SourceDialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MHLODialect)
  static constexpr llvm::StringLiteral getDialectNamespace() { return "mhlo"; }
  explicit MHLODialect(mlir::MLIRContext *context)
      : SourceDialect(getDialectNamespace(), context, mlir::TypeID::get<MHLODialect>()) {}
};

class VHLODialect : public SourceDialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VHLODialect)
  static constexpr llvm::StringLiteral getDialectNamespace() { return "vhlo"; }
  explicit VHLODialect(mlir::MLIRContext *context)
      : SourceDialect(getDialectNamespace(), context, mlir::TypeID::get<VHLODialect>()) {}
  mlir::Type parseType(mlir::DialectAsmParser &parser) const override;
};

} // namespace meshwright::importer

#endif
