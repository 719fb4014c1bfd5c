//===- WordExpansion.h - floats as words of 64 bits -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_CODEGEN_WORDEXPANSION_H
#define MESHWRIGHT_LIB_CODEGEN_WORDEXPANSION_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright::emit {

/// Replaces every float of a module's functions, which are scalar code, by a number that fills a word of 64 bits in
/// memory; elements of memrefs get `scale` times their bytes. Operations on floats may be calls of the runtime, by a
/// table of functions whose address it writes.
class WordExpansion {
public:
  virtual ~WordExpansion() = default;
  mlir::LogicalResult run();

protected:
  /// The types of an operation's operands and results before they changed.
  struct OriginalTypes {
    llvm::SmallVector<mlir::Type> operands, results;
  };

  /// `number` is the type of the values that stand for floats, `arithmetic` its name in errors.
  WordExpansion(mlir::ModuleOp module, int64_t scale, mlir::Type number, llvm::StringRef tableSymbol,
                llvm::ArrayRef<std::string_view> tableNames, llvm::StringRef arithmetic)
      : word(mlir::IntegerType::get(module.getContext(), 64)), arithmetic(arithmetic), module(module), scale(scale),
        number(number), tableSymbol(tableSymbol), tableNames(tableNames) {}

  /// Replaces an operation that had floats as operands or results, and moves no memory.
  virtual mlir::LogicalResult expandFloats(mlir::Operation *op, const OriginalTypes &types) = 0;

  mlir::Value getWord(mlir::OpBuilder &builder, mlir::Location location, uint64_t bits) const;
  /// Calls the function of that name of the table.
  mlir::Value callFunction(mlir::OpBuilder &builder, mlir::Location location, llvm::StringRef name,
                           mlir::ValueRange operands, mlir::Type result) const;
  void replace(mlir::Operation *op, mlir::Value value) const;
  /// The bits of an integer in a word, with its sign where that counts.
  mlir::Value widen(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, bool isSigned) const;
  mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, mlir::Type type) const;
  /// The number in the package's schema of a float type.
  static uint64_t getTypeNumber(mlir::Type type);

  mlir::IntegerType word;
  llvm::StringRef arithmetic;

private:
  mlir::Type convert(mlir::Type type) const;
  void convertTypes(mlir::Operation *op);
  void addTable();
  mlir::LogicalResult expand(mlir::Operation *op, const OriginalTypes &types);
  mlir::LogicalResult checkConstant(mlir::Operation *op) const;
  mlir::LogicalResult expandLoad(mlir::memref::LoadOp load, mlir::Type original);
  mlir::LogicalResult expandStore(mlir::memref::StoreOp store);

  mlir::ModuleOp module;
  int64_t scale;
  mlir::Type number;
  llvm::StringRef tableSymbol;
  llvm::ArrayRef<std::string_view> tableNames;
};

} // namespace meshwright::emit

#endif
