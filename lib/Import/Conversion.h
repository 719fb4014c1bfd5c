//===- Conversion.h - one operation of StableHLO becomes net ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_CONVERSION_H
#define MESHWRIGHT_LIB_IMPORT_CONVERSION_H

#include "Graph.h"
#include "dialects/Net/NetBuilder.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace meshwright::importer {

/// The operation that is being converted, with checked access to what it says, and a builder of what it becomes. What
/// is built has the location, scope and role of the operation. All its operands and results are tensors of static
/// shape; its operands have been converted already.
class Conversion {
public:
  explicit Conversion(mlir::Operation *op) : op(op), place(getScopeAndRole(op)), builder(op) {}

  mlir::Operation *getOp() const { return op; }
  llvm::StringRef getName() const { return op->getName().getStringRef(); }
  mlir::RankedTensorType getType(unsigned result = 0) const {
    return llvm::cast<mlir::RankedTensorType>(op->getResult(result).getType());
  }
  mlir::RankedTensorType getOperandType(unsigned operand) const {
    return llvm::cast<mlir::RankedTensorType>(op->getOperand(operand).getType());
  }

  /// An error at the operation, which starts with its name.
  mlir::InFlightDiagnostic error() { return op->emitError() << getName() << " "; }

  /// Checks the numbers of operands and results.
  mlir::LogicalResult expect(unsigned operands, unsigned results = 1);
  /// Checks that there are results, and two operands for each and `more`.
  mlir::LogicalResult expectPairs(unsigned more = 0);

  /// The list of integers, the integer, and the word that the attribute of that name holds. A list that is left out is
  /// empty where `optional` says so.
  mlir::FailureOr<llvm::SmallVector<int64_t>> getDims(llvm::StringRef name);
  mlir::FailureOr<int64_t> getInt(llvm::StringRef name);
  mlir::FailureOr<llvm::StringRef> getWord(llvm::StringRef name);
  /// The list (or integer) of that name in the dictionary that the attribute `dictionary` holds; empty if it is left
  /// out.
  mlir::FailureOr<llvm::SmallVector<int64_t>> getEntry(llvm::StringRef dictionary, llvm::StringRef name);
  mlir::FailureOr<int64_t> getIntEntry(llvm::StringRef dictionary, llvm::StringRef name);

  /// Builds an operation and returns its first result.
  template <typename OpT, typename... Args> mlir::Value create(mlir::Type type, Args &&...args) {
    return annotate(OpT::create(builder, op->getLoc(), type, std::forward<Args>(args)...));
  }
  /// Builds the operation of that name, which has operands alone.
  mlir::Value createNamed(llvm::StringRef name, mlir::Type type, mlir::ValueRange operands);
  /// Gives what was built the scope and role of the operation.
  mlir::Value annotate(mlir::Operation *built);

  /// Builds a reshape, joined with the reshapes that made `value`; none if the shape is the same.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Repeats `value`, whose dimension i becomes dimension `dims[i]`, joined with the broadcasts that made it. A
  /// dimension of size 1 may become a larger one.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);

  mlir::OpBuilder &getBuilder() { return builder; }

private:
  mlir::Operation *op;
  /// The scope and the role of the operation.
  mlir::DictionaryAttr place;
  mlir::OpBuilder builder;
};

/// Builds expressions in the place of the operation that is converted; what is built gets its scope and role.
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

/// What an operation's results become; failure after an error was emitted.
using Converted = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;
using ConvertFn = Converted (*)(Conversion &conversion);

/// How each operation is converted, by its name.
using ConverterMap = llvm::StringMap<ConvertFn>;

/// How the operation of that name, which is known, is converted.
ConvertFn findConverter(llvm::StringRef name);

/// The call that JAX makes for the largest elements, or nearly those.
Converted convertApproxTopK(Conversion &conversion);

/// Calls of LAPACK that are operations of `net`.
Converted convertLapackCholesky(Conversion &conversion);
Converted convertLapackSolve(Conversion &conversion);

/// Each adds the converters of a family.
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

/// Checks that the operands and the result have one type.
mlir::LogicalResult expectOneType(Conversion &conversion);

/// The single block of region `index` of the operation's `regions`, with `arguments` arguments, that ends in
/// `stablehlo.return` of `results` values; null after an error.
mlir::Block *getBody(Conversion &conversion, unsigned arguments, unsigned results, unsigned index = 0,
                     unsigned regions = 1);

/// Whether every element of `value` is its index along `dim`.
bool isIndexAlong(mlir::Value value, int64_t dim);

/// The operation, `stablehlo.add` for instance, that combines arguments `first` and `second` of `body`, in either
/// order, into the value that is returned as `result`, and does nothing else to them; empty if it is anything else.
llvm::StringRef getCombiner(mlir::Block &body, unsigned result, unsigned first, unsigned second);

} // namespace meshwright::importer

#endif
