//===- Contraction.cpp - products of StableHLO ----------------------------===//
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
  // Precision is a hint on speed: sums are taken in at least the operands' type. An algorithm says what the result is.
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

void importer::addContraction(ConverterMap &converters) { converters["stablehlo.dot_general"] = convertDot; }
