//===- AssignPrecision.cpp - mixed precision: forward in 16 bits ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables keep their type; a parameter is converted right after its read, so that operations on the read alone can
// run where the parameter is stored. Operations are visited in order. Each states its class (`PrecisionOpInterface`):
//
//   narrow    operands are converted, the result has 16 bits
//   wide      operands are converted back; operations in `keep` are of this class
//   follow    16 bits if all operands have, except constants, which take either type
//
// A value carried by a loop has 16 bits if its initial value and its value after every iteration have, which is known
// only after the body: so a fixed point first decides the types, then everything is rewritten. A value is converted
// once in either direction, where it is defined, or after the loop that it leaves.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "dialects/Net/Loops.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Precision.h"
#include "meshwright/Train/Passes.h"
#include "llvm/ADT/DenseSet.h"

#define DEBUG_TYPE "dist-train-assign-precision"

namespace meshwright::train {
#define GEN_PASS_DEF_ASSIGNPRECISIONPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;
using net::Precision;

namespace {

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
    Block &block = func->getBody().front();
    loops = net::LoopNest::findBodies(block);
    SymbolTable symbols(getOperation());
    kept.emplace(keep);
    while (decide(block, symbols))
      ;
    for (Operation &op : llvm::make_early_inc_range(block))
      if (auto read = dyn_cast<net::ReadOp>(op))
        convertRead(read);
      else if (isNarrow.contains(&op))
        makeNarrow(&op);
      else
        makeWide(&op);
    if (failed(verifyAllUsed(getOperation(), *kept, "keep", "operations, scopes and parameters", locations)))
      return signalPassFailure();
    warnOfGlobsWithoutEffect(getOperation(), *kept, "keep", "all that it matches keeps its type without it", locations);
  }

private:
  /// True if `value` consists of floats wider than 16 bits.
  bool isWide(Value value) const {
    return net::isFloat(value) && net::elementTypeOf(value).getIntOrFloatBitWidth() > narrow.getIntOrFloatBitWidth();
  }

  Precision classify(Operation *op) {
    auto scope = net::kScopeAttr.get(op);
    auto interface = dyn_cast<net::PrecisionOpInterface>(op);
    bool isTerminator = op->hasTrait<OpTrait::IsTerminator>();
    Precision precision = interface && !isTerminator ? interface.getPrecision() : Precision::Wide;
    SmallVector<StringRef, 2> names{op->getName().stripDialect()};
    if (scope)
      names.push_back(scope.getValue());
    return kept->match(names, precision != Precision::Wide) ? Precision::Wide : precision;
  }

  /// Decides which operations, including reads of parameters, have results in 16 bits. Returns true to be repeated: a
  /// value carried in 16 bits turned out to be wide at the end of an iteration. Each repetition makes at least one more
  /// carried value wide; programs from frameworks need one.
  bool decide(Block &block, const SymbolTable &symbols) {
    isNarrow.clear();
    bool isAgain = false;
    for (Operation &op : block) {
      if (isNarrowed(&op, symbols))
        isNarrow.insert(&op);
      auto next = dyn_cast<net::NextOp>(op);
      net::CarryOp carry = next ? next.getCarry().getDefiningOp<net::CarryOp>() : net::CarryOp();
      if (carry && isNarrow.contains(carry) && !isNarrow.contains(next))
        isAgain |= staysWide.insert(carry).second;
    }
    return isAgain;
  }

  bool isNarrowed(Operation *op, const SymbolTable &symbols) {
    // A source, a constant or indices, is converted for those of its readers that are narrow.
    if (op->getNumOperands() == 0 && isPure(op))
      return false;
    if (auto read = dyn_cast<net::ReadOp>(op)) {
      bool isNarrowed = isWide(read.getResult()) &&
                        symbols.lookup<net::VariableOp>(read.getVariable()).getKind() == net::VariableKind::Parameter;
      return !kept->match(read.getVariable(), isNarrowed) && isNarrowed;
    }
    Precision precision = classify(op);
    if (auto carry = dyn_cast<net::CarryOp>(op))
      return precision == Precision::Follow && !staysWide.contains(op) && isInNarrow(carry.getInit());
    if (auto next = dyn_cast<net::NextOp>(op))
      return precision == Precision::Follow && isInNarrow(next.getCarry()) && isInNarrow(next.getValue());
    return precision == Precision::Narrow || (precision == Precision::Follow && follows(op));
  }

  /// True if `value`, which still has its original type, will have 16 bits.
  bool isInNarrow(Value value) const {
    return value.getDefiningOp() && isNarrow.contains(value.getDefiningOp()) && isWide(value);
  }

  /// Replaces the uses of a read by the converted parameter.
  void convertRead(net::ReadOp read) {
    if (!isNarrow.contains(read))
      return;
    Value value = toNarrow(read.getResult());
    read.getResult().replaceAllUsesExcept(value, value.getDefiningOp());
    written[value] = net::elementTypeOf(read.getResult());
    wide[value] = read.getResult();
  }

  /// True if an operation of class `follow` computes in 16 bits.
  bool follows(Operation *op) const {
    bool any = false;
    for (Value operand : op->getOperands()) {
      if (!net::isFloat(operand))
        continue;
      if (!isInNarrow(operand) && !(isWide(operand) && fits(operand)))
        return false;
      any |= isInNarrow(operand);
    }
    return any;
  }

  /// True if `value` is a constant that stays finite in 16 bits.
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
    Operation *maker = value.getDefiningOp();
    if (maker && net::leavesLoop(maker))
      builder.setInsertionPointAfter(loops.getEnd(loops.getLoop(maker)));
    else
      builder.setInsertionPointAfterValue(value);
    result = net::NetBuilder(builder, value.getLoc()).convert(value, type);
    if (maker)
      inherit(result.getDefiningOp(), maker, Inherit::Companion);
    ++numConversions;
    return result;
  }

  Type narrow;
  net::LoopNest loops;
  /// Operations with results in 16 bits, as far as decided.
  llvm::DenseSet<Operation *> isNarrow;
  /// Carried values that an iteration leaves wide.
  llvm::DenseSet<Operation *> staysWide;
  /// The original element type of values in 16 bits.
  llvm::DenseMap<Value, Type> written;
  /// Conversions of values, in either direction.
  llvm::DenseMap<Value, Value> wide, narrowed;
  std::optional<GlobList> kept;
  /// The locations of the globs in `keep`.
  std::vector<Location> locations;
};

} // namespace

std::unique_ptr<Pass> train::createAssignPrecisionPass(AssignPrecisionPassOptions options,
                                                       std::vector<Location> locations) {
  return std::make_unique<AssignPrecisionPass>(std::move(options), std::move(locations));
}
