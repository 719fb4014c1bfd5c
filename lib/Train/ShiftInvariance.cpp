//===- ShiftInvariance.cpp - maxima in softmax that need no gradient ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax, log-softmax and logsumexp subtract the maximum m of a row to avoid overflow. The result does not depend on
// m, and frameworks mark it with stop_gradient, which exports lose. Differentiating through m would be correct but
// wasteful: its contributions cancel.
//
// The independence is proved, not matched by a pattern. Values that depend on m are followed forward in one of the
// forms
//
//   additive        v(m) = v(0) + k m
//   multiplicative  v(m) = v(0) exp(k m)
//
// with m indexed by some of the dimensions of v. exp and log convert between the forms; sums, products and quotients
// combine them; k = 0 means that the dependence is gone. Any other operation ends the proof and keeps the gradient, so
// that exp(x − max x) alone, which does depend on m, is differentiated in full. At most 100 operations are visited per
// maximum.
//
//===----------------------------------------------------------------------===//

#include "ReverseMode.h"
#include "dialects/Net/NetBuilder.h"
#include <queue>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// The dependence of a value on the shift m. Dimension i of the value is dimension `dims[i]` of m, or -1 if it is not
/// one.
struct Dependence {
  bool multiplicative = false;
  int64_t factor = 0;
  SmallVector<int64_t> dims;

  /// True if the value does not depend on m.
  bool isGone() const { return factor == 0; }
  bool matches(const Dependence &other) const {
    return multiplicative == other.multiplicative && factor == other.factor && dims == other.dims;
  }
  Dependence with(int64_t newFactor) const { return {multiplicative, newFactor, dims}; }
  Dependence with(SmallVector<int64_t> newDims) const { return {multiplicative, factor, std::move(newDims)}; }
};

/// Empty if the dependence has none of the known forms.
using Result = std::optional<Dependence>;

struct LaterInBlock {
  bool operator()(Operation *left, Operation *right) const { return right->isBeforeInBlock(left); }
};

/// Propagates the dependence on one shift.
class ShiftAnalysis {
public:
  ShiftAnalysis(const llvm::DenseSet<Operation *> &relevant, Value loss) : relevant(relevant), loss(loss) {}

  /// True if `loss` provably does not depend on `shift`.
  bool isIrrelevant(Value shift);

private:
  /// A softmax takes about ten operations; the bound keeps the analysis linear.
  static constexpr unsigned kMaxOperations = 100;

  bool enter(Value value, Dependence dependence);
  Result transfer(Operation *op) const;
  Result transferLayout(Operation *op) const;
  Result transferSum(Value lhs, Value rhs, int64_t sign) const;
  Result transferProduct(Value lhs, Value rhs, int64_t sign) const;
  Result transferReduce(net::ReduceOp op) const;
  Result transferGather(net::GatherOp op) const;
  Result transferSelect(net::SelectOp op) const;
  /// The dependence of a value whose elements are taken from either operand.
  Result join(Value first, Value second) const;
  const Dependence *get(Value value) const {
    auto found = known.find(value);
    return found == known.end() ? nullptr : &found->second;
  }

  const llvm::DenseSet<Operation *> &relevant;
  Value loss;
  llvm::DenseMap<Value, Dependence> known;
  std::priority_queue<Operation *, std::vector<Operation *>, LaterInBlock> worklist;
  llvm::DenseSet<Operation *> queued;
};

} // namespace

//===----------------------------------------------------------------------===//
// Transfer functions
//===----------------------------------------------------------------------===//

/// The dimensions of a value after a reshape that only adds or drops dimensions of size 1.
static std::optional<SmallVector<int64_t>> reshapeDims(net::ReshapeOp op, ArrayRef<int64_t> dims) {
  ArrayRef<int64_t> from = net::shapeOf(op.getOperand()), to = net::shapeOf(op.getResult());
  SmallVector<int64_t> result(to.size(), -1);
  size_t next = 0;
  for (size_t dim = 0; dim < to.size(); ++dim) {
    if (to[dim] == 1)
      continue;
    while (next < from.size() && from[next] == 1)
      ++next;
    if (next == from.size() || from[next] != to[dim])
      return std::nullopt;
    result[dim] = dims[next++];
  }
  return result;
}

Result ShiftAnalysis::transferLayout(Operation *op) const {
  const Dependence &from = *get(op->getOperand(0));
  SmallVector<int64_t> dims(net::typeOf(op->getResult(0)).getRank(), -1);
  if (auto broadcast = dyn_cast<net::BroadcastOp>(op)) {
    for (auto [index, dim] : llvm::enumerate(broadcast.getDims()))
      dims[dim] = from.dims[index];
    return from.with(std::move(dims));
  }
  if (auto transpose = dyn_cast<net::TransposeOp>(op)) {
    for (auto [index, dim] : llvm::enumerate(transpose.getPermutation()))
      dims[index] = from.dims[dim];
    return from.with(std::move(dims));
  }
  if (auto reshape = dyn_cast<net::ReshapeOp>(op)) {
    if (std::optional<SmallVector<int64_t>> reshaped = reshapeDims(reshape, from.dims))
      return from.with(std::move(*reshaped));
    return std::nullopt;
  }
  // A slice must keep the dimensions that index m whole.
  for (auto [index, dim] : llvm::enumerate(from.dims))
    if (dim >= 0 && net::shapeOf(op->getOperand(0))[index] != net::shapeOf(op->getResult(0))[index])
      return std::nullopt;
  return from;
}

Result ShiftAnalysis::transferSum(Value lhs, Value rhs, int64_t sign) const {
  const Dependence *left = get(lhs), *right = get(rhs);
  if (left && right && left->multiplicative && left->matches(*right))
    return *left;
  if ((left && left->multiplicative) || (right && right->multiplicative))
    return std::nullopt;
  if (!left)
    return right->with(sign * right->factor);
  if (!right)
    return *left;
  if (left->dims != right->dims)
    return std::nullopt;
  return left->with(left->factor + sign * right->factor);
}

Result ShiftAnalysis::transferProduct(Value lhs, Value rhs, int64_t sign) const {
  const Dependence *left = get(lhs), *right = get(rhs);
  if ((left && !left->multiplicative) || (right && !right->multiplicative))
    return std::nullopt;
  if (!left)
    return right->with(sign * right->factor);
  if (!right)
    return *left;
  if (left->dims != right->dims)
    return std::nullopt;
  return left->with(left->factor + sign * right->factor);
}

Result ShiftAnalysis::transferReduce(net::ReduceOp op) const {
  const Dependence &from = *get(op.getOperand());
  bool extremum = op.getKind() == dist::ReduceKind::Max || op.getKind() == dist::ReduceKind::Min;
  if (!extremum && !(op.getKind() == dist::ReduceKind::Sum && from.multiplicative))
    return std::nullopt;
  SmallVector<int64_t> dims;
  for (auto [index, dim] : llvm::enumerate(from.dims)) {
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(index)))
      dims.push_back(dim);
    else if (dim >= 0)
      return std::nullopt;
  }
  return from.with(std::move(dims));
}

/// The slices must be whole in the dimensions that index m, or these must be batching dimensions.
Result ShiftAnalysis::transferGather(net::GatherOp op) const {
  const Dependence *from = get(op.getOperand());
  net::GatherDimsAttr attr = op.getDims();
  SmallVector<int64_t> dims(net::typeOf(op.getResult()).getRank(), -1), windows, batches;
  for (auto [index, dim] : llvm::enumerate(from->dims)) {
    auto operandDim = static_cast<int64_t>(index);
    bool batching = llvm::is_contained(attr.getOperandBatchingDims(), operandDim);
    bool collapsed = llvm::is_contained(attr.getCollapsedDims(), operandDim);
    if (dim >= 0 && !batching && op.getSizes()[index] != net::shapeOf(op.getOperand())[index])
      return std::nullopt;
    if (!batching && !collapsed)
      windows.push_back(dim);
  }
  for (int64_t dim = 0, rank = net::typeOf(op.getIndices()).getRank(); dim < rank; ++dim) {
    if (dim == attr.getIndexVectorDim())
      continue;
    const auto *paired = llvm::find(attr.getIndicesBatchingDims(), dim);
    batches.push_back(paired == attr.getIndicesBatchingDims().end()
                          ? -1
                          : from->dims[attr.getOperandBatchingDims()[paired - attr.getIndicesBatchingDims().begin()]]);
  }
  size_t nextWindow = 0, nextBatch = 0;
  for (int64_t dim = 0, rank = dims.size(); dim < rank; ++dim)
    dims[dim] = llvm::is_contained(attr.getOffsetDims(), dim) ? windows[nextWindow++] : batches[nextBatch++];
  return from->with(std::move(dims));
}

/// True if adding m to (or multiplying by exp(k m)) the constant does not change it.
static bool isAbsorbing(Value value, bool multiplicative) {
  std::optional<APFloat> splat = net::getFloatSplat(value);
  return splat && (splat->isNaN() || splat->isInfinity() || (multiplicative && splat->isZero()));
}

Result ShiftAnalysis::join(Value first, Value second) const {
  const Dependence *left = get(first), *right = get(second);
  if (left && right)
    return left->matches(*right) ? Result(*left) : std::nullopt;
  const Dependence &one = left ? *left : *right;
  return isAbsorbing(left ? second : first, one.multiplicative) ? Result(one) : std::nullopt;
}

Result ShiftAnalysis::transferSelect(net::SelectOp op) const {
  // The replacement for a value that is not finite does not matter: there is no derivative there.
  auto finite = op.getPredicate().getDefiningOp<net::IsFiniteOp>();
  if (finite && finite.getOperand() == op.getOnTrue() && get(op.getOnTrue()) && !get(op.getOnFalse()))
    return *get(op.getOnTrue());
  return join(op.getOnTrue(), op.getOnFalse());
}

Result ShiftAnalysis::transfer(Operation *op) const {
  if (isa<net::BroadcastOp, net::TransposeOp, net::ReshapeOp, net::SliceOp>(op))
    return transferLayout(op);
  if (isa<net::ConvertOp>(op))
    return *get(op->getOperand(0));
  if (isa<net::AddOp, net::SubtractOp>(op))
    return transferSum(op->getOperand(0), op->getOperand(1), isa<net::AddOp>(op) ? 1 : -1);
  if (isa<net::MultiplyOp, net::DivideOp>(op))
    return transferProduct(op->getOperand(0), op->getOperand(1), isa<net::MultiplyOp>(op) ? 1 : -1);
  if (isa<net::NegateOp>(op)) {
    const Dependence &from = *get(op->getOperand(0));
    return from.multiplicative ? from : from.with(-from.factor);
  }
  // |v exp(k m)| = |v| exp(k m): JAX takes the logarithm of the sum's absolute value.
  if (isa<net::AbsOp>(op)) {
    const Dependence &from = *get(op->getOperand(0));
    return from.multiplicative ? Result(from) : std::nullopt;
  }
  if (isa<net::ExpOp, net::LogOp>(op)) {
    const Dependence &from = *get(op->getOperand(0));
    if (from.multiplicative == isa<net::ExpOp>(op))
      return std::nullopt;
    return Dependence{!from.multiplicative, from.factor, from.dims};
  }
  if (auto reduce = dyn_cast<net::ReduceOp>(op))
    return transferReduce(reduce);
  if (auto gather = dyn_cast<net::GatherOp>(op))
    return transferGather(gather);
  if (auto select = dyn_cast<net::SelectOp>(op))
    return transferSelect(select);
  if (isa<net::MaximumOp, net::MinimumOp>(op))
    return join(op->getOperand(0), op->getOperand(1));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The traversal
//===----------------------------------------------------------------------===//

bool ShiftAnalysis::enter(Value value, Dependence dependence) {
  if (dependence.isGone())
    return true;
  if (value == loss)
    return false;
  // A dimension of size 1 indexes nothing.
  for (auto [dim, size] : llvm::zip_equal(dependence.dims, net::shapeOf(value)))
    if (size == 1)
      dim = -1;
  known.insert({value, std::move(dependence)});
  for (Operation *user : value.getUsers())
    if (relevant.contains(user) && queued.insert(user).second)
      worklist.push(user);
  return true;
}

bool ShiftAnalysis::isIrrelevant(Value shift) {
  Dependence self{false, 1, llvm::to_vector(llvm::seq<int64_t>(0, net::typeOf(shift).getRank()))};
  bool proved = enter(shift, self);
  // The queue is ordered by position in the block, so all operands that depend on m are known.
  while (proved && !worklist.empty()) {
    Operation *op = worklist.top();
    worklist.pop();
    Result result = queued.size() <= kMaxOperations && op->getNumResults() == 1 ? transfer(op) : std::nullopt;
    proved = result && enter(op->getResult(0), *result);
  }
  return proved;
}

/// The operations that `loss` depends on through floats.
static llvm::DenseSet<Operation *> findRelevant(Value loss) {
  llvm::DenseSet<Operation *> relevant;
  SmallVector<Value> worklist{loss};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (op && relevant.insert(op).second)
      llvm::copy_if(op->getOperands(), std::back_inserter(worklist), net::isFloat);
  }
  return relevant;
}

/// Follows a maximum through operations that replace it where it is not finite; their result is the shift.
static Value followShift(Value maximum, const llvm::DenseSet<Operation *> &relevant) {
  while (true) {
    Operation *only = nullptr;
    for (Operation *user : maximum.getUsers()) {
      // The predicate of a select is not a float, so no gradient passes through such a use.
      if (!relevant.contains(user))
        continue;
      if (only && only != user)
        return maximum;
      only = user;
    }
    auto keepsSize = [&] {
      return net::typeOf(only->getResult(0)).getNumElements() == net::typeOf(maximum).getNumElements();
    };
    bool replaces = isa_and_nonnull<net::SelectOp, net::MaximumOp, net::ConvertOp>(only) &&
                    llvm::all_of(only->getOperands(), [&](Value operand) {
                      return operand == maximum || !net::isFloat(operand) || net::getConstant(operand);
                    });
    bool moves = isa_and_nonnull<net::ReshapeOp, net::BroadcastOp>(only) && keepsSize();
    if (!replaces && !moves)
      return maximum;
    maximum = only->getResult(0);
  }
}

llvm::DenseSet<Value> train::findIrrelevantShifts(Value loss) {
  llvm::DenseSet<Value> shifts;
  if (!loss.getDefiningOp())
    return shifts;
  llvm::DenseSet<Operation *> relevant = findRelevant(loss);
  for (auto reduce : loss.getParentBlock()->getOps<net::ReduceOp>()) {
    if (reduce.getKind() != dist::ReduceKind::Max || !relevant.contains(reduce) || !net::isFloat(reduce.getResult()))
      continue;
    Value shift = followShift(reduce.getResult(), relevant);
    if (ShiftAnalysis(relevant, loss).isIrrelevant(shift))
      shifts.insert(shift);
  }
  return shifts;
}
