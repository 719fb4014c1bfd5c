//===- AssignPrecision.cpp - computes in 16 bit ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables keep their type: a parameter is converted right behind its read, so that what is made of the read alone can
// be made where the parameter is kept. Operations are visited in order and are of one of three classes:
//
//   narrow    products: operands are converted, the result is in 16 bit
//   wide      reductions, exponentials and their like, conversions, and what is to keep its type: operands are
//   converted back follow    the others: in 16 bit if all their operands are, but for constants, which take either type
//
// A value is converted once in either direction, where it is defined.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/NetBuilder.h"
#include "lib/Train/Program.h"
#include "meshwright/Train/Passes.h"

#define DEBUG_TYPE "dist-train-assign-precision"

namespace meshwright::train {
#define GEN_PASS_DEF_ASSIGNPRECISIONPASS
#include "include/meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

enum class Precision { Narrow, Wide, Follow };

struct AssignPrecisionPass : train::impl::AssignPrecisionPassBase<AssignPrecisionPass> {
  using AssignPrecisionPassBase::AssignPrecisionPassBase;
  AssignPrecisionPass(AssignPrecisionPassOptions options, std::vector<Location> locations)
      : AssignPrecisionPassBase(std::move(options)), locations(std::move(locations)) {}

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    if (compute == ComputeType::Written)
      return;
    narrow = compute == ComputeType::BF16 ? Type(BFloat16Type::get(&getContext())) : Float16Type::get(&getContext());
    SymbolTable symbols(getOperation());
    for (Operation &op : llvm::make_early_inc_range(func->getBody().front()))
      if (auto read = dyn_cast<net::ReadOp>(op))
        convertRead(read, symbols.lookup<net::VariableOp>(read.getVariable()));
      else
        rewrite(&op);
    if (failed(verifyAllUsed(getOperation(), keep, used, "keep", "operations, scopes and parameters", locations)))
      signalPassFailure();
  }

private:
  /// Whether `value` is of floats that 16 bit are narrower than.
  bool isWide(Value value) const {
    return net::isFloat(value) && net::elementTypeOf(value).getIntOrFloatBitWidth() > narrow.getIntOrFloatBitWidth();
  }

  Precision classify(Operation *op) {
    auto scope = op->getAttrOfType<StringAttr>(net::kScopeAttr);
    bool isKept = matchesAny(keep, op->getName().stripDialect(), used);
    isKept |= scope && matchesAny(keep, scope.getValue(), used);
    if (isKept || op->hasTrait<OpTrait::IsTerminator>())
      return Precision::Wide;
    if (isa<net::DotOp, net::ConvolutionOp>(op))
      return Precision::Narrow;
    // The largest of 16-bit values is one of them; sums lose.
    if (auto window = dyn_cast<net::ReduceWindowOp>(op))
      return window.getKind() == dist::ReduceKind::Sum || window.getKind() == dist::ReduceKind::Product
                 ? Precision::Wide
                 : Precision::Follow;
    if (isa<net::ReduceOp, net::ArgReduceOp, net::ExpOp, net::Expm1Op, net::LogOp, net::Log1pOp, net::PowerOp,
            net::RsqrtOp, net::SqrtOp, net::TanOp, net::ConvertOp, net::BitcastConvertOp, net::AssignOp>(op))
      return Precision::Wide;
    return Precision::Follow;
  }

  void rewrite(Operation *op) {
    if (isa<net::ConstantOp, net::IotaOp>(op))
      return;
    Precision precision = classify(op);
    if (precision == Precision::Narrow || (precision == Precision::Follow && follows(op)))
      makeNarrow(op);
    else
      makeWide(op);
  }

  /// The parameter's value in 16 bit takes the place of the read.
  void convertRead(net::ReadOp read, net::VariableOp variable) {
    bool isKept = matchesAny(keep, read.getVariable(), used);
    if (variable.getKind() != net::VariableKind::Parameter || isKept || !isWide(read.getResult()))
      return;
    Value value = toNarrow(read.getResult());
    read.getResult().replaceAllUsesExcept(value, value.getDefiningOp());
    written[value] = net::elementTypeOf(read.getResult());
    wide[value] = read.getResult();
  }

  /// Whether `op` is computed in 16 bit as its operands are.
  bool follows(Operation *op) const {
    bool any = false;
    for (Value operand : op->getOperands()) {
      if (!net::isFloat(operand))
        continue;
      bool isNarrow = written.contains(operand);
      if (!isNarrow && !(isWide(operand) && fits(operand)))
        return false;
      any |= isNarrow;
    }
    return any;
  }

  /// Whether `value` is a constant that stays finite in 16 bit.
  bool fits(Value value) const {
    net::ConstantOp constant = net::getConstant(value);
    auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
    if (!elements)
      return false;
    auto isFinite = [&](APFloat number) {
      bool was = number.isFinite(), loses;
      number.convert(cast<FloatType>(narrow).getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
      return number.isFinite() == was;
    };
    return elements.isSplat() ? isFinite(elements.getSplatValue<APFloat>())
                              : llvm::all_of(elements.getValues<APFloat>(), isFinite);
  }

  void makeNarrow(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isWide(operand.get()))
        operand.set(toNarrow(operand.get()));
    for (Value result : op->getResults())
      if (isWide(result)) {
        written[result] = net::elementTypeOf(result);
        result.setType(net::typeOf(result).clone(narrow));
      }
    ++numNarrow;
  }

  void makeWide(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (auto found = written.find(operand.get()); found != written.end())
        operand.set(convertOnce(wide, operand.get(), found->second));
  }

  Value toNarrow(Value value) {
    if (Value source = narrowed.lookup(value))
      return source;
    return convertOnce(narrowed, value, narrow);
  }

  Value convertOnce(llvm::DenseMap<Value, Value> &known, Value value, Type type) {
    Value &result = known[value];
    if (result)
      return result;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    result = net::NetBuilder(builder, value.getLoc()).convert(value, type);
    if (Operation *maker = value.getDefiningOp())
      for (StringRef name : {net::kRoleAttr, net::kScopeAttr})
        if (Attribute attribute = maker->getDiscardableAttr(name))
          result.getDefiningOp()->setDiscardableAttr(name, attribute);
    ++numConversions;
    return result;
  }

  Type narrow;
  /// The type that a value which is in 16 bit had before.
  llvm::DenseMap<Value, Type> written;
  /// What values are converted to, in either direction.
  llvm::DenseMap<Value, Value> wide, narrowed;
  SmallVector<bool> used;
  /// Where `keep` was written.
  std::vector<Location> locations;
};

} // namespace

std::unique_ptr<Pass> train::createAssignPrecisionPass(AssignPrecisionPassOptions options,
                                                       std::vector<Location> locations) {
  return std::make_unique<AssignPrecisionPass>(std::move(options), std::move(locations));
}
