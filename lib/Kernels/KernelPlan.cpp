//===- KernelPlan.cpp - plans the loops of a kernel -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that all operations are element-wise or reductions, chooses which dimensions of the largest iteration space
// are rows and which are columns, and then traces outputs and reductions back to the inputs with linear forms as
// indices (LinearForm.h). At the end, neighbouring loops are joined where every form allows it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/KernelPlan.h"
#include "dialects/Net/NetBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using linalg::GenericOp;
using net::typeOf;

static int64_t countElements(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

bool schedule::isParallel(GenericOp op) { return op.getNumReductionLoops() == 0; }

bool schedule::isMove(GenericOp op) {
  if (!isParallel(op) || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1)
    return false;
  Block &body = *op.getBody();
  return llvm::hasSingleElement(body) && body.getTerminator()->getOperand(0) == body.getArgument(0);
}

Operation *schedule::getCombiner(GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return nullptr;
  Block &body = *op.getBody();
  Value accumulator = body.getArguments().back();
  Operation *combiner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 || combiner->getNumResults() != 1 || !accumulator.hasOneUse() ||
      *accumulator.user_begin() != combiner)
    return nullptr;
  return combiner;
}

int64_t KernelPlan::getNumColumns() const {
  int64_t columns = 1;
  for (unsigned variable : ArrayRef(loops).drop_front(numRowLoops))
    columns *= variables[variable].extent;
  return columns;
}

bool KernelPlan::isColumn(const LinearForm &form) const {
  for (auto [index, coefficient] : form.terms) {
    const Variables::Variable &variable = variables[index];
    if (variable.kind == Variables::Computed && computed.find(index)->second.first->column)
      return true;
    if ((variable.kind == Variables::Quotient || variable.kind == Variables::Remainder) && isColumn(variable.base))
      return true;
  }
  return llvm::any_of(ArrayRef(loops).drop_front(numRowLoops), [&](unsigned loop) { return form.uses(loop); });
}

namespace meshwright::schedule {

/// Builds a plan; fails with a reason where the operations are not of the planned forms.
class Planner {
public:
  Planner(Block &body, ValueRange outputs, KernelPlan &plan, std::string &reason, ArrayRef<int64_t> domain)
      : body(body), outputs(outputs), plan(plan), reason(reason), domain(domain) {}

  LogicalResult run();

private:
  LogicalResult fail(const Twine &why) {
    reason = why.str();
    return failure();
  }

  LogicalResult checkForms();
  LogicalResult chooseRows();
  void makeLoops();
  LogicalResult traceReductions();
  LogicalResult traceOutputs();
  void joinLoops();

  Node *trace(Value value, ArrayRef<LinearForm> indices);
  Node *traceGeneric(GenericOp op, ArrayRef<LinearForm> indices, Value yielded);
  Node *traceReductionResult(GenericOp op, ArrayRef<LinearForm> indices);
  LogicalResult traceBody(Node *node, ArrayRef<LinearForm> domain);
  LinearForm traceIndex(Node *node, Value value, ArrayRef<LinearForm> domain);
  Node *addNode(Node::Kind kind, Value value, ArrayRef<LinearForm> indices);
  bool canJoin(unsigned outer, unsigned inner) const;
  template <typename Fn> void forEachForm(Fn fn);

  Block &body;
  ValueRange outputs;
  KernelPlan &plan;
  std::string &reason;
  /// The dimensions that are to be loops; empty where the shapes in the kernel decide.
  ArrayRef<int64_t> domain;

  SmallVector<GenericOp> generics, reductionOps;
  /// The sizes of the domain and of its rows; the positions of an element and of a row.
  int64_t numElements = 1, numRows = 1;
  LinearForm position, rowPosition;
  llvm::DenseMap<Value, SmallVector<Node *>> memo;
  llvm::DenseMap<Operation *, unsigned> reductionIndex;
  llvm::SmallPtrSet<Operation *, 8> rowReductions;
};

} // namespace meshwright::schedule

int64_t schedule::getKeptElements(GenericOp op) {
  int64_t kept = 1;
  bool reduced = false;
  for (auto [iterator, extent] : llvm::zip(op.getIteratorTypesArray(), op.getStaticLoopRanges())) {
    if (iterator == utils::IteratorType::reduction) {
      reduced |= extent != 1;
      continue;
    }
    if (reduced && extent != 1)
      return -1;
    kept *= extent;
  }
  return kept;
}

LogicalResult Planner::checkForms() {
  for (Operation &op : body.without_terminator()) {
    if (isa<tensor::EmptyOp, linalg::FillOp>(op))
      continue;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (isa<ShapedType>(constant.getType()) && (!dense || !dense.isSplat()))
        return fail("a constant has elements that differ");
      continue;
    }
    auto generic = dyn_cast<GenericOp>(op);
    if (!generic || generic.getNumDpsInits() != 1)
      return fail(op.getName().getStringRef() + " is no generic operation of one result");
    for (Operation &nested : *generic.getBody())
      if (nested.getNumRegions() != 0)
        return fail(nested.getName().getStringRef() + " stands in a body");
    if (typeOf(generic.getResult(0)).getNumElements() == 0)
      return fail("a result is empty");
    generics.push_back(generic);
    if (isParallel(generic)) {
      if (!generic.getBody()->getArguments().back().use_empty())
        return fail("an operation without reduction reads its output");
      continue;
    }
    auto init = generic.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
    if (!getCombiner(generic) || !init || !init.getInputs()[0].getDefiningOp<arith::ConstantOp>())
      return fail("a reduction does not combine its accumulator once");
    if (countElements(generic.getStaticLoopRanges()) == 0)
      return fail("a reduction is over nothing");
    reductionOps.push_back(generic);
  }
  return success();
}

LogicalResult Planner::chooseRows() {
  for (GenericOp op : reductionOps)
    numElements = std::max(numElements, countElements(op.getStaticLoopRanges()));
  for (Value output : outputs)
    numElements = std::max(numElements, typeOf(output).getNumElements());

  // A reduction whose result is used inside decides what a row is; without one, any may.
  std::optional<int64_t> rows;
  for (GenericOp op : reductionOps) {
    if (countElements(op.getStaticLoopRanges()) != numElements)
      return fail("reductions are over domains of different size");
    int64_t kept = getKeptElements(op);
    bool usedInside = llvm::any_of(op->getUsers(), [](Operation *user) { return isa<GenericOp>(user); });
    if (!usedInside)
      continue;
    if (kept < 0 || (rows && *rows != kept))
      return fail("the result of a reduction is used that is not known at the end of a row");
    rows = kept;
  }
  for (GenericOp op : reductionOps)
    if (!rows && getKeptElements(op) >= 0)
      rows = getKeptElements(op);
  numRows = rows.value_or(1);
  for (GenericOp op : reductionOps)
    if (rows && getKeptElements(op) == numRows)
      rowReductions.insert(op);
  return success();
}

/// Splits the domain into the dimensions that the shapes in the kernel agree on: the positions where one of them ends,
/// as far as each divides the next.
void Planner::makeLoops() {
  int64_t numColumns = numElements / numRows;
  SmallVector<int64_t> strides = {1, numColumns, numElements};
  auto addShape = [&](ArrayRef<int64_t> shape) {
    int64_t elements = countElements(shape);
    int64_t scale = elements == numElements || elements == numColumns ? 1 : elements == numRows ? numColumns : 0;
    if (scale == 0)
      return;
    for (int64_t extent : llvm::reverse(shape)) {
      scale *= extent;
      bool fits =
          llvm::all_of(strides, [&](int64_t other) { return std::max(other, scale) % std::min(other, scale) == 0; });
      if (fits && !llvm::is_contained(strides, scale))
        strides.push_back(scale);
    }
  };
  // Stored and accumulated values come before read ones: their positions should be linear.
  auto addShapes = [&] {
    for (GenericOp op : reductionOps)
      addShape(op.getStaticLoopRanges());
    for (Value output : outputs)
      addShape(typeOf(output).getShape());
    for (GenericOp op : generics) {
      addShape(op.getStaticLoopRanges());
      for (Value operand : op->getOperands())
        if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
          addShape(type.getShape());
    }
  };
  if (domain.empty())
    addShapes();
  else
    addShape(domain);
  llvm::sort(strides, std::greater<>());
  for (size_t next = 1; next < strides.size(); ++next) {
    int64_t extent = strides[next - 1] / strides[next];
    if (extent == 1)
      continue;
    unsigned variable = plan.variables.add(Variables::Loop, extent);
    plan.loops.push_back(variable);
    position = position + LinearForm::variable(variable) * strides[next];
    if (strides[next] >= numColumns) {
      ++plan.numRowLoops;
      rowPosition = rowPosition + LinearForm::variable(variable) * (strides[next] / numColumns);
    }
  }
}

Node *Planner::addNode(Node::Kind kind, Value value, ArrayRef<LinearForm> indices) {
  plan.nodes.push_back(std::make_unique<Node>());
  Node *node = plan.nodes.back().get();
  node->kind = kind;
  node->value = value;
  node->indices.assign(indices.begin(), indices.end());
  return node;
}

Node *Planner::trace(Value value, ArrayRef<LinearForm> indices) {
  for (Node *node : memo[value])
    if (ArrayRef(node->indices) == indices)
      return node;
  Node *node = nullptr;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    node = addNode(Node::Load, value, indices);
    node->index = argument.getArgNumber();
    node->position = plan.variables.linearize(indices, typeOf(value).getShape());
    node->column = plan.isColumn(node->position);
  } else if (auto fill = value.getDefiningOp<linalg::FillOp>()) {
    node = addNode(Node::Constant, fill.getInputs()[0], indices);
  } else if (value.getDefiningOp<arith::ConstantOp>()) {
    node = addNode(Node::Constant, value, indices);
  } else if (auto generic = value.getDefiningOp<GenericOp>()) {
    if (!isParallel(generic))
      return traceReductionResult(generic, indices);
    AffineMap map = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
    if (!map.isPermutation()) {
      reason = "a result is not written in the order of the loops";
      return nullptr;
    }
    SmallVector<LinearForm> domain(indices.size());
    for (auto [index, expr] : llvm::zip(indices, map.getResults()))
      domain[cast<AffineDimExpr>(expr).getPosition()] = index;
    if (isMove(generic)) {
      SmallVector<LinearForm> moved;
      for (AffineExpr expr : generic.getMatchingIndexingMap(generic.getDpsInputOperand(0)).getResults())
        moved.push_back(plan.variables.evaluate(expr, domain));
      return trace(generic.getDpsInputs()[0], moved);
    }
    node = traceGeneric(generic, domain, generic.getBody()->getTerminator()->getOperand(0));
    if (node)
      node->indices.assign(indices.begin(), indices.end());
  } else {
    reason = "an element of an empty tensor is read";
  }
  if (node)
    memo[value].push_back(node);
  return node;
}

/// Only the element of the current row is known inside the kernel.
Node *Planner::traceReductionResult(GenericOp op, ArrayRef<LinearForm> indices) {
  auto found = reductionIndex.find(op);
  Value result = op.getResult(0);
  bool isRow = plan.variables.linearize(indices, typeOf(result).getShape()) == rowPosition;
  if (!rowReductions.contains(op) || found == reductionIndex.end() || !isRow) {
    reason = "the result of a reduction is used outside its row";
    return nullptr;
  }
  Node *node = addNode(Node::RowResult, result, indices);
  node->index = found->second;
  node->stage = plan.reductions[found->second].input->stage + 1;
  memo[result].push_back(node);
  return node;
}

Node *Planner::traceGeneric(GenericOp op, ArrayRef<LinearForm> domain, Value yielded) {
  Node *node = addNode(Node::Compute, op.getResult(0), {});
  node->op = op;
  node->yielded = yielded;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    SmallVector<LinearForm> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults())
      indices.push_back(plan.variables.evaluate(expr, domain));
    Value input = operand->get();
    Node *child = nullptr;
    if (!isa<RankedTensorType>(input.getType()))
      child = addNode(Node::Constant, input, {});
    else
      child = trace(input, indices);
    if (!child)
      return nullptr;
    node->operands.push_back(child);
    node->column |= child->column;
    node->stage = std::max(node->stage, child->stage);
  }
  return succeeded(traceBody(node, domain)) ? node : nullptr;
}

/// Computing it again is worth less than a load and a store.
static bool isCheap(Operation &op) {
  return !isa_and_nonnull<math::MathDialect>(op.getDialect()) ||
         isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::RoundEvenOp, math::SqrtOp>(op);
}

LogicalResult Planner::traceBody(Node *node, ArrayRef<LinearForm> domain) {
  SmallVector<tensor::ExtractOp> extracts;
  for (Operation &op : *node->op.getBody()) {
    node->expensive |= !isCheap(op);
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      node->column |= plan.isColumn(domain[index.getDim()]);
      node->indexForms[&op] = domain[index.getDim()];
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      extracts.push_back(extract);
  }
  for (tensor::ExtractOp extract : extracts) {
    SmallVector<LinearForm> indices;
    for (Value index : extract.getIndices())
      indices.push_back(traceIndex(node, index, domain));
    Node *child = trace(extract.getTensor(), indices);
    if (!child)
      return failure();
    node->extracts[extract] = child;
    node->column |= child->column;
    node->stage = std::max(node->stage, child->stage);
  }
  return success();
}

/// The end of the values of a clamp to constants from 0 on; -1 for what is no such clamp.
static int64_t getEndOfClamp(Value value) {
  auto getBound = [](Operation *op) -> std::optional<int64_t> {
    auto bound = op->getOperand(1).getDefiningOp<arith::ConstantIndexOp>();
    return bound ? std::optional(bound.value()) : std::nullopt;
  };
  Operation *outer = value.getDefiningOp(), *inner = nullptr;
  if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(outer))
    inner = outer->getOperand(0).getDefiningOp();
  bool isClamp = inner && ((isa<arith::MinSIOp>(outer) && isa<arith::MaxSIOp>(inner)) ||
                           (isa<arith::MaxSIOp>(outer) && isa<arith::MinSIOp>(inner)));
  if (!isClamp)
    return -1;
  std::optional<int64_t> least = getBound(isa<arith::MaxSIOp>(outer) ? outer : inner),
                         greatest = getBound(isa<arith::MinSIOp>(outer) ? outer : inner);
  return least && greatest && *least >= 0 && *least <= *greatest ? *greatest + 1 : -1;
}

LinearForm Planner::traceIndex(Node *node, Value value, ArrayRef<LinearForm> domain) {
  if (auto index = value.getDefiningOp<linalg::IndexOp>())
    return domain[index.getDim()];
  if (auto constant = value.getDefiningOp<arith::ConstantIndexOp>())
    return constant.value();
  Operation *op = value.getDefiningOp();
  if (auto product = dyn_cast_or_null<arith::MulIOp>(op))
    if (auto factor = product.getRhs().getDefiningOp<arith::ConstantIndexOp>())
      return traceIndex(node, product.getLhs(), domain) * factor.value();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp>(op)) {
    LinearForm lhs = traceIndex(node, op->getOperand(0), domain), rhs = traceIndex(node, op->getOperand(1), domain);
    if (isa<arith::AddIOp>(op))
      return lhs + rhs;
    if (isa<arith::SubIOp>(op))
      return lhs + rhs * -1;
    // A clamp that changes nothing vanishes.
    auto left = plan.variables.getRange(lhs), right = plan.variables.getRange(rhs);
    bool isMax = isa<arith::MaxSIOp>(op);
    if (left && right && (isMax ? left->first >= right->second : left->second <= right->first))
      return lhs;
    if (left && right && (isMax ? right->first >= left->second : right->second <= left->first))
      return rhs;
  }
  for (auto &[variable, where] : plan.computed)
    if (where.first == node && where.second == value)
      return LinearForm::variable(variable);
  unsigned variable = plan.variables.add(Variables::Computed, getEndOfClamp(value));
  plan.computed[variable] = {node, value};
  return LinearForm::variable(variable);
}

LogicalResult Planner::traceReductions() {
  for (GenericOp op : reductionOps) {
    Operation *combiner = getCombiner(op);
    Value accumulator = op.getBody()->getArguments().back();
    Value combined = combiner->getOperand(combiner->getOperand(0) == accumulator ? 1 : 0);
    SmallVector<LinearForm> domain = plan.variables.delinearize(position, op.getStaticLoopRanges());
    Node *input = traceGeneric(op, domain, combined);
    if (!input)
      return failure();
    auto neutral =
        op.getDpsInits()[0].getDefiningOp<linalg::FillOp>().getInputs()[0].getDefiningOp<arith::ConstantOp>();
    Reduction reduction{op, combiner, input, neutral.getValue(), rowReductions.contains(op), std::nullopt, {}};
    if (!reduction.row) {
      auto output = llvm::find(outputs, op.getResult(0));
      if (output == outputs.end())
        return fail("a reduction that is no row's is used inside");
      reduction.output = std::distance(outputs.begin(), output);
      SmallVector<LinearForm> indices;
      for (AffineExpr expr : op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults())
        indices.push_back(plan.variables.evaluate(expr, domain));
      reduction.position = plan.variables.linearize(indices, typeOf(op.getResult(0)).getShape());
    }
    reductionIndex[op] = plan.reductions.size();
    plan.reductions.push_back(std::move(reduction));
    plan.numStages = std::max(plan.numStages, input->stage + 1);
  }
  return success();
}

LogicalResult Planner::traceOutputs() {
  for (auto [index, output] : llvm::enumerate(outputs)) {
    bool accumulates = llvm::any_of(
        plan.reductions, [&](Reduction &reduction) { return reduction.output && reduction.op.getResult(0) == output; });
    if (accumulates && llvm::find(outputs, output) == outputs.begin() + index)
      continue;
    ArrayRef<int64_t> shape = typeOf(output).getShape();
    int64_t elements = countElements(shape);
    if (elements != numElements && elements != numRows)
      return fail("outputs are neither of the size of the domain nor of its rows");
    LinearForm at = elements == numElements ? position : rowPosition;
    Node *node = trace(output, plan.variables.delinearize(at, shape));
    if (!node)
      return failure();
    plan.stores.push_back({node, static_cast<unsigned>(index), at});
    // A value stored once per row is stored as soon as it is known, at the latest at the end of the row.
    if (plan.isColumn(at))
      plan.numStages = std::max(plan.numStages, node->stage + 1);
  }
  return success();
}

template <typename Fn> void Planner::forEachForm(Fn fn) {
  for (auto &node : plan.nodes) {
    if (node->kind == Node::Load)
      fn(node->position);
    for (auto &[op, form] : node->indexForms)
      fn(form);
  }
  for (Store &store : plan.stores)
    fn(store.position);
  for (Reduction &reduction : plan.reductions)
    if (reduction.output)
      fn(reduction.position);
}

bool Planner::canJoin(unsigned outer, unsigned inner) const {
  int64_t extent = plan.variables[inner].extent;
  bool joins = true;
  auto check = [&](const LinearForm &form) {
    joins &= form.getCoefficient(outer) == form.getCoefficient(inner) * extent;
  };
  const_cast<Planner *>(this)->forEachForm(check);
  for (unsigned variable = 0; variable < plan.variables.size(); ++variable)
    check(plan.variables[variable].base);
  return joins;
}

/// Joins neighbouring loops that no access tells apart, so that the innermost is long.
void Planner::joinLoops() {
  for (size_t next = plan.loops.size(); next-- > 1;) {
    unsigned outer = plan.loops[next - 1], inner = plan.loops[next];
    if (next == plan.numRowLoops || !canJoin(outer, inner))
      continue;
    auto drop = [&](LinearForm &form) {
      llvm::erase_if(form.terms, [&](const auto &term) { return term.first == outer; });
    };
    forEachForm(drop);
    plan.variables.join(outer, inner);
    plan.loops.erase(plan.loops.begin() + next - 1);
    if (next < plan.numRowLoops)
      --plan.numRowLoops;
  }
  // Without reductions nothing makes rows; the loops but the last are as good as rows, and what is the same all along
  // the innermost loop is computed outside it. But what is stored once is stored at the end of a row, of which there
  // may be one only.
  bool storesOnce = llvm::any_of(plan.stores, [](const Store &store) { return store.position.isConstant(); });
  if (plan.reductions.empty() && !storesOnce)
    plan.numRowLoops = plan.loops.empty() ? 0 : plan.loops.size() - 1;
}

LogicalResult Planner::run() {
  if (failed(checkForms()) || failed(chooseRows()))
    return failure();
  makeLoops();
  if (failed(traceReductions()) || failed(traceOutputs()))
    return failure();
  if (domain.empty())
    joinLoops();
  return success();
}

std::unique_ptr<KernelPlan> KernelPlan::create(Block &body, ValueRange outputs, std::string &reason,
                                               ArrayRef<int64_t> domain) {
  auto plan = std::make_unique<KernelPlan>();
  if (failed(Planner(body, outputs, *plan, reason, domain).run()))
    return nullptr;
  return plan;
}
