//===- SourceDialects.h - the dialects of exported text ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_SOURCEDIALECTS_H
#define MESHWRIGHT_LIB_IMPORT_SOURCEDIALECTS_H

#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace meshwright::importer {

/// Parses the short form of an operation whose name is in `state` to what the generic form gives: the same attributes
/// and regions. Emits an error for an operation that has no short form or is not known.
mlir::ParseResult parseShortForm(mlir::OpAsmParser &parser, mlir::OperationState &state);

/// Parses `convolution(%a, %b) dim_numbers = …, window = {…} {…} : types`.
mlir::ParseResult parseConvolution(mlir::OpAsmParser &parser, mlir::OperationState &state);
/// Parses `[b, 0, f]x[0, i, o]->[b, 0, f]` into one entry for each kind of dimension.
mlir::ParseResult parseConvolutionNumbers(mlir::AsmParser &parser, mlir::NamedAttrList &entries);

/// A dialect of text that is read and then converted. Its operations are not registered: they have attributes, operands
/// and regions and no verifier, and whoever converts them checks what it uses. Attributes become builtin ones:
/// `#stablehlo.gather<a = [0], b = 1>` and `#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>` a dictionary of
/// `array<i64>` and i64, `#stablehlo<precision DEFAULT>` the string "DEFAULT", and any other the string of its text.
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

/// Dialects that are told apart to say what makes StableHLO of them.
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
