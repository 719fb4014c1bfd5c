//===- Conversion.h - the operation being converted -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_CONVERSION_H
#define MESHWRIGHT_LIB_STABLEHLO_CONVERSION_H

#include "dialects/Net/NetBuilder.h"
#include "meshwright/StableHLO/Graph.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace meshwright::importer {

/// Wraps the operation that is being converted: checked access to its attributes, and a builder of its replacement.
/// Built operations get its location, scope and role. All its operands and results are tensors of static shape; its
/// operands have already been converted.
class Conversion {
public:
  explicit Conversion(mlir::Operation *op) : op(op), place(getInherited(op, Inherit::Companion)), builder(op) {}

  mlir::Operation *getOp() const { return op; }
  llvm::StringRef getName() const { return op->getName().getStringRef(); }
  mlir::RankedTensorType getType(unsigned result = 0) const {
    return llvm::cast<mlir::RankedTensorType>(op->getResult(result).getType());
  }
  mlir::RankedTensorType getOperandType(unsigned operand) const {
    return llvm::cast<mlir::RankedTensorType>(op->getOperand(operand).getType());
  }

  /// Begins an error at the operation with the operation's name.
  mlir::InFlightDiagnostic error() { return op->emitError() << getName() << " "; }

  /// Checks the numbers of operands and results.
  mlir::LogicalResult expect(unsigned operands, unsigned results = 1);
  /// Checks that there are results, and twice as many operands plus `more`.
  mlir::LogicalResult expectPairs(unsigned more = 0);

  /// The value of the attribute `name`: a list of integers, an integer, or a string. A missing attribute is an error.
  mlir::FailureOr<llvm::SmallVector<int64_t>> getDims(llvm::StringRef name);
  mlir::FailureOr<int64_t> getInt(llvm::StringRef name);
  mlir::FailureOr<llvm::StringRef> getWord(llvm::StringRef name);
  /// An entry of the dictionary attribute `dictionary`: a list of integers or an integer. A missing entry is an empty
  /// list or zero; a missing dictionary is an error.
  mlir::FailureOr<llvm::SmallVector<int64_t>> getEntry(llvm::StringRef dictionary, llvm::StringRef name);
  mlir::FailureOr<int64_t> getIntEntry(llvm::StringRef dictionary, llvm::StringRef name);

  /// Builds an operation and returns its first result.
  template <typename OpT, typename... Args> mlir::Value create(mlir::Type type, Args &&...args) {
    return annotate(OpT::create(builder, op->getLoc(), type, std::forward<Args>(args)...));
  }
  /// Builds the operation `name`, which has no attributes.
  mlir::Value createNamed(llvm::StringRef name, mlir::Type type, mlir::ValueRange operands);
  /// Gives `built` the scope and role of the converted operation and returns its first result.
  mlir::Value annotate(mlir::Operation *built);

  /// Builds a reshape, merged with reshapes that define `value`; returns `value` itself if the shape is already right.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Builds a broadcast in which dimension i of `value` becomes dimension `dims[i]`, merged with broadcasts that define
  /// `value`. A dimension of size 1 is repeated to the size in `shape`.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);

  mlir::OpBuilder &getBuilder() { return builder; }

private:
  mlir::Operation *op;
  /// The scope and the role of the operation.
  mlir::DictionaryAttr place;
  mlir::OpBuilder builder;
};

/// Builds expressions at the place of the converted operation; all operations get its scope and role.
class Expression : public mlir::OpBuilder::Listener {
public:
  explicit Expression(Conversion &conversion)
      : build(conversion.getBuilder(), conversion.getOp()->getLoc()), conversion(conversion) {
    build.builder.setListener(this);
  }
  Expression(const Expression &) = delete;
  Expression &operator=(const Expression &) = delete;
  ~Expression() override { build.builder.setListener(nullptr); }

  net::NetBuilder build;

private:
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override { conversion.annotate(op); }

  Conversion &conversion;
};

/// The values that replace an operation's results; failure after an emitted error.
using Converted = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;
using ConvertFn = Converted (*)(Conversion &conversion);

/// Converters by the names of operations.
using ConverterMap = llvm::StringMap<ConvertFn>;

/// The converter of a known operation.
ConvertFn findConverter(llvm::StringRef name);

/// Converts JAX's custom call for the (approximately) largest elements.
Converted convertApproxTopK(Conversion &conversion);

/// Convert calls of LAPACK to operations of `net`.
Converted convertLapackCholesky(Conversion &conversion);
Converted convertLapackSolve(Conversion &conversion);

/// Each function adds the converters of one family.
void addBroadcasting(ConverterMap &converters);
void addElementwise(ConverterMap &converters);
void addFunctions(ConverterMap &converters);
void addSpecialFunctions(ConverterMap &converters);
void addLayout(ConverterMap &converters);
void addContraction(ConverterMap &converters);
void addReduction(ConverterMap &converters);
void addDynamic(ConverterMap &converters);
void addIndexing(ConverterMap &converters);
void addBits(ConverterMap &converters);
void addMatrix(ConverterMap &converters);
void addOrder(ConverterMap &converters);
void addAnnotations(ConverterMap &converters);
void addRandom(ConverterMap &converters);
void addWindow(ConverterMap &converters);
void addCollectives(ConverterMap &converters);

/// Checks that the operands and the result have one type.
mlir::LogicalResult expectOneType(Conversion &conversion);

/// The single block of region `index` of the operation's `regions`, with `arguments` arguments, that ends in
/// `stablehlo.return` of `results` values; null after an error.
mlir::Block *getBody(Conversion &conversion, unsigned arguments, unsigned results, unsigned index = 0,
                     unsigned regions = 1);

/// True if every element of `value` is its index along `dim`.
bool isIndexAlong(mlir::Value value, int64_t dim);

/// The name of the operation (for instance `stablehlo.add`) that combines arguments `first` and `second` of `body`, in
/// either order, into returned value `result`; empty if `result` is computed in any other way.
llvm::StringRef getCombiner(mlir::Block &body, unsigned result, unsigned first, unsigned second);

} // namespace meshwright::importer

#endif
