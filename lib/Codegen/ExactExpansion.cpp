//===- ExactExpansion.cpp - floats as residues ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A float is the word of its residue, and every operation of floats a call of the runtime.
//
//===----------------------------------------------------------------------===//

#include "ExactExpansion.h"
#include "WordExpansion.h"
#include "meshwright/runtime/ExactFunctions.h"
#include "meshwright/runtime/KernelTable.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;
using meshwright::runtime::ExactFunction;
using meshwright::runtime::Residue;

/// The functions of one operand that residues have no counterpart of.
static std::optional<ExactFunction> findUnary(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<ExactFunction>>(op)
      .Case([](math::AbsFOp) { return ExactFunction::Abs; })
      .Case([](math::AcosOp) { return ExactFunction::Acos; })
      .Case([](math::AcoshOp) { return ExactFunction::Acosh; })
      .Case([](math::AsinOp) { return ExactFunction::Asin; })
      .Case([](math::AsinhOp) { return ExactFunction::Asinh; })
      .Case([](math::AtanOp) { return ExactFunction::Atan; })
      .Case([](math::AtanhOp) { return ExactFunction::Atanh; })
      .Case([](math::CbrtOp) { return ExactFunction::Cbrt; })
      .Case([](math::CeilOp) { return ExactFunction::Ceil; })
      .Case([](math::CosOp) { return ExactFunction::Cos; })
      .Case([](math::CoshOp) { return ExactFunction::Cosh; })
      .Case([](math::ErfOp) { return ExactFunction::Erf; })
      .Case([](math::ErfcOp) { return ExactFunction::Erfc; })
      .Case([](math::ExpOp) { return ExactFunction::Exp; })
      .Case([](math::Exp2Op) { return ExactFunction::Exp2; })
      .Case([](math::ExpM1Op) { return ExactFunction::ExpM1; })
      .Case([](math::FloorOp) { return ExactFunction::Floor; })
      .Case([](math::LogOp) { return ExactFunction::Log; })
      .Case([](math::Log10Op) { return ExactFunction::Log10; })
      .Case([](math::Log1pOp) { return ExactFunction::Log1P; })
      .Case([](math::Log2Op) { return ExactFunction::Log2; })
      .Case([](math::RoundOp) { return ExactFunction::Round; })
      .Case([](math::RoundEvenOp) { return ExactFunction::RoundEven; })
      .Case([](math::RsqrtOp) { return ExactFunction::ReciprocalSqrt; })
      .Case([](math::SinOp) { return ExactFunction::Sin; })
      .Case([](math::SinhOp) { return ExactFunction::Sinh; })
      .Case([](math::SqrtOp) { return ExactFunction::Sqrt; })
      .Case([](math::TanOp) { return ExactFunction::Tan; })
      .Case([](math::TanhOp) { return ExactFunction::Tanh; })
      .Case([](math::TruncOp) { return ExactFunction::Trunc; })
      .Default([](Operation *) { return std::nullopt; });
}

static std::optional<ExactFunction> findBinary(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<ExactFunction>>(op)
      .Case([](math::Atan2Op) { return ExactFunction::Atan2; })
      .Case([](math::CopySignOp) { return ExactFunction::CopySign; })
      .Case([](math::PowFOp) { return ExactFunction::Power; })
      .Case([](arith::RemFOp) { return ExactFunction::Remainder; })
      .Default([](Operation *) { return std::nullopt; });
}

/// The functions of the field, by their names in the table.
static StringRef findArithmetic(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::AddFOp) { return "add"; })
      .Case([](arith::SubFOp) { return "subtract"; })
      .Case([](arith::MulFOp) { return "multiply"; })
      .Case([](arith::DivFOp) { return "divide"; })
      .Case([](arith::NegFOp) { return "negate"; })
      .Case([](arith::MaximumFOp) { return "maximum"; })
      .Case([](arith::MinimumFOp) { return "minimum"; })
      .Case([](arith::MaxNumFOp) { return "maximumNumber"; })
      .Case([](arith::MinNumFOp) { return "minimumNumber"; })
      .Default([](Operation *) { return ""; });
}

static uint64_t getOutcomes(arith::CmpFPredicate predicate) {
  using enum arith::CmpFPredicate;
  constexpr uint64_t equal = runtime::ExactEqual, greater = runtime::ExactGreater, less = runtime::ExactLess,
                     unordered = runtime::ExactUnordered;
  switch (predicate) {
  case AlwaysFalse:
    return 0;
  case OEQ:
    return equal;
  case OGT:
    return greater;
  case OGE:
    return greater | equal;
  case OLT:
    return less;
  case OLE:
    return less | equal;
  case ONE:
    return less | greater;
  case ORD:
    return less | greater | equal;
  case UEQ:
    return unordered | equal;
  case UGT:
    return unordered | greater;
  case UGE:
    return unordered | greater | equal;
  case ULT:
    return unordered | less;
  case ULE:
    return unordered | less | equal;
  case UNE:
    return unordered | less | greater;
  case UNO:
    return unordered;
  case AlwaysTrue:
    return unordered | less | greater | equal;
  }
  llvm_unreachable("all predicates are listed");
}

static Residue toResidue(llvm::APFloat value) {
  bool losesInfo = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return Residue(value.convertToDouble());
}

namespace {

class ExactExpansion : public WordExpansion {
public:
  ExactExpansion(ModuleOp module, int64_t scale)
      : WordExpansion(module, scale, IntegerType::get(module.getContext(), 64), runtime::exactFunctionsSymbol,
                      runtime::exactFunctionNames, "exact arithmetic") {}

private:
  /// Calls a function of the table, whose operands are words.
  Value call(OpBuilder &builder, Location location, StringRef name, ValueRange operands) const {
    return callFunction(builder, location, name, operands, word);
  }

  LogicalResult expandFloats(Operation *op, const OriginalTypes &types) override {
    OpBuilder builder(op);
    Location location = op->getLoc();
    if (StringRef name = findArithmetic(op); !name.empty()) {
      replace(op, call(builder, location, name, op->getOperands()));
      return success();
    }
    auto evaluate = [&](StringRef name, ExactFunction function) {
      SmallVector<Value> operands = {getWord(builder, location, static_cast<uint64_t>(function))};
      llvm::append_range(operands, op->getOperands());
      replace(op, call(builder, location, name, operands));
      return success();
    };
    if (std::optional<ExactFunction> function = findUnary(op))
      return evaluate("evaluateOne", *function);
    if (std::optional<ExactFunction> function = findBinary(op))
      return evaluate("evaluateTwo", *function);
    return expandOther(op, types);
  }

  /// Operations that are neither of the field nor functions.
  LogicalResult expandOther(Operation *op, const OriginalTypes &types) {
    OpBuilder builder(op);
    Location location = op->getLoc();
    auto callOne = [&](StringRef name, ValueRange operands) { return call(builder, location, name, operands); };
    if (isa<arith::ExtFOp, arith::TruncFOp, UnrealizedConversionCastOp>(op)) {
      replace(op, op->getOperand(0));
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      Residue residue = toResidue(cast<FloatAttr>(constant.getValue()).getValue());
      replace(op, getWord(builder, location, residue.getBits()));
    } else if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
      Value mask = getWord(builder, location, getOutcomes(compare.getPredicate()));
      Value holds = callOne("compare", {mask, compare.getLhs(), compare.getRhs()});
      replace(op, narrow(builder, location, holds, builder.getI1Type()));
    } else if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
      bool isSigned = isa<arith::SIToFPOp>(op);
      replace(op,
              callOne(isSigned ? "fromSigned" : "fromUnsigned", widen(builder, location, op->getOperand(0), isSigned)));
    } else if (isa<arith::FPToSIOp, arith::FPToUIOp>(op)) {
      replace(op, narrow(builder, location, callOne("toInteger", op->getOperand(0)), types.results.front()));
    } else if (isa<arith::BitcastOp>(op)) {
      expandBitcast(op, types);
    } else if (auto fused = dyn_cast<math::FmaOp>(op)) {
      Value product = callOne("multiply", {fused.getA(), fused.getB()});
      replace(op, callOne("add", {product, fused.getC()}));
    } else if (isa<math::IsNaNOp, math::IsInfOp, math::IsFiniteOp>(op)) {
      expandClass(op);
    } else if (!isa<arith::SelectOp>(op) && op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>()) {
      return op->emitError() << "exact arithmetic has no " << op->getName();
    }
    return success();
  }

  void expandBitcast(Operation *op, const OriginalTypes &types) {
    OpBuilder builder(op);
    Location location = op->getLoc();
    Value value = op->getOperand(0);
    Type from = types.operands.front(), to = types.results.front();
    if (isa<FloatType>(from)) {
      Value type = getWord(builder, location, getTypeNumber(from));
      value = call(builder, location, "toPattern", {type, value});
    }
    if (isa<FloatType>(to)) {
      Value type = getWord(builder, location, getTypeNumber(to));
      value = call(builder, location, "fromPattern", {type, widen(builder, location, value, /*isSigned=*/false)});
    } else {
      value = narrow(builder, location, value, to);
    }
    replace(op, value);
  }

  /// NaN is what is not ordered beside itself, and an infinity what is its own double.
  void expandClass(Operation *op) {
    OpBuilder builder(op);
    Location location = op->getLoc();
    Value value = op->getOperand(0), zero = getWord(builder, location, 0);
    Value difference = call(builder, location, "subtract", {value, value});
    bool wantsFinite = isa<math::IsFiniteOp>(op);
    bool wantsNaN = isa<math::IsNaNOp>(op);
    auto compare = [&](uint64_t outcomes, Value lhs, Value rhs) {
      return call(builder, location, "compare", {getWord(builder, location, outcomes), lhs, rhs});
    };
    Value holds;
    if (wantsFinite)
      holds = compare(runtime::ExactEqual, difference, zero);
    else if (wantsNaN)
      holds = compare(runtime::ExactUnordered, value, value);
    else
      // Only an infinity is ordered while its difference with itself is not.
      holds = arith::AndIOp::create(builder, location, compare(runtime::ExactUnordered, difference, zero),
                                    compare(runtime::ExactEqual, value, value));
    replace(op, narrow(builder, location, holds, builder.getI1Type()));
  }
};

} // namespace

LogicalResult emit::expandExact(ModuleOp module, int64_t scale) { return ExactExpansion(module, scale).run(); }
