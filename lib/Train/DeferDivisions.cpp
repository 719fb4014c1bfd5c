//===- DeferDivisions.cpp - softmax divides after the product -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention divides each row of exponentials by its sum and multiplies the quotients with the values. The other way
// round there are fewer divisions, and backward needs no sum along a row of scores: what the divisor gets is a sum of
// outputs.
//
//     sum_j (e_ij / s_i) v_jd  =  (sum_j e_ij v_jd) / s_i                   (Dao et al., FlashAttention, 2022)
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "dialects/Net/Traits.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Train/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <numeric>

namespace meshwright::train {
#define GEN_PASS_DEF_DEFERDIVISIONSPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

#define DEBUG_TYPE "dist-train-defer-divisions"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;
using net::shapeOf;
using net::typeOf;

/// Scores have at least this many times the elements of the outputs; else the divisions of outputs, and their passes
/// over memory, cost as much.
static constexpr int64_t kLeastGain = 4;
/// The most operations between a division and a product.
static constexpr unsigned kMostSteps = 8;

namespace {

/// An operation, and those dimensions of its result that a divisor lacks.
struct Step {
  Operation *op;
  SmallVector<int64_t> lacking;
};

/// A division of exponentials that makes the operand of a product, by a divisor that is the same for all elements that
/// the product sums.
struct Division {
  net::DivideOp op;
  net::BroadcastOp divisor;
  /// The division, and from it to the product the operations between them.
  SmallVector<Step> path;
};

struct DeferDivisionsPass : train::impl::DeferDivisionsPassBase<DeferDivisionsPass> {
  void runOnOperation() override {
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        for (auto dot : func.getBody().front().getOps<net::DotOp>())
          numDeferred += defer(dot, 0) || defer(dot, 1);
  }

  bool defer(net::DotOp dot, unsigned operand);
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding divisions
//===----------------------------------------------------------------------===//

static bool isMove(Operation *op) { return net::getMovement(op) == net::Movement::Permutes; }

/// The operand of `op` that its result is a multiple of, if operations move or scale elements.
static OpOperand *getScaled(Operation *op) {
  if (isMove(op) || isa<net::DivideOp>(op))
    return &op->getOpOperand(0);
  if (isa<net::MultiplyOp>(op)) {
    // Networks scale by constants and by values that are repeated.
    Operation *first = op->getOperand(0).getDefiningOp();
    bool isScale = first && (net::getMovement(first) == net::Movement::Repeats || isa<net::ConstantOp>(first));
    return &op->getOpOperand(isScale ? 1 : 0);
  }
  auto select = dyn_cast<net::SelectOp>(op);
  if (select && net::isZero(select.getOnFalse()))
    return &select.getOnTrueMutable();
  if (select && net::isZero(select.getOnTrue()))
    return &select.getOnFalseMutable();
  return nullptr;
}

/// The dimension of `from` that a reshape to `to` makes dimension `dim`, as a whole.
static std::optional<int64_t> findDim(ArrayRef<int64_t> from, ArrayRef<int64_t> to, int64_t dim) {
  auto countBefore = [](ArrayRef<int64_t> shape, int64_t end) {
    return std::accumulate(shape.begin(), shape.begin() + end, int64_t(1), std::multiplies<>());
  };
  int64_t before = countBefore(to, dim);
  for (int64_t own = 0; own != static_cast<int64_t>(from.size()); ++own)
    if (from[own] == to[dim] && from[own] != 1 && countBefore(from, own) == before)
      return own;
  return std::nullopt;
}

/// The dimensions of the operand of `op` that are those of its result, or the other way round if `isForward`; nothing
/// if some are none.
static std::optional<SmallVector<int64_t>> followDims(Operation *op, ArrayRef<int64_t> dims, bool isForward = false) {
  SmallVector<int64_t> followed;
  for (int64_t dim : dims)
    if (auto transpose = dyn_cast<net::TransposeOp>(op)) {
      ArrayRef<int64_t> permutation = transpose.getPermutation();
      followed.push_back(isForward ? llvm::find(permutation, dim) - permutation.begin() : permutation[dim]);
    } else if (auto reshape = dyn_cast<net::ReshapeOp>(op)) {
      ArrayRef<int64_t> operand = shapeOf(reshape.getOperand()), result = shapeOf(reshape.getResult());
      std::optional<int64_t> found = isForward ? findDim(result, operand, dim) : findDim(operand, result, dim);
      if (!found)
        return std::nullopt;
      followed.push_back(*found);
    } else if (isMove(op)) {
      return std::nullopt;
    } else {
      followed.push_back(dim);
    }
  return followed;
}

static std::optional<Division> findDivision(OpOperand &operand, ArrayRef<int64_t> summed) {
  Division division;
  SmallVector<int64_t> dims(summed);
  for (OpOperand *use = &operand; division.path.size() <= kMostSteps;) {
    Operation *maker = use->get().getDefiningOp();
    if (!maker || !use->get().hasOneUse())
      return std::nullopt;
    division.path.push_back({maker, dims});
    if (auto divide = dyn_cast<net::DivideOp>(maker)) {
      auto exponential = divide.getLhs().getDefiningOp<net::ExpOp>();
      auto divisor = divide.getRhs().getDefiningOp<net::BroadcastOp>();
      // Those of a softmax lie between 0 and 1, so that their sums are no larger than those of the quotients times the
      // divisor.
      if (exponential && exponential.getOperand().getDefiningOp<net::SubtractOp>() && divisor) {
        if (llvm::any_of(divisor.getDims(), [&](int64_t dim) { return llvm::is_contained(dims, dim); }))
          return std::nullopt;
        division.op = divide;
        division.divisor = divisor;
        std::reverse(division.path.begin(), division.path.end());
        return division;
      }
    }
    use = getScaled(maker);
    std::optional<SmallVector<int64_t>> own = use ? followDims(maker, dims) : std::nullopt;
    if (!own)
      return std::nullopt;
    dims = *own;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Deferring them
//===----------------------------------------------------------------------===//

/// The dimensions of `value` other than `dims`.
static SmallVector<int64_t> getOthers(Value value, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0, rank = typeOf(value).getRank(); dim != rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

/// The shape of the result of `step` without the dimensions that a divisor lacks.
static SmallVector<int64_t> getShape(const Step &step) {
  Value result = step.op->getResult(0);
  return llvm::map_to_vector(getOthers(result, step.lacking), [&](int64_t dim) { return shapeOf(result)[dim]; });
}

/// The number of a dimension among those that are left without `dims`.
static int64_t renumber(int64_t dim, ArrayRef<int64_t> dims) {
  return dim - llvm::count_if(dims, [dim](int64_t dropped) { return dropped < dim; });
}

/// Moves a divisor as `step` moves what it divides.
static Value move(Value divisor, const Step &step, net::NetBuilder &net) {
  auto transpose = dyn_cast<net::TransposeOp>(step.op);
  if (!transpose)
    return isMove(step.op) ? net.reshape(divisor, getShape(step)) : divisor;
  SmallVector<int64_t> before = *followDims(step.op, step.lacking), permutation;
  for (int64_t dim : getOthers(transpose.getResult(), step.lacking))
    permutation.push_back(renumber(transpose.getPermutation()[dim], before));
  return net.transpose(divisor, permutation);
}

/// The divisor of the elements of the product's operand, with those of its dimensions that are not summed.
static Value moveDivisor(const Division &division, net::NetBuilder &net) {
  const Step &first = division.path.front();
  net::BroadcastOp broadcast = division.divisor;
  SmallVector<int64_t> dims;
  for (int64_t dim : broadcast.getDims())
    dims.push_back(renumber(dim, first.lacking));
  Value divisor = net.broadcast(broadcast.getOperand(), getShape(first), dims);
  for (const Step &step : llvm::drop_begin(division.path))
    divisor = move(divisor, step, net);
  return divisor;
}

/// The dimensions of a product's result that those of an operand become, without those that are summed.
static SmallVector<int64_t> getResultDims(net::DotOp dot, bool isLeft) {
  ArrayRef<int64_t> batch = isLeft ? dot.getLhsBatch() : dot.getRhsBatch();
  SmallVector<int64_t> free = isLeft ? dot.getLhsFree() : dot.getRhsFree(), order(batch), dims;
  llvm::append_range(order, free);
  llvm::sort(order);
  int64_t first = batch.size() + (isLeft ? 0 : dot.getLhsFree().size());
  for (int64_t dim : order) {
    const auto *inBatch = llvm::find(batch, dim);
    dims.push_back(inBatch != batch.end() ? inBatch - batch.begin() : first + (llvm::find(free, dim) - free.begin()));
  }
  return dims;
}

bool DeferDivisionsPass::defer(net::DotOp dot, unsigned operand) {
  if (typeOf(dot.getResult()).getElementTypeBitWidth() < 32)
    return false;
  bool isLeft = operand == 0;
  std::optional<Division> division =
      findDivision(dot->getOpOperand(operand), isLeft ? dot.getLhsContract() : dot.getRhsContract());
  if (!division ||
      typeOf(dot.getResult()).getNumElements() * kLeastGain > typeOf(division->op.getResult()).getNumElements())
    return false;
  // After what moves the outputs, so that a product may write them where they go.
  SmallVector<int64_t> dims = getResultDims(dot, isLeft);
  Step last = {dot, getOthers(dot.getResult(), dims)};
  SmallVector<Step> after;
  for (Value value = dot.getResult(); value.hasOneUse() && isMove(*value.user_begin());) {
    Operation *user = *value.user_begin();
    std::optional<SmallVector<int64_t>> lacking = followDims(user, last.lacking, /*isForward=*/true);
    if (!lacking)
      break;
    last = after.emplace_back(Step{user, *lacking});
    value = user->getResult(0);
  }
  OpBuilder builder(dot->getContext());
  builder.setInsertionPointAfter(last.op);
  net::NetBuilder net(builder, dot.getLoc());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  Value divisor = net.transpose(moveDivisor(*division, net), order);
  for (const Step &step : after)
    divisor = move(divisor, step, net);
  Value outputs = last.op->getResult(0);
  Value repeated = net.broadcast(divisor, shapeOf(outputs), getOthers(outputs, last.lacking));
  auto quotient = net::DivideOp::create(builder, dot.getLoc(), outputs.getType(), outputs, repeated);
  outputs.replaceAllUsesExcept(quotient, quotient);
  for (Operation *op = last.op->getNextNode(); op != quotient->getNextNode(); op = op->getNextNode())
    inherit(op, last.op, Inherit::Companion);
  division->op.getResult().replaceAllUsesWith(division->op.getLhs());
  division->op.erase();
  return true;
}
