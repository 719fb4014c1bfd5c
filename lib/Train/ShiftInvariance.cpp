//===- ShiftInvariance.cpp - subtracted maxima without influence ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax, log-softmax and logsumexp subtract the maximum m of a row so that no exponential overflows. The result does
// not depend on m, and frameworks say so by stop_gradient, which exported graphs have lost. Differentiating through m
// is right but wasteful: everything it contributes cancels.
//
// The independence is proved, not matched by a pattern. Values that depend on m are followed forward, each
// with the form of its dependence (`net::ShiftDependence`), which operations pass on by `net::ShiftOpInterface`.
// Any other operation ends the proof and keeps the gradient, so that exp(x − max x) alone, which does depend on m, is
// differentiated in full.
//
//===----------------------------------------------------------------------===//

#include "ReverseMode.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Shift.h"
#include <queue>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

using net::ShiftDependence;

struct LaterInBlock {
  bool operator()(Operation *left, Operation *right) const { return right->isBeforeInBlock(left); }
};

/// Follows the values that depend on one shift.
class ShiftAnalysis {
public:
  ShiftAnalysis(const llvm::DenseSet<Operation *> &relevant, Value loss) : relevant(relevant), loss(loss) {}

  /// Whether `loss` does not depend on `shift`.
  bool isIrrelevant(Value shift);

private:
  /// The cone of a softmax has some ten operations; a larger one is left alone so that the analysis stays linear.
  static constexpr unsigned kMaxOperations = 100;

  bool enter(Value value, ShiftDependence dependence);
  std::optional<ShiftDependence> transfer(Operation *op) const;

  const llvm::DenseSet<Operation *> &relevant;
  Value loss;
  llvm::DenseMap<Value, ShiftDependence> known;
  std::priority_queue<Operation *, std::vector<Operation *>, LaterInBlock> worklist;
  llvm::DenseSet<Operation *> queued;
};

} // namespace

std::optional<ShiftDependence> ShiftAnalysis::transfer(Operation *op) const {
  auto rule = dyn_cast<net::ShiftOpInterface>(op);
  if (!rule || op->getNumResults() != 1)
    return std::nullopt;
  auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
    auto found = known.find(operand);
    return found == known.end() ? nullptr : &found->second;
  });
  return rule.transferShift(operands);
}

bool ShiftAnalysis::enter(Value value, ShiftDependence dependence) {
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
  ShiftDependence self{false, 1, llvm::to_vector(llvm::seq<int64_t>(0, net::typeOf(shift).getRank()))};
  bool proved = enter(shift, self);
  // Operations come in the order of the block, so that all operands that depend on m are known.
  while (proved && !worklist.empty()) {
    Operation *op = worklist.top();
    worklist.pop();
    std::optional<ShiftDependence> result = queued.size() <= kMaxOperations ? transfer(op) : std::nullopt;
    proved = result && enter(op->getResult(0), *result);
  }
  return proved;
}

/// The operations through whose floats `loss` is reached.
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

/// Follows a maximum through what replaces it where it is not finite: that is the shift.
static Value followShift(Value maximum, const llvm::DenseSet<Operation *> &relevant) {
  while (true) {
    Operation *only = nullptr;
    for (Operation *user : maximum.getUsers()) {
      // The predicate of a select is no float, so such a use is not one that a gradient passes.
      if (!relevant.contains(user))
        continue;
      if (only && only != user)
        return maximum;
      only = user;
    }
    auto keepsSize = [&] {
      return net::typeOf(only->getResult(0)).getNumElements() == net::typeOf(maximum).getNumElements();
    };
    // These may stand for a value that is not finite by a constant; other elementwise operations change finite ones.
    bool replaces = isa_and_nonnull<net::SelectOp, net::MaximumOp, net::ConvertOp>(only) &&
                    llvm::all_of(only->getOperands(), [&](Value operand) {
                      return operand == maximum || !net::isFloat(operand) || net::getConstant(operand);
                    });
    bool moves = only && net::movesWhole(only) && keepsSize();
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
    if (reduce.getKind() != ReduceKind::Max || !relevant.contains(reduce) || !net::isFloat(reduce.getResult()))
      continue;
    Value shift = followShift(reduce.getResult(), relevant);
    if (ShiftAnalysis(relevant, loss).isIrrelevant(shift))
      shifts.insert(shift);
  }
  return shifts;
}
