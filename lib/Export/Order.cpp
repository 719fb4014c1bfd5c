//===- Order.cpp - forms of sorting ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of elements is a sort of the keys together with an iota.
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "dialects/Net/Net.h"
#include <limits>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

/// A float whose total order is that of numbers: zeros are +0, and NaNs are the positive one, above all numbers. JAX
/// writes the same before it compares.
static Term writeCanonical(Writer &writer, const Term &x) {
  Term zero = writer.splat(x.getElementType(), 0, {});
  Term isZero = writer.compare("EQ", x, zero);
  Term positive = writer.select(isZero, zero, x);
  Term isNaN = writer.compare("NE", x, x);
  Term nan = writer.splat(x.getElementType(), std::numeric_limits<double>::quiet_NaN(), {});
  return writer.select(isNaN, nan, positive);
}

/// Compares elements of one key.
static Term writeKey(Writer &writer, StringRef direction, Term lhs, Term rhs, bool isTotal) {
  bool isFloat = isa<FloatType>(lhs.getElementType());
  if (isFloat && !isTotal) {
    lhs = writeCanonical(writer, lhs);
    rhs = writeCanonical(writer, rhs);
  }
  return writer.compare(direction, lhs, rhs, isFloat);
}

static Terms writeArgSort(net::ArgSortOp op, Writer &writer) {
  Terms operands = writer.get(op.getKeys());
  auto type = cast<RankedTensorType>(op.getType());
  operands.push_back(writer.iota(type.getElementType(), type.getShape(), op.getDim()));
  SmallVector<Type> types, scalars;
  for (const Term &operand : operands) {
    types.push_back(operand.type);
    scalars.append(2, RankedTensorType::get({}, operand.getElementType()));
  }
  StringRef direction = op.getDescending() ? "GT" : "LT";
  auto writeBody = [&] {
    writer.writeBlock(scalars, [&](ArrayRef<Term> in) -> Terms {
      Term before;
      for (unsigned key = op.getKeys().size(); key-- > 0;) {
        const Term &lhs = in[2 * key], &rhs = in[2 * key + 1];
        Term less = writeKey(writer, direction, lhs, rhs, op.getTotalOrder());
        if (before.type) {
          Term isEqual = writeKey(writer, "EQ", lhs, rhs, op.getTotalOrder());
          less = writer.binary("stablehlo.or", less, writer.binary("stablehlo.and", isEqual, before));
        }
        before = less;
      }
      return {before};
    });
  };
  return {writer
              .generic("stablehlo.sort", operands, types,
                       "dimension = " + Twine(op.getDim()) + " : i64, is_stable = true", {writeBody})
              .back()};
}

void exporter::attachOrder(MLIRContext *context) { attachForm<net::ArgSortOp, writeArgSort>(context); }
