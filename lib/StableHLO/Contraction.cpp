//===- Contraction.cpp - conversion of dot and dot_general ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

static Converted convertDot(Conversion &conversion) {
  if (failed(conversion.expect(2)))
    return failure();
  // Precision only affects speed: sums are at least as precise as the operands. An algorithm would change the result.
  if (Attribute algorithm = conversion.getOp()->getAttr("algorithm"))
    return conversion.error() << "asks for algorithm " << algorithm << "; only products without one are known";
  StringRef dictionary = "dot_dimension_numbers";
  FailureOr<SmallVector<int64_t>> lhsBatch = conversion.getEntry(dictionary, "lhs_batching_dimensions");
  if (failed(lhsBatch))
    return failure();
  FailureOr<SmallVector<int64_t>> rhsBatch = conversion.getEntry(dictionary, "rhs_batching_dimensions");
  FailureOr<SmallVector<int64_t>> lhsContract = conversion.getEntry(dictionary, "lhs_contracting_dimensions");
  FailureOr<SmallVector<int64_t>> rhsContract = conversion.getEntry(dictionary, "rhs_contracting_dimensions");
  if (failed(rhsBatch) || failed(lhsContract) || failed(rhsContract))
    return failure();
  Operation *op = conversion.getOp();
  return SmallVector<Value>{conversion.create<net::DotOp>(conversion.getType(), op->getOperand(0), op->getOperand(1),
                                                          *lhsBatch, *rhsBatch, *lhsContract, *rhsContract)};
}

/// The older operation for matrices and vectors: contracts the last dimension of the left operand with the first of the
/// right one.
static Converted convertPlainDot(Conversion &conversion) {
  if (failed(conversion.expect(2)))
    return failure();
  auto numbers = conversion.getOp()->getAttrOfType<DictionaryAttr>("dot_dimension_numbers");
  if (numbers && !numbers.empty())
    return conversion.error() << "says which dimensions it sums over, which dot_general does";
  RankedTensorType lhs = conversion.getOperandType(0), rhs = conversion.getOperandType(1);
  auto isPlain = [](RankedTensorType type) { return type.getRank() == 1 || type.getRank() == 2; };
  if (!isPlain(lhs) || !isPlain(rhs))
    return conversion.error() << "multiplies " << lhs << " and " << rhs << ", which are not matrices or vectors";
  Operation *op = conversion.getOp();
  return SmallVector<Value>{conversion.create<net::DotOp>(conversion.getType(), op->getOperand(0), op->getOperand(1),
                                                          ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                                                          ArrayRef<int64_t>{lhs.getRank() - 1}, ArrayRef<int64_t>{0})};
}

void importer::addContraction(ConverterMap &converters) {
  converters["stablehlo.dot"] = convertPlainDot;
  converters["stablehlo.dot_general"] = convertDot;
}
