//===- TwinExpansion.cpp - floats as floats of 64 bits --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations keep their kind, with f64 for their types. What follows is the rounding, which the runtime chooses.
//
//===----------------------------------------------------------------------===//

#include "TwinExpansion.h"
#include "WordExpansion.h"
#include "meshwright/runtime/KernelTable.h"
#include "meshwright/runtime/TwinFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

/// The function of the table that computes the operation and rounds; none for others.
static StringRef findArithmetic(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::AddFOp) { return "add"; })
      .Case([](arith::SubFOp) { return "subtract"; })
      .Case([](arith::MulFOp) { return "multiply"; })
      .Case([](arith::DivFOp) { return "divide"; })
      .Default([](Operation *) { return ""; });
}

/// True if the operation's result is a float that no type has to round: one of its operands, or part of one.
static bool isExact(Operation *op) {
  return isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::RoundOp, math::RoundEvenOp, math::TruncOp,
             math::CopySignOp>(op);
}

namespace {

class TwinExpansion : public WordExpansion {
public:
  TwinExpansion(ModuleOp module, int64_t scale)
      : WordExpansion(module, scale, Float64Type::get(module.getContext()), runtime::twinFunctionsSymbol,
                      runtime::twinFunctionNames, "the twin in 64 bits"),
        f64(Float64Type::get(module.getContext())) {}

private:
  Value getType(OpBuilder &builder, Location location, Type type) const {
    return getWord(builder, location, getTypeNumber(type));
  }

  Value round(OpBuilder &builder, Location location, Value value, Type type) const {
    return callFunction(builder, location, "round", {getType(builder, location, type), value}, f64);
  }

  /// Rounds the result of an operation that stays.
  LogicalResult roundResult(Operation *op, Type type) const {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Value result = op->getResult(0), rounded = round(builder, op->getLoc(), result, type);
    result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
    return success();
  }

  LogicalResult expandFloats(Operation *op, const OriginalTypes &types) override {
    OpBuilder builder(op);
    Location location = op->getLoc();
    if (StringRef name = findArithmetic(op); !name.empty()) {
      SmallVector<Value> operands = {getType(builder, location, types.results.front())};
      llvm::append_range(operands, op->getOperands());
      replace(op, callFunction(builder, location, name, operands, f64));
    } else if (isa<arith::ExtFOp>(op)) {
      replace(op, op->getOperand(0));
    } else if (isa<arith::TruncFOp>(op)) {
      replace(op, round(builder, location, op->getOperand(0), types.results.front()));
    } else if (isa<UnrealizedConversionCastOp>(op)) {
      replace(op, arith::BitcastOp::create(builder, location, op->getResult(0).getType(), op->getOperand(0)));
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      replace(op, getConstant(builder, location, cast<FloatAttr>(constant.getValue()).getValue()));
    } else if (isa<arith::BitcastOp>(op)) {
      expandBitcast(op, types);
    } else if (isa<arith::SIToFPOp, arith::UIToFPOp>(op) ||
               (isa<math::MathDialect>(op->getDialect()) && !isExact(op) && isa<FloatType>(types.results.front()))) {
      return roundResult(op, types.results.front());
    }
    return success();
  }

  Value getConstant(OpBuilder &builder, Location location, llvm::APFloat value) const {
    bool losesInfo = false;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return arith::ConstantOp::create(builder, location, builder.getFloatAttr(f64, value));
  }

  /// The bits of a float are those of the type that the program has.
  void expandBitcast(Operation *op, const OriginalTypes &types) const {
    OpBuilder builder(op);
    Location location = op->getLoc();
    Value value = op->getOperand(0);
    Type from = types.operands.front(), to = types.results.front();
    if (isa<FloatType>(from))
      value = callFunction(builder, location, "toPattern", {getType(builder, location, from), value}, word);
    else
      value = widen(builder, location, value, /*isSigned=*/false);
    if (isa<FloatType>(to))
      value = callFunction(builder, location, "fromPattern", {getType(builder, location, to), value}, f64);
    else
      value = narrow(builder, location, value, to);
    replace(op, value);
  }

  Float64Type f64;
};

} // namespace

LogicalResult emit::expandTwin(ModuleOp module, int64_t scale) { return TwinExpansion(module, scale).run(); }
