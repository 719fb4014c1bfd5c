//===- ScorePlan.cpp - plans a kernel of scores by tiles ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the products that make scores and those operations that make less of them, the targets; groups the targets into
// passes; and follows the elements of each pass back to the scores, whose indices say which axis is along which
// operand.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/ScorePlan.h"
#include "dialects/Net/NetBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using net::shapeOf;
using net::typeOf;

std::optional<unsigned> ScoreOperand::getLoop(unsigned dim) const {
  if (getSize(dim) == 1)
    return std::nullopt;
  auto before = planned.types.back().getShape().take_front(dim);
  return planned.plan->loops[llvm::count_if(before, [](int64_t extent) { return extent != 1; })];
}

namespace {

/// A target before it is planned.
struct Candidate {
  Operation *op;
  /// The operand with scores, by number, and its dimensions over which they are summed.
  unsigned operand;
  SmallVector<int64_t> summed;
  /// The first pass that it can belong to, and the last one, because others read it.
  unsigned first = 0, last = 0;

  Value getScores() const { return op->getOperand(operand); }
  bool goesTogetherWith(const Candidate &other) const {
    return shapeOf(getScores()) == shapeOf(other.getScores()) && summed == other.summed;
  }
};

class ScorePlanner {
public:
  ScorePlanner(dist::KernelOp kernel, ScorePlan &plan)
      : body(kernel.getBody().front()), scores(*kernel.getScores()), plan(plan) {}

  bool run();

private:
  bool findTargets();
  bool addTarget(Operation *op);
  bool hasAxes();
  void findOrder();
  bool planPass(ScorePass &pass, ArrayRef<Candidate *> members);
  net::DotOp getProduct(const ScorePass &pass, const Node &node) const;
  std::optional<unsigned> findOuter(const ScorePass &pass) const;
  bool chooseLoops(ScorePass &pass, const Candidate &member);
  bool addProduct(ScorePass &pass, Node *node);
  bool addResult(ScorePass &pass, ScoreTarget &target, const Candidate &member);
  std::optional<ScoreOperand> getOperand(Value value, unsigned along, unsigned depth);
  void addVisible(ScorePass &pass) const;

  Block &body;
  dist::ScoresAttr scores;
  ScorePlan &plan;
  /// The products that make scores, and all values that depend on one.
  llvm::SetVector<Operation *> products;
  llvm::DenseSet<Value> dependent;
  std::vector<Candidate> candidates;
  llvm::DenseMap<Operation *, Candidate *> candidateOf;
};

} // namespace

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

/// Adds `op`, which reads scores, if it is a reduction or a product; false if it is a product of two of them.
bool ScorePlanner::addTarget(Operation *op) {
  Candidate candidate{op, 0, {}};
  if (auto reduce = dyn_cast<net::ReduceOp>(op)) {
    candidate.summed.assign(reduce.getDims().begin(), reduce.getDims().end());
  } else if (auto dot = dyn_cast<net::DotOp>(op)) {
    bool isRight = dependent.contains(dot.getRhs());
    if (isRight && dependent.contains(dot.getLhs()))
      return false;
    candidate.operand = isRight;
    ArrayRef<int64_t> dims = isRight ? dot.getRhsContract() : dot.getLhsContract();
    candidate.summed.assign(dims.begin(), dims.end());
  } else {
    return true;
  }
  candidates.push_back(std::move(candidate));
  return true;
}

/// The axes are dimensions of the first product.
bool ScorePlanner::hasAxes() {
  if (products.empty())
    return false;
  ArrayRef<int64_t> shape = shapeOf(products.front()->getResult(0));
  int64_t rank = shape.size();
  if (scores.getRows() >= rank || scores.getColumns() >= rank)
    return false;
  int64_t groups = llvm::divideCeil(shape[scores.getRows()], dist::kRowsOfVisible);
  return static_cast<int64_t>(scores.getVisible().size()) == 2 * groups;
}

bool ScorePlanner::findTargets() {
  for (Operation &op : body.without_terminator()) {
    bool isDependent = llvm::any_of(op.getOperands(), [&](Value operand) { return dependent.contains(operand); });
    if (isa<net::DotOp>(op) && !isDependent)
      products.insert(&op);
    else if (isDependent && !addTarget(&op))
      return false;
    if (isDependent || products.contains(&op))
      dependent.insert(op.result_begin(), op.result_end());
  }
  for (Candidate &candidate : candidates)
    candidateOf[candidate.op] = &candidate;
  if (!hasAxes())
    return false;
  for (Value result : body.getTerminator()->getOperands())
    if (!candidateOf.contains(result.getDefiningOp()))
      return false;
  return !candidates.empty();
}

/// A target comes after the passes of those that it reads, and before those of its readers.
void ScorePlanner::findOrder() {
  // The number of the first pass after every value.
  llvm::DenseMap<Value, unsigned> after;
  unsigned end = 0;
  for (Operation &op : body.without_terminator()) {
    unsigned first = 0;
    for (Value operand : op.getOperands())
      first = std::max(first, after.lookup(operand));
    Candidate *candidate = candidateOf.lookup(&op);
    if (candidate) {
      candidate->first = first++;
      end = std::max(end, first);
    }
    for (Value result : op.getResults())
      after[result] = first;
  }
  // The end of the passes that every value can be made in.
  llvm::DenseMap<Value, unsigned> before;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    unsigned last = end;
    for (Value result : op.getResults())
      if (auto known = before.find(result); known != before.end())
        last = std::min(last, known->second);
    if (Candidate *candidate = candidateOf.lookup(&op))
      candidate->last = --last;
    for (Value operand : op.getOperands()) {
      auto [known, isNew] = before.try_emplace(operand, last);
      known->second = std::min(known->second, last);
    }
  }
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// The index of a dimension of the scores: the loop, or 0.
static LinearForm getIndex(const ScorePass &pass, ArrayRef<int64_t> shape, unsigned dim) {
  if (shape[dim] == 1)
    return 0;
  auto before = shape.take_front(dim);
  auto number = llvm::count_if(before, [](int64_t extent) { return extent != 1; });
  return LinearForm::variable(pass.planned.plan->loops[number]);
}

/// Nothing if the value is no matrix of 16-bit floats made of the kernel's inputs. The caller adds the indices of the
/// other dimensions.
std::optional<ScoreOperand> ScorePlanner::getOperand(Value value, unsigned along, unsigned depth) {
  if (!isShortFloat(typeOf(value).getElementType()) || shapeOf(value)[depth] > ScorePlan::kMostDepth ||
      dependent.contains(value))
    return std::nullopt;
  ScoreOperand operand{value, planValues(value, [](Operation *) { return false; }, shapeOf(value)), along, depth, {}};
  if (!operand.planned.plan)
    return std::nullopt;
  return operand;
}

/// True if a tensor core's sums of f32 may be rounded to the result of `dot`.
static bool hasRoundedResult(net::DotOp dot) {
  Type element = typeOf(dot.getResult()).getElementType();
  return element.isF32() || isShortFloat(element);
}

/// The product that makes the scores of which `node` is an element; null for other nodes.
net::DotOp ScorePlanner::getProduct(const ScorePass &pass, const Node &node) const {
  Operation *op = node.kind == Node::Load ? pass.planned.inputs[node.index].getDefiningOp() : nullptr;
  return products.contains(op) ? cast<net::DotOp>(op) : net::DotOp();
}

/// The indices of an element of a product in the dimensions of one operand alone.
static ArrayRef<LinearForm> getFreeIndices(net::DotOp dot, const Node &node, bool ofLeft) {
  size_t numBatch = dot.getLhsBatch().size(), numLeft = dot.getLhsFree().size();
  ArrayRef<LinearForm> free = ArrayRef(node.indices).drop_front(numBatch);
  return ofLeft ? free.take_front(numLeft) : free.drop_front(numLeft);
}

/// Adds the product whose element `node` is: one of its free indices is the inner loop, and one of the other operand's
/// is the outer loop.
bool ScorePlanner::addProduct(ScorePass &pass, Node *node) {
  net::DotOp dot = getProduct(pass, *node);
  if (dot.getLhsContract().size() != 1 || !hasRoundedResult(dot))
    return false;
  auto find = [&](unsigned loop, bool ofLeft) -> std::optional<unsigned> {
    ArrayRef<LinearForm> indices = getFreeIndices(dot, *node, ofLeft);
    const auto *found = llvm::find(indices, LinearForm::variable(loop));
    return found == indices.end() ? std::nullopt : std::optional<unsigned>(found - indices.begin());
  };
  bool outerIsLeft = find(pass.outer, true).has_value();
  std::optional<unsigned> outer = find(pass.outer, outerIsLeft), inner = find(pass.inner, !outerIsLeft);
  if (!outer || !inner)
    return false;
  const Variables &variables = pass.planned.plan->variables;
  auto changes = [&](const LinearForm &form) {
    return llvm::any_of(form.terms, [&](const auto &term) {
      return variables.isAlong(term.first, pass.outer) || variables.isAlong(term.first, pass.inner);
    });
  };
  auto makeOperand = [&](bool ofLeft, unsigned own) -> std::optional<ScoreOperand> {
    SmallVector<int64_t> free = ofLeft ? dot.getLhsFree() : dot.getRhsFree();
    ArrayRef<int64_t> batch = ofLeft ? dot.getLhsBatch() : dot.getRhsBatch(),
                      contract = ofLeft ? dot.getLhsContract() : dot.getRhsContract();
    std::optional<ScoreOperand> operand = getOperand(ofLeft ? dot.getLhs() : dot.getRhs(), free[own], contract.front());
    if (!operand)
      return std::nullopt;
    for (auto [dim, index] : llvm::zip(batch, node->indices))
      operand->fixed.push_back({dim, index});
    for (auto [dim, index] : llvm::zip_equal(free, getFreeIndices(dot, *node, ofLeft)))
      if (dim != free[own])
        operand->fixed.push_back({dim, index});
    // The other indices stay the same in a tile.
    bool isMatrix = llvm::none_of(operand->fixed, [&](const auto &fixed) { return changes(fixed.second); });
    return isMatrix ? std::move(operand) : std::nullopt;
  };
  std::optional<ScoreOperand> first = makeOperand(outerIsLeft, *outer), second = makeOperand(!outerIsLeft, *inner);
  if (!first || !second || typeOf(first->value).getElementType() != typeOf(second->value).getElementType())
    return false;
  pass.products.push_back({dot, std::move(*first), std::move(*second), node});
  return true;
}

/// The longest loop that is an index of one operand of a product alone, where the inner loop is one of the other's.
std::optional<unsigned> ScorePlanner::findOuter(const ScorePass &pass) const {
  std::optional<unsigned> outer;
  for (auto &node : pass.planned.plan->nodes) {
    net::DotOp dot = getProduct(pass, *node);
    if (!dot)
      continue;
    for (bool ofLeft : {true, false}) {
      if (!llvm::is_contained(getFreeIndices(dot, *node, !ofLeft), LinearForm::variable(pass.inner)))
        continue;
      for (const LinearForm &index : getFreeIndices(dot, *node, ofLeft)) {
        bool isLoop = index.terms.size() == 1 && index == LinearForm::variable(index.terms[0].first);
        if (isLoop && index.terms[0].first != pass.inner &&
            (!outer || pass.getExtent(index.terms[0].first) > pass.getExtent(*outer)))
          outer = index.terms[0].first;
      }
    }
    return outer;
  }
  return std::nullopt;
}

/// The inner axis is the longest of those that are summed; the outer one is that of the other operand of a product.
bool ScorePlanner::chooseLoops(ScorePass &pass, const Candidate &member) {
  ArrayRef<int64_t> shape = shapeOf(member.getScores());
  if (member.summed.empty())
    return false;
  auto longest = *std::max_element(member.summed.begin(), member.summed.end(),
                                   [&](int64_t a, int64_t b) { return shape[a] < shape[b]; });
  if (shape[longest] == 1)
    return false;
  pass.inner = getIndex(pass, shape, longest).terms.front().first;
  std::optional<unsigned> outer = findOuter(pass);
  if (!outer)
    return false;
  pass.outer = *outer;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (extent == 1)
      continue;
    unsigned loop = getIndex(pass, shape, dim).terms.front().first;
    bool isSummed = llvm::is_contained(member.summed, static_cast<int64_t>(dim));
    if (loop == pass.outer && isSummed)
      return false;
    if (loop != pass.outer && loop != pass.inner)
      (isSummed ? pass.summed : pass.grid).push_back(loop);
  }
  return true;
}

/// Where a target's result goes, and what a product multiplies the scores with.
bool ScorePlanner::addResult(ScorePass &pass, ScoreTarget &target, const Candidate &member) {
  auto dot = dyn_cast<net::DotOp>(member.op);
  if (!dot)
    return true;
  bool isLeft = member.operand == 0;
  SmallVector<int64_t> leftFree = dot.getLhsFree(), rightFree = dot.getRhsFree();
  ArrayRef<int64_t> scoreBatch = isLeft ? dot.getLhsBatch() : dot.getRhsBatch(),
                    otherBatch = isLeft ? dot.getRhsBatch() : dot.getLhsBatch(),
                    scoreFree = isLeft ? leftFree : rightFree, otherFree = isLeft ? rightFree : leftFree,
                    scoreContract = isLeft ? dot.getLhsContract() : dot.getRhsContract(),
                    otherContract = isLeft ? dot.getRhsContract() : dot.getLhsContract(),
                    shape = shapeOf(member.getScores()), result = shapeOf(dot.getResult());
  if (otherFree.size() != 1 || !hasRoundedResult(dot))
    return false;
  std::optional<unsigned> along;
  for (auto [score, other] : llvm::zip(scoreContract, otherContract))
    if (getIndex(pass, shape, score) == LinearForm::variable(pass.inner))
      along = other;
  target.operand = getOperand(dot->getOperand(isLeft ? 1 : 0), *along, otherFree.front());
  if (!target.operand)
    return false;
  if (typeOf(target.operand->value).getElementType() != typeOf(member.getScores()).getElementType())
    return false;
  auto fix = [&](ArrayRef<int64_t> mine, ArrayRef<int64_t> others) {
    for (auto [score, other] : llvm::zip(mine, others))
      if (other != *along)
        target.operand->fixed.push_back({other, getIndex(pass, shape, score)});
  };
  fix(scoreBatch, otherBatch);
  fix(scoreContract, otherContract);
  // The result has the dimensions of the batch, then those of the left operand, then those of the right.
  SmallVector<int64_t> strides(result.size(), 1);
  for (size_t dim = result.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * result[dim];
  size_t numBatch = scoreBatch.size();
  for (auto [i, dim] : llvm::enumerate(scoreBatch))
    target.position = target.position + getIndex(pass, shape, dim) * strides[i];
  for (auto [i, dim] : llvm::enumerate(scoreFree))
    target.position = target.position + getIndex(pass, shape, dim) * strides[numBatch + (isLeft ? 0 : 1) + i];
  target.stride = strides[isLeft ? result.size() - 1 : numBatch];
  return true;
}

/// The tiles that the mask of the first product leaves, if it is one of this pass.
void ScorePlanner::addVisible(ScorePass &pass) const {
  ArrayRef<int64_t> columns = scores.getVisible();
  for (const ScoreProduct &product : pass.products) {
    if (product.dot != products.front())
      continue;
    LinearForm outer = LinearForm::variable(pass.outer), inner = LinearForm::variable(pass.inner),
               row = product.node->indices[scores.getRows()], column = product.node->indices[scores.getColumns()];
    constexpr int64_t kRows = dist::kRowsOfVisible;
    if (row == outer && column == inner) {
      for (size_t group = 0; group * 2 != columns.size(); ++group)
        pass.visible.push_back({columns[2 * group], columns[2 * group + 1]});
    } else if (row == inner && column == outer) {
      int64_t numRows = pass.getExtent(pass.inner), numColumns = pass.getExtent(pass.outer);
      for (int64_t first = 0; first < numColumns; first += kRows) {
        int64_t begin = numRows, end = 0;
        for (int64_t group = 0; group * 2 != static_cast<int64_t>(columns.size()); ++group)
          if (columns[2 * group] < first + kRows && columns[2 * group + 1] > first) {
            begin = std::min(begin, group * kRows);
            end = std::min((group + 1) * kRows, numRows);
          }
        pass.visible.push_back({std::min(begin, end), end});
      }
    }
    return;
  }
}

bool ScorePlanner::planPass(ScorePass &pass, ArrayRef<Candidate *> members) {
  // A target is planned with its reduction; a product by the scores that it reads.
  SmallVector<Value> outputs;
  for (Candidate *member : members)
    outputs.push_back(isa<net::DotOp>(member->op) ? member->getScores() : member->op->getResult(0));
  auto isInput = [&](Operation *op) {
    return products.contains(op) || (candidateOf.contains(op) && !llvm::is_contained(outputs, op->getResult(0)));
  };
  pass.planned = planValues(outputs, isInput, shapeOf(members.front()->getScores()));
  if (!pass.planned.plan)
    return false;
  if (!chooseLoops(pass, *members.front()))
    return false;
  for (auto &node : pass.planned.plan->nodes)
    if (getProduct(pass, *node) && !addProduct(pass, node.get()))
      return false;
  for (Candidate *member : members)
    if (!addResult(pass, pass.targets.emplace_back(ScoreTarget{member->op, {}, {}, 0}), *member))
      return false;
  auto hasOperand = [](const ScoreTarget &target) { return target.operand.has_value(); };
  if (pass.products.size() > ScorePlan::kMostProducts ||
      static_cast<size_t>(llvm::count_if(pass.targets, hasOperand)) > ScorePlan::kMostProducts)
    return false;
  addVisible(pass);
  return true;
}

bool ScorePlanner::run() {
  if (!findTargets())
    return false;
  findOrder();
  // Those that have to be late come first; what can be as late joins them.
  SmallVector<Candidate *> order = llvm::map_to_vector(candidates, [](Candidate &candidate) { return &candidate; });
  llvm::stable_sort(order, [](Candidate *a, Candidate *b) { return a->first > b->first; });
  SmallVector<std::pair<unsigned, SmallVector<Candidate *>>> groups;
  for (Candidate *candidate : order) {
    auto group = llvm::find_if(groups, [&](const auto &other) {
      return candidate->first <= other.first && other.first <= candidate->last &&
             candidate->goesTogetherWith(*other.second.front());
    });
    if (group != groups.end())
      group->second.push_back(candidate);
    else
      groups.push_back({candidate->first, {candidate}});
  }
  llvm::stable_sort(groups, [](const auto &a, const auto &b) { return a.first < b.first; });
  for (auto &[number, members] : groups)
    if (!planPass(plan.passes.emplace_back(), members))
      return false;
  return true;
}

std::unique_ptr<ScorePlan> ScorePlan::create(dist::KernelOp kernel) {
  auto plan = std::make_unique<ScorePlan>();
  if (!ScorePlanner(kernel, *plan).run())
    return nullptr;
  return plan;
}
