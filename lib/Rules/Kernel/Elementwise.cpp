//===- Elementwise.cpp - kernels of elementwise operations ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One `compute` per operation: from elements of the operands to the element of the result. Floats of 16 bits are
// computed in f32 and rounded once per operation.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;
using FloatPredicate = mlir::arith::CmpFPredicate;
using IntPredicate = mlir::arith::CmpIPredicate;

namespace {

/// The elements of one operation: its operands' values, widened, and the type they had.
struct Elements {
  kernel::Builder &builder;
  /// The first operand's element type as the operation has it, with sign.
  Type type;
  ValueRange values;

  bool isFloat() const { return isa<FloatType>(type); }
  bool isBoolean() const { return type.isInteger(1); }
  bool isUnsigned() const { return kernel::isUnsigned(type); }
  Value operator[](unsigned index) const { return values[index]; }
  Value number(double value) const { return kernel::constant(builder, values[0].getType(), value); }
  template <typename OpT> Value unary() const { return OpT::create(builder, values[0]); }
  template <typename OpT> Value binary() const { return OpT::create(builder, values[0], values[1]); }
};

} // namespace

/// Operations that one operation of the machine computes.
#define FLOAT_UNARY(OP, MATH)                                                                                          \
  static Value compute(OP, const Elements &e) { return e.unary<MATH>(); }
FLOAT_UNARY(CbrtOp, math::CbrtOp)
FLOAT_UNARY(CeilOp, math::CeilOp)
FLOAT_UNARY(CosineOp, math::CosOp)
FLOAT_UNARY(ErfOp, math::ErfOp)
FLOAT_UNARY(ErfcOp, math::ErfcOp)
FLOAT_UNARY(ExpOp, math::ExpOp)
FLOAT_UNARY(Expm1Op, math::ExpM1Op)
FLOAT_UNARY(FloorOp, math::FloorOp)
FLOAT_UNARY(LogOp, math::LogOp)
FLOAT_UNARY(Log1pOp, math::Log1pOp)
FLOAT_UNARY(RoundOp, math::RoundEvenOp)
FLOAT_UNARY(SineOp, math::SinOp)
FLOAT_UNARY(SqrtOp, math::SqrtOp)
FLOAT_UNARY(TanOp, math::TanOp)
FLOAT_UNARY(TanhOp, math::TanhOp)
#undef FLOAT_UNARY

/// Operations that are computed by others.
#define FUNCTION(NAME)                                                                                                 \
  static Value compute(NAME##Op, const Elements &e) {                                                                  \
    return kernel::computeFunction(e.builder, kernel::Function::NAME, e[0]);                                           \
  }
FUNCTION(Acos)
FUNCTION(Acosh)
FUNCTION(Asin)
FUNCTION(Asinh)
FUNCTION(Atanh)
FUNCTION(Cosh)
FUNCTION(Digamma)
FUNCTION(Lgamma)
FUNCTION(Sinh)
#undef FUNCTION

static Value compute(AbsOp, const Elements &e) {
  if (e.isFloat())
    return e.unary<math::AbsFOp>();
  if (e.isUnsigned())
    return e[0];
  Value negated = arith::SubIOp::create(e.builder, e.number(0), e[0]);
  return arith::MaxSIOp::create(e.builder, e[0], negated);
}

static Value compute(LogisticOp, const Elements &e) {
  Value exponential = math::ExpOp::create(e.builder, arith::NegFOp::create(e.builder, e[0]));
  Value one = e.number(1);
  return arith::DivFOp::create(e.builder, one, arith::AddFOp::create(e.builder, one, exponential));
}

static Value compute(NegateOp, const Elements &e) {
  if (e.isFloat())
    return e.unary<arith::NegFOp>();
  return arith::SubIOp::create(e.builder, e.number(0), e[0]);
}

static Value compute(NotOp, const Elements &e) {
  Type type = e[0].getType();
  Value ones = kernel::constantInt(e.builder, type, APInt::getAllOnes(type.getIntOrFloatBitWidth()));
  return arith::XOrIOp::create(e.builder, e[0], ones);
}

static Value compute(RsqrtOp, const Elements &e) {
  return arith::DivFOp::create(e.builder, e.number(1), math::SqrtOp::create(e.builder, e[0]));
}

static Value compute(SignOp, const Elements &e) {
  kernel::Builder &builder = e.builder;
  Value zero = e.number(0), one = e.number(1);
  if (!e.isFloat()) {
    Value positive = arith::CmpIOp::create(builder, IntPredicate::ne, e[0], zero);
    Value sign = arith::SelectOp::create(builder, positive, one, zero);
    if (e.isUnsigned())
      return sign;
    Value negative = arith::CmpIOp::create(builder, IntPredicate::slt, e[0], zero);
    return arith::SelectOp::create(builder, negative, e.number(-1), sign);
  }
  // Zeros of either sign and NaN are their own sign.
  Value positive = arith::CmpFOp::create(builder, FloatPredicate::OGT, e[0], zero);
  Value negative = arith::CmpFOp::create(builder, FloatPredicate::OLT, e[0], zero);
  Value sign = arith::SelectOp::create(builder, positive, one, e[0]);
  return arith::SelectOp::create(builder, negative, e.number(-1), sign);
}

static Value compute(IsFiniteOp, const Elements &e) {
  auto real = cast<FloatType>(e[0].getType());
  Value infinity =
      arith::ConstantOp::create(e.builder, e.builder.getFloatAttr(real, APFloat::getInf(real.getFloatSemantics())));
  Value magnitude = e.unary<math::AbsFOp>();
  return arith::CmpFOp::create(e.builder, FloatPredicate::OLT, magnitude, infinity);
}

static Value compute(AddOp, const Elements &e) {
  return kernel::combine(e.builder, ReduceKind::Sum, e.type, e[0], e[1]);
}
static Value compute(AndOp, const Elements &e) { return e.binary<arith::AndIOp>(); }
static Value compute(Atan2Op, const Elements &e) { return e.binary<math::Atan2Op>(); }
static Value compute(MaximumOp, const Elements &e) {
  return kernel::combine(e.builder, ReduceKind::Max, e.type, e[0], e[1]);
}
static Value compute(MinimumOp, const Elements &e) {
  return kernel::combine(e.builder, ReduceKind::Min, e.type, e[0], e[1]);
}
static Value compute(MultiplyOp, const Elements &e) {
  return kernel::combine(e.builder, ReduceKind::Product, e.type, e[0], e[1]);
}
static Value compute(OrOp, const Elements &e) { return e.binary<arith::OrIOp>(); }
static Value compute(XorOp, const Elements &e) { return e.binary<arith::XOrIOp>(); }

static Value compute(SubtractOp, const Elements &e) {
  return e.isFloat() ? e.binary<arith::SubFOp>() : e.binary<arith::SubIOp>();
}
static Value compute(DivideOp, const Elements &e) {
  return e.isFloat() ? e.binary<arith::DivFOp>() : kernel::divideIntegers(e.builder, e.isUnsigned(), e[0], e[1]);
}
static Value compute(RemainderOp, const Elements &e) {
  return e.isFloat() ? e.binary<arith::RemFOp>() : kernel::remainderOfIntegers(e.builder, e.isUnsigned(), e[0], e[1]);
}
static Value compute(PowerOp, const Elements &e) {
  return e.isFloat() ? e.binary<math::PowFOp>() : kernel::powerOfIntegers(e.builder, e.isUnsigned(), e[0], e[1]);
}
static Value compute(ShiftLeftOp, const Elements &e) {
  return kernel::shift(e.builder, kernel::Shift::Left, e[0], e[1]);
}
static Value compute(ShiftRightArithmeticOp, const Elements &e) {
  return kernel::shift(e.builder, kernel::Shift::RightArithmetic, e[0], e[1]);
}
static Value compute(ShiftRightLogicalOp, const Elements &e) {
  return kernel::shift(e.builder, kernel::Shift::RightLogical, e[0], e[1]);
}

static Value compute(ReducePrecisionOp op, const Elements &e) {
  return kernel::reducePrecision(e.builder, e[0], op.getExponent(), op.getMantissa());
}

static Value compute(SelectOp op, const Elements &e) { return arith::SelectOp::create(e.builder, e[0], e[1], e[2]); }

static Value compute(ConvertOp op, const Elements &e) {
  return kernel::convert(e.builder, e.type, getElementTypeOrSelf(op.getResult().getType()), e[0]);
}

static Value compute(BitcastConvertOp op, const Elements &e) {
  Type type = kernel::getSignless(getElementTypeOrSelf(op.getResult().getType()));
  return type == e[0].getType() ? e[0] : arith::BitcastOp::create(e.builder, type, e[0]).getResult();
}

static Value compute(CompareOp op, const Elements &e) {
  static constexpr FloatPredicate floats[] = {FloatPredicate::OEQ, FloatPredicate::UNE, FloatPredicate::OLT,
                                              FloatPredicate::OLE, FloatPredicate::OGT, FloatPredicate::OGE};
  static constexpr IntPredicate integers[] = {IntPredicate::eq,  IntPredicate::ne,  IntPredicate::slt,
                                              IntPredicate::sle, IntPredicate::sgt, IntPredicate::sge};
  static constexpr IntPredicate naturals[] = {IntPredicate::eq,  IntPredicate::ne,  IntPredicate::ult,
                                              IntPredicate::ule, IntPredicate::ugt, IntPredicate::uge};
  auto direction = static_cast<unsigned>(op.getDirection());
  if (e.isFloat() && !op.getTotalOrder())
    return arith::CmpFOp::create(e.builder, floats[direction], e[0], e[1]);
  if (e.isFloat())
    return arith::CmpIOp::create(e.builder, integers[direction], kernel::getOrderKey(e.builder, e[0]),
                                 kernel::getOrderKey(e.builder, e[1]));
  return arith::CmpIOp::create(e.builder, e.isUnsigned() ? naturals[direction] : integers[direction], e[0], e[1]);
}

/// True if `OpT` only moves bits, so that 16-bit floats need not be widened.
template <typename OpT>
static constexpr bool kMovesBits = std::is_same_v<OpT, SelectOp> || std::is_same_v<OpT, ConvertOp> ||
                                   std::is_same_v<OpT, BitcastConvertOp> || std::is_same_v<OpT, ReducePrecisionOp>;

namespace {

template <typename OpT> struct ElementwiseKernel : KernelOpInterface::ExternalModel<ElementwiseKernel<OpT>, OpT> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType result = kernel::getSignless(kernel::typeOf(op->getResult(0)));
    auto body = [&](kernel::Builder &inner, ValueRange args) {
      SmallVector<Value> values;
      for (Value value : args) {
        bool widen = !kMovesBits<OpT> && isa<FloatType>(value.getType());
        values.push_back(widen ? kernel::convertFloat(inner, value, kernel::getAccumulator(value.getType())) : value);
      }
      Value element = compute(cast<OpT>(op), Elements{inner, kernel::elementOf(op->getOperand(0)), values});
      if (isa<FloatType>(result.getElementType()))
        element = kernel::convertFloat(inner, element, result.getElementType());
      return element;
    };
    return SmallVector<Value>{kernel::mapElements(builder, result, operands, body)};
  }
};

template <typename... OpTs> void attach(MLIRContext *context) {
  (OpTs::template attachInterface<ElementwiseKernel<OpTs>>(*context), ...);
}

} // namespace

void kernel::registerElementwise(MLIRContext *context) {
  attach<AcosOp, AcoshOp, AsinOp, AsinhOp, AtanhOp, CoshOp, DigammaOp, LgammaOp, ReducePrecisionOp, SinhOp>(context);
  attach<AbsOp, CbrtOp, CeilOp, CosineOp, ErfOp, ErfcOp, ExpOp, Expm1Op, FloorOp, LogOp, Log1pOp, LogisticOp, NegateOp,
         NotOp, RoundOp, RsqrtOp, SignOp, SineOp, SqrtOp, TanOp, TanhOp, IsFiniteOp>(context);
  attach<AddOp, AndOp, Atan2Op, DivideOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, PowerOp, RemainderOp, ShiftLeftOp,
         ShiftRightArithmeticOp, ShiftRightLogicalOp, SubtractOp, XorOp, CompareOp, SelectOp, ConvertOp,
         BitcastConvertOp>(context);
}
