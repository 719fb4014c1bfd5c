//===- ExactExpansion.cpp - floats as residues ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types change in place, first those of all values, then operations one by one: what moves values, as loops and
// selections do, stays as it is.
//
//===----------------------------------------------------------------------===//

#include "ExactExpansion.h"
#include "meshwright/runtime/ExactFunctions.h"
#include "meshwright/runtime/KernelTable.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "package.pb.h"
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

/// The number in the package's schema of a float type.
static uint64_t getTypeNumber(Type type) {
  return llvm::TypeSwitch<Type, DType>(type)
      .Case([](Float64Type) { return F64; })
      .Case([](BFloat16Type) { return BF16; })
      .Case([](Float16Type) { return F16; })
      .Case([](Float8E4M3FNType) { return F8E4M3FN; })
      .Case([](Float8E5M2Type) { return F8E5M2; })
      .Case([](Float8E4M3B11FNUZType) { return F8E4M3B11FNUZ; })
      .Case([](Float8E4M3FNUZType) { return F8E4M3FNUZ; })
      .Case([](Float8E5M2FNUZType) { return F8E5M2FNUZ; })
      .Case([](Float8E4M3Type) { return F8E4M3; })
      .Case([](Float8E3M4Type) { return F8E3M4; })
      .Default([](Type) { return F32; });
}

static Residue toResidue(llvm::APFloat value) {
  bool losesInfo = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return Residue(value.convertToDouble());
}

namespace {

class ExactExpansion {
public:
  ExactExpansion(ModuleOp module, int64_t scale)
      : module(module), scale(scale), word(IntegerType::get(module.getContext(), 64)) {}

  LogicalResult run() {
    addTable();
    SmallVector<std::pair<Operation *, OriginalTypes>> operations;
    module.walk([&](Operation *op) {
      operations.push_back({op, {llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())}});
    });
    for (auto &[op, types] : operations)
      convertTypes(op);
    for (auto &[op, types] : operations)
      if (failed(expand(op, types)))
        return failure();
    return success();
  }

private:
  struct OriginalTypes {
    SmallVector<Type> operands, results;
  };

  Type convert(Type type) const {
    if (isa<FloatType>(type))
      return word;
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref || !memref.getElementType().isIntOrFloat())
      return type;
    Type element = memref.getElementType();
    int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8), lanes = scale;
    Type lane = element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
    if (isa<FloatType>(element)) {
      // Narrower floats than any of a program's buffers are in temporaries.
      lanes = std::max<int64_t>(scale * bytes / 8, 1);
      lane = word;
    }
    return MemRefType::get(memref.getShape(), VectorType::get({lanes}, lane), memref.getLayout(),
                           memref.getMemorySpace());
  }

  void convertTypes(Operation *op) {
    for (Value result : op->getResults())
      result.setType(convert(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(convert(argument.getType()));
    if (auto func = dyn_cast<func::FuncOp>(op)) {
      auto inputs = llvm::map_to_vector(func.getArgumentTypes(), [&](Type type) { return convert(type); });
      func.setFunctionType(FunctionType::get(op->getContext(), inputs, func.getResultTypes()));
    }
  }

  void addTable() {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    LLVM::GlobalOp::create(builder, module.getLoc(), LLVM::LLVMPointerType::get(module.getContext()),
                           /*isConstant=*/false, LLVM::Linkage::External, runtime::exactFunctionsSymbol, Attribute());
  }

  Value getWord(OpBuilder &builder, Location location, uint64_t bits) const {
    return arith::ConstantOp::create(builder, location, builder.getIntegerAttr(word, llvm::APInt(64, bits)));
  }

  /// Calls a function of the table, whose operands are words.
  Value call(OpBuilder &builder, Location location, StringRef name, ValueRange operands) const {
    auto place = llvm::find(runtime::exactFunctionNames, std::string_view(name));
    assert(place != std::end(runtime::exactFunctionNames) && "functions are called by names of the table");
    auto index = static_cast<int32_t>(place - std::begin(runtime::exactFunctionNames));
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Value symbol = LLVM::AddressOfOp::create(builder, location, pointer, runtime::exactFunctionsSymbol);
    Value table = LLVM::LoadOp::create(builder, location, pointer, symbol);
    Value slot = LLVM::GEPOp::create(builder, location, pointer, pointer, table, ArrayRef<LLVM::GEPArg>{index});
    SmallVector<Value> callee = {LLVM::LoadOp::create(builder, location, pointer, slot)};
    llvm::append_range(callee, operands);
    auto type = LLVM::LLVMFunctionType::get(word, SmallVector<Type>(operands.size(), word));
    return LLVM::CallOp::create(builder, location, type, callee).getResult();
  }

  void replace(Operation *op, Value value) const {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  /// The bits of an integer in a word, with its sign where that counts.
  Value widen(OpBuilder &builder, Location location, Value value, bool isSigned) const {
    if (value.getType() == word)
      return value;
    return isSigned ? arith::ExtSIOp::create(builder, location, word, value).getResult()
                    : arith::ExtUIOp::create(builder, location, word, value).getResult();
  }
  Value narrow(OpBuilder &builder, Location location, Value value, Type type) const {
    return type == word ? value : arith::TruncIOp::create(builder, location, type, value).getResult();
  }

  LogicalResult expand(Operation *op, const OriginalTypes &types) {
    OpBuilder builder(op);
    Location location = op->getLoc();
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return expandLoad(load, types.results.front());
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return expandStore(store);
    auto hasFloat = [](ArrayRef<Type> list) {
      return llvm::any_of(list, [](Type type) { return isa<FloatType>(type); });
    };
    if (!hasFloat(types.operands) && !hasFloat(types.results))
      return checkConstant(op);
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

  LogicalResult checkConstant(Operation *op) const {
    auto constant = dyn_cast<arith::ConstantOp>(op);
    auto shaped = constant ? dyn_cast<ShapedType>(constant.getType()) : ShapedType();
    bool isGlobal = isa<memref::GlobalOp>(op);
    if (!isGlobal && (!shaped || !isa<FloatType>(shaped.getElementType())))
      return success();
    return op->emitError() << "exact arithmetic has no constant arrays inside of kernels";
  }

  LogicalResult expandLoad(memref::LoadOp load, Type original) {
    if (!isa<VectorType>(load.getMemRefType().getElementType()))
      return success();
    OpBuilder builder(load);
    Location location = load.getLoc();
    Value place = memref::LoadOp::create(builder, location, load.getMemref(), load.getIndices());
    Value value = vector::ExtractOp::create(builder, location, place, int64_t(0));
    replace(load, original.isInteger(1) ? narrow(builder, location, value, original) : value);
    return success();
  }

  LogicalResult expandStore(memref::StoreOp store) {
    auto type = dyn_cast<VectorType>(store.getMemRefType().getElementType());
    if (!type)
      return success();
    OpBuilder builder(store);
    Location location = store.getLoc();
    Value value = store.getValueToStore();
    if (value.getType().isInteger(1))
      value = arith::ExtUIOp::create(builder, location, type.getElementType(), value);
    Value place = vector::BroadcastOp::create(builder, location, type, value);
    memref::StoreOp::create(builder, location, place, store.getMemref(), store.getIndices());
    store.erase();
    return success();
  }

  ModuleOp module;
  int64_t scale;
  IntegerType word;
};

} // namespace

LogicalResult emit::expandExact(ModuleOp module, int64_t scale) { return ExactExpansion(module, scale).run(); }
