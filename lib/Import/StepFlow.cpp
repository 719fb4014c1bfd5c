//===- StepFlow.cpp - finds gradients at the border of the update ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimizers compute element by element in the shape of the parameter, and with scalars that all parameters share.
// Products, reductions and scatters compute gradients. A gradient is found at the border between the two:
//
//   x, dy ──▶ dot ──▶ g ──▶ clip ──▶ mu ──▶ … ──▶ p − rate·u ──▶ assign
//             backward  │    elementwise, in the shape of p
//
//===----------------------------------------------------------------------===//

#include "StepFlow.h"
#include "dialects/Net/Net.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

static ArrayRef<int64_t> getShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

namespace {

/// The data flow of one graph.
class StepFlow {
public:
  explicit StepFlow(func::FuncOp graph);

  void mark();

private:
  void findOrigins(func::FuncOp graph);
  bool isWithin(Value value, ArrayRef<int64_t> shape) const;
  Value findGradient(net::AssignOp assign) const;
  SmallVector<Value> findSources(net::AssignOp assign, SetVector<Value> &within) const;
  void dropDependent(SmallVectorImpl<Value> &sources) const;
  Value join(ArrayRef<Value> sources, const SetVector<Value> &within, Type type) const;
  llvm::DenseSet<Operation *> findAncestors(ArrayRef<Value> values) const;
  unsigned findLossEnd(ArrayRef<Value> outcome, ArrayRef<Value> gradients, unsigned begin) const;
  unsigned getPosition(Value value) const { return positions.lookup(value.getDefiningOp()); }

  Block &body;
  SymbolTable symbols;
  llvm::DenseMap<Operation *, unsigned> positions;
  /// Values that depend on an input, and values that depend on the state of an optimizer.
  llvm::DenseSet<Value> fed, updated;
};

} // namespace

StepFlow::StepFlow(func::FuncOp graph) : body(graph.getBody().front()), symbols(graph->getParentOfType<ModuleOp>()) {
  for (auto [position, op] : llvm::enumerate(body))
    positions[&op] = position;
  findOrigins(graph);
}

void StepFlow::findOrigins(func::FuncOp graph) {
  llvm::DenseSet<Attribute> assigned;
  for (auto assign : body.getOps<net::AssignOp>())
    assigned.insert(assign.getVariableAttr().getAttr());
  fed.insert(body.args_begin(), body.args_end());
  for (Operation &op : body) {
    if (auto read = dyn_cast<net::ReadOp>(op)) {
      auto variable = symbols.lookup<net::VariableOp>(read.getVariable());
      auto type = cast<RankedTensorType>(read.getType());
      if (variable && variable.getKind() != net::VariableKind::Parameter && type.getRank() > 0 &&
          isa<FloatType>(type.getElementType()) && assigned.contains(read.getVariableAttr().getAttr()))
        updated.insert(read);
      continue;
    }
    for (llvm::DenseSet<Value> *origin : {&fed, &updated})
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return origin->contains(operand); }))
        origin->insert(op.result_begin(), op.result_end());
  }
}

/// True if `value` is the result of an elementwise operation in that shape.
bool StepFlow::isWithin(Value value, ArrayRef<int64_t> shape) const {
  Operation *maker = value.getDefiningOp();
  return maker && maker->hasTrait<OpTrait::Elementwise>() && getShape(value) == shape;
}

/// The values from which the elementwise operations `within` compute the next value of a parameter; without values that
/// depend on optimizer state, and without broadcasts of scalars.
SmallVector<Value> StepFlow::findSources(net::AssignOp assign, SetVector<Value> &within) const {
  ArrayRef<int64_t> shape = getShape(assign.getValue());
  SetVector<Value> sources, pending;
  pending.insert(assign.getValue());
  for (size_t next = 0; next < pending.size(); ++next) {
    Value value = pending[next];
    if (isWithin(value, shape)) {
      within.insert(value);
      for (Value operand : value.getDefiningOp()->getOperands())
        pending.insert(operand);
    } else if (value.getDefiningOp() && fed.contains(value) && !updated.contains(value) && !getShape(value).empty() &&
               llvm::any_of(value.getDefiningOp()->getOperands(),
                            [](Value operand) { return !getShape(operand).empty(); })) {
      sources.insert(value);
    }
  }
  return sources.takeVector();
}

/// Removes sources that are computed from another source, such as the means of the rows of a gradient.
void StepFlow::dropDependent(SmallVectorImpl<Value> &sources) const {
  if (sources.size() < 2)
    return;
  llvm::sort(sources, [&](Value a, Value b) { return getPosition(a) < getPosition(b); });
  unsigned first = getPosition(sources.front());
  SmallVector<Value> kept{sources.front()};
  for (Value source : ArrayRef(sources).drop_front()) {
    SetVector<Value> pending;
    pending.insert(source);
    bool isMade = false;
    for (size_t next = 0; next < pending.size() && !isMade; ++next)
      if (Operation *maker = pending[next].getDefiningOp(); maker && positions.lookup(maker) > first)
        for (Value operand : maker->getOperands()) {
          pending.insert(operand);
          isMade |= llvm::is_contained(kept, operand);
        }
    if (!isMade)
      kept.push_back(source);
  }
  sources.assign(kept.begin(), kept.end());
}

/// The first value of that type that depends on all sources, if no operation `within` reads them in another way.
Value StepFlow::join(ArrayRef<Value> sources, const SetVector<Value> &within, Type type) const {
  if (sources.size() == 1 && sources.front().getType() == type)
    return sources.front();
  auto ordered = llvm::to_vector(within);
  llvm::sort(ordered, [&](Value a, Value b) { return getPosition(a) < getPosition(b); });
  // The sources of each value, as bits. More sources than that are not a sum of gradients.
  if (sources.size() > 32)
    return {};
  uint64_t all = (uint64_t(1) << sources.size()) - 1;
  llvm::MapVector<Value, uint64_t> madeOf;
  for (auto [index, source] : llvm::enumerate(sources))
    madeOf[source] = uint64_t(1) << index;
  for (Value value : ordered) {
    uint64_t made = 0;
    for (Value operand : value.getDefiningOp()->getOperands())
      made |= madeOf.lookup(operand);
    if (made == all && value.getType() == type) {
      bool isOnlyWay = llvm::all_of(madeOf, [&](const auto &entry) {
        return llvm::all_of(entry.first.getUsers(), [&](Operation *user) {
          return positions.lookup(user) <= getPosition(value) || user->getNumResults() != 1 ||
                 !within.contains(user->getResult(0));
        });
      });
      return isOnlyWay ? value : Value();
    }
    if (made)
      madeOf[value] = made;
  }
  return {};
}

Value StepFlow::findGradient(net::AssignOp assign) const {
  auto variable = symbols.lookup<net::VariableOp>(assign.getVariable());
  // Scalar parameters look like the scalars that all updates share.
  if (!variable || variable.getKind() != net::VariableKind::Parameter || getShape(assign.getValue()).empty())
    return {};
  SetVector<Value> within;
  SmallVector<Value> sources = findSources(assign, within);
  dropDependent(sources);
  return sources.empty() ? Value() : join(sources, within, assign.getValue().getType());
}

llvm::DenseSet<Operation *> StepFlow::findAncestors(ArrayRef<Value> values) const {
  llvm::DenseSet<Operation *> ancestors;
  SmallVector<Value> pending(values);
  while (!pending.empty())
    if (Operation *maker = pending.pop_back_val().getDefiningOp(); maker && ancestors.insert(maker).second)
      llvm::append_range(pending, maker->getOperands());
  return ancestors;
}

/// The position after the loss, which is the first scalar result computed from `begin` on; 0 if a gradient is computed
/// before it, since it cannot be the loss then.
unsigned StepFlow::findLossEnd(ArrayRef<Value> outcome, ArrayRef<Value> gradients, unsigned begin) const {
  unsigned loss = positions.size();
  for (Value value : outcome)
    if (value.getDefiningOp() && getShape(value).empty() && getPosition(value) >= begin)
      loss = std::min(loss, getPosition(value));
  bool isLoss =
      loss < positions.size() && llvm::all_of(gradients, [&](Value gradient) { return getPosition(gradient) > loss; });
  return isLoss ? loss + 1 : 0;
}

void StepFlow::mark() {
  SmallVector<Value> gradients;
  for (auto assign : body.getOps<net::AssignOp>())
    if (Value gradient = findGradient(assign))
      gradients.push_back(gradient);
  if (gradients.empty())
    return;
  llvm::DenseSet<Value> after(gradients.begin(), gradients.end());
  for (Operation &op : body)
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return after.contains(operand); }))
      after.insert(op.result_begin(), op.result_end());
  SmallVector<Value> outcome;
  for (Value result : body.getTerminator()->getOperands())
    if (!after.contains(result))
      outcome.push_back(result);
  llvm::DenseSet<Operation *> forward = findAncestors(outcome), needed = findAncestors(gradients);
  Operation *last = nullptr;
  for (Operation &op : body)
    if (forward.contains(&op) && needed.contains(&op))
      last = &op;
  unsigned begin = last ? positions.lookup(last) + 1 : 0;
  begin = std::max(begin, findLossEnd(outcome, gradients, begin));
  for (Operation &op : body) {
    auto end = dyn_cast<net::EndLoopOp>(op);
    Operation *of = end ? end.getIndex().getDefiningOp() : &op;
    // Reads stay at the beginning of the step, in forward.
    if (needed.contains(of) && !forward.contains(of) && positions.lookup(of) >= begin && !isa<net::ReadOp>(op))
      net::setRole(&op, net::Role::Backward);
  }
}

void importer::markBackward(func::FuncOp graph) { StepFlow(graph).mark(); }
