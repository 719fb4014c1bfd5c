//===- IntegerPower.cpp - powers of integers as loops ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerPower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace {

struct ExpandPower : OpRewritePattern<math::IPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::IPowIOp op, PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = op.getType();
    auto constant = [&](int64_t value) -> Value {
      TypedAttr number = rewriter.getIntegerAttr(getElementTypeOrSelf(type), value);
      if (auto shaped = dyn_cast<ShapedType>(type))
        number = DenseElementsAttr::get(shaped, Attribute(number));
      return arith::ConstantOp::create(rewriter, loc, number);
    };
    Value zero = constant(0), one = constant(1);
    auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(rewriter, loc, value); };
    auto body = [&](OpBuilder &builder, Location loc, Value, ValueRange values) {
      Value result = values[0], square = values[1], exponent = values[2];
      Value isUnset = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                            arith::AndIOp::create(builder, loc, exponent, one), zero);
      Value product = arith::MulIOp::create(builder, loc, result, square);
      Value next[] = {arith::SelectOp::create(builder, loc, isUnset, result, product),
                      arith::MulIOp::create(builder, loc, square, square),
                      arith::ShRUIOp::create(builder, loc, exponent, one)};
      scf::YieldOp::create(builder, loc, next);
    };
    int64_t bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    auto loop = scf::ForOp::create(rewriter, loc, index(0), index(bits), index(1),
                                   ValueRange{one, op.getLhs(), op.getRhs()}, body);
    rewriter.replaceOp(op, loop.getResult(0));
    return success();
  }
};

} // namespace

void meshwright::emit::populateIntegerPowerPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandPower>(patterns.getContext());
}
