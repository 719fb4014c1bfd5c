//===- Programs.cpp - verifies what passes rely on ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifies once what passes rely on without checking again: functions of one block, types with static shapes and known
// elements, and sizes whose sums do not overflow. Sums saturate at `kMaxStepBytes` + 1. Linear in the number of
// operations.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Programs.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;

LogicalResult meshwright::verifyBody(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitError() << "function @" << func.getSymName() << " has " << func.getBody().getBlocks().size()
                            << " blocks, not one";
  Block &body = func.getBody().front();
  if (body.empty() || !isa<func::ReturnOp>(body.back()))
    return func.emitError() << "function @" << func.getSymName() << " does not end with its return";
  return success();
}

static bool isKnownElement(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (integer)
    return !integer.isSigned() && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<Float64Type, Float32Type, Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type,
             Float8E4M3B11FNUZType, Float8E4M3FNUZType, Float8E5M2FNUZType, Float8E4M3Type, Float8E3M4Type>(type);
}

std::string meshwright::describeType(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getRank() > kMaxRank)
    stream << "a tensor of rank " << tensor.getRank();
  else
    stream << "'" << type << "'";
  return text;
}

std::optional<std::string> meshwright::getTypeProblem(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return "which is not a tensor of static shape";
  if (tensor.getRank() > kMaxRank)
    return ("which has more than " + Twine(kMaxRank) + " dimensions").str();
  int64_t elements = 1;
  for (auto [dim, size] : llvm::enumerate(tensor.getShape())) {
    if (ShapedType::isDynamic(size))
      return ("whose dimension " + Twine(dim) + " has no size; export with static shapes").str();
    // Elements take up to eight bytes.
    if (llvm::MulOverflow(elements, size, elements) || elements > std::numeric_limits<int64_t>::max() / 8)
      return "which has more elements than 60 bits count";
  }
  if (tensor.getEncoding())
    return "whose encoding is not known";
  if (!isKnownElement(tensor.getElementType()))
    return "whose elements are not known; f64, f32, f16, bf16, floats of 8 bits with a mantissa, i1 and integers of 8, "
           "16, 32 and 64 bits are";
  return std::nullopt;
}

namespace {

/// A saturating sum of bytes.
class Sum {
public:
  /// Adds the bytes of a value of a supported `type`, `times` times.
  void add(Type type, int64_t times) {
    RankedTensorType tensor = dist::getTensorType(type);
    int64_t bytes = getElementBytes(tensor.getElementType());
    for (int64_t size : tensor.getShape())
      multiply(bytes, size);
    multiply(bytes, times);
    total = bytes > kMaxStepBytes - total ? kMaxStepBytes + 1 : total + bytes;
  }

  LogicalResult check(Operation *op) const {
    if (total <= kMaxStepBytes)
      return success();
    return op->emitError() << "the values of a step up to this one have more than " << kMaxStepBytes
                           << " bytes, the most that can be added up";
  }

private:
  static void multiply(int64_t &bytes, int64_t factor) {
    if (llvm::MulOverflow(bytes, factor, bytes) || bytes > kMaxStepBytes)
      bytes = kMaxStepBytes + 1;
  }

  int64_t total = 0;
};

} // namespace

static LogicalResult verifyTypes(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (std::optional<std::string> problem = getTypeProblem(argument.getType()))
      return emitError(argument.getLoc()) << "argument " << argument.getArgNumber() << " is of "
                                          << describeType(argument.getType()) << ", " << *problem;
  for (Operation &op : func.getBody().front())
    for (Type type : op.getResultTypes()) {
      auto flight = dyn_cast<dist::HandleType>(type);
      if (std::optional<std::string> problem = getTypeProblem(flight ? flight.getType() : type))
        return op.emitError() << op.getName() << " has a result of " << describeType(type) << ", " << *problem;
    }
  return success();
}

static LogicalResult addBytes(func::FuncOp func, Sum &sum) {
  FailureOr<net::LoopNest> nest = net::LoopNest::find(func.getBody().front());
  if (failed(nest))
    return failure();
  for (Type type : func.getArgumentTypes())
    sum.add(type, 1);
  if (failed(sum.check(func)))
    return failure();
  for (Operation &op : func.getBody().front()) {
    int64_t iterations = nest->getIterations(&op);
    for (Type type : op.getOperandTypes())
      sum.add(type, iterations);
    for (Type type : op.getResultTypes())
      sum.add(type, iterations);
    if (failed(sum.check(&op)))
      return failure();
  }
  return success();
}

func::FuncOp meshwright::cloneSignature(func::FuncOp source, IRMapping &mapping) {
  auto func = cast<func::FuncOp>(source->cloneWithoutRegions());
  Block *entry = func.addEntryBlock();
  for (auto [before, after] : llvm::zip_equal(source.getArguments(), entry->getArguments())) {
    after.setLoc(before.getLoc());
    mapping.map(before, after);
  }
  return func;
}

LogicalResult meshwright::verifyPrograms(ModuleOp module) {
  Sum sum;
  for (auto variable : module.getOps<net::VariableOp>()) {
    if (std::optional<std::string> problem = getTypeProblem(variable.getType()))
      return variable.emitError() << "variable @" << variable.getSymName() << " is of "
                                  << describeType(variable.getType()) << ", " << *problem;
    auto slots = dist::kSlotsAttr.get(variable);
    sum.add(variable.getType(), slots ? std::max<int64_t>(slots.getInt(), 1) : 1);
    if (failed(sum.check(variable)))
      return failure();
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && (failed(verifyBody(func)) || failed(verifyTypes(func)) || failed(addBytes(func, sum))))
      return failure();
  return success();
}
