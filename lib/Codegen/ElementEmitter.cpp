//===- ElementEmitter.cpp - code for the elements of a kernel -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value stays scalar while it is the same in all lanes, and becomes a vector from the first operand that differs.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/ElementEmitter.h"
#include "dialects/Dist/KernelPieces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include <numeric>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using namespace meshwright::emit;

Type emit::getMemoryType(Type element) {
  bool isByte = element.isInteger(1) || (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8);
  return isByte ? IntegerType::get(element.getContext(), 8) : element;
}

/// `element`, as a vector if `value` is one.
static Type toShape(Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.clone(element) : element;
}

Value emit::fromMemory(LoopBuilder &builder, Value value, Type element) {
  if (getMemoryType(element) == element)
    return value;
  Type type = toShape(value, element);
  return isa<FloatType>(element) ? arith::BitcastOp::create(builder, type, value).getResult()
                                 : arith::TruncIOp::create(builder, type, value).getResult();
}

Value emit::toMemory(LoopBuilder &builder, Value value) {
  Type element = getElementTypeOrSelf(value.getType()), memory = getMemoryType(element);
  if (memory == element)
    return value;
  Type type = toShape(value, memory);
  return isa<FloatType>(element) ? arith::BitcastOp::create(builder, type, value).getResult()
                                 : arith::ExtUIOp::create(builder, type, value).getResult();
}

scf::ForOp emit::buildLoop(LoopBuilder &builder, Value lower, Value upper, Value step, ValueRange carried,
                           LoopBody body) {
  auto loop = scf::ForOp::create(builder, lower, upper, step, carried);
  OpBuilder::InsertionGuard guard(builder);
  // Without carried values the loop has its terminator already.
  Block *block = loop.getBody();
  if (!block->empty())
    block->getTerminator()->erase();
  builder.setInsertionPointToEnd(block);
  SmallVector<Value> results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(builder, results);
  return loop;
}

scf::ForOp emit::buildLoop(LoopBuilder &builder, int64_t from, int64_t to, int64_t step, ValueRange carried,
                           LoopBody body) {
  Value lower = arith::ConstantIndexOp::create(builder, from), upper = arith::ConstantIndexOp::create(builder, to);
  return buildLoop(builder, lower, upper, arith::ConstantIndexOp::create(builder, step), carried, body);
}

Value emit::buildWhile(LoopBuilder &builder, Value value, function_ref<Value(Value)> isLeft,
                       function_ref<Value(Value)> getNext) {
  auto emitAt = [&](OpBuilder &nested, function_ref<void()> body) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(nested.getInsertionBlock(), nested.getInsertionPoint());
    body();
  };
  auto before = [&](OpBuilder &nested, Location, ValueRange carried) {
    emitAt(nested, [&] { scf::ConditionOp::create(builder, isLeft(carried[0]), carried); });
  };
  auto after = [&](OpBuilder &nested, Location, ValueRange carried) {
    emitAt(nested, [&] { scf::YieldOp::create(builder, getNext(carried[0])); });
  };
  return scf::WhileOp::create(builder, TypeRange{value.getType()}, ValueRange{value}, before, after).getResult(0);
}

Value ElementEmitter::combine(const Reduction &reduction, Value lhs, Value rhs) {
  OperationState state(builder.getLoc(), reduction.combiner->getName());
  state.addOperands({lhs, rhs});
  state.addTypes(lhs.getType());
  state.propertiesAttr = reduction.combiner->getPropertiesAsAttribute();
  return builder.create(state)->getResult(0);
}

Value ElementEmitter::sumLanes(const Reduction &reduction, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return value;
  SmallVector<Value> values;
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
    values.push_back(vector::ExtractOp::create(builder, value, lane));
  for (size_t half = values.size() / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane)
      values[lane] = combine(reduction, values[lane], values[lane + half]);
  return values[0];
}

SmallVector<Node *> ElementEmitter::getRoots(const Stage &stage) const {
  SmallVector<Node *> roots;
  for (unsigned index : stage.reductions)
    roots.push_back(plan.reductions[index].input);
  for (unsigned index : stage.stores)
    roots.push_back(plan.stores[index].node);
  return roots;
}

/// True if an element takes so many operations, even cheap ones, that storing it costs less: a random mask does.
static bool isLong(schedule::Node *node) {
  constexpr size_t kManyOperations = 32;
  SetVector<schedule::Node *> visited;
  SmallVector<schedule::Node *> worklist = {node};
  while (!worklist.empty() && visited.size() < kManyOperations) {
    schedule::Node *next = worklist.pop_back_val();
    if (next->column && next->kind == schedule::Node::Compute && visited.insert(next))
      llvm::append_range(worklist, next->operands);
  }
  return visited.size() >= kManyOperations;
}

/// Computes nodes that do not change along a row before the loop over columns.
void ElementEmitter::prepareRowNodes(ArrayRef<Node *> roots) {
  SetVector<Node *> visited;
  SmallVector<Node *> worklist(roots.rbegin(), roots.rend());
  while (!worklist.empty()) {
    Node *node = worklist.pop_back_val();
    if (!visited.insert(node))
      continue;
    if (!node->column) {
      emitNode(node);
      continue;
    }
    if (kept.contains(node) && kept[node].second < currentStage)
      continue;
    // The body computes the indices of the elements that it extracts, so they may change along the row.
    llvm::append_range(worklist, llvm::reverse(node->operands));
  }
}

/// Nodes that are expensive to compute and needed in several stages, with the first of these.
llvm::MapVector<Node *, unsigned> ElementEmitter::findRepeated() const {
  llvm::MapVector<Node *, unsigned> first, repeated;
  for (auto [index, stage] : llvm::enumerate(stages)) {
    SetVector<Node *> visited;
    SmallVector<Node *> worklist = getRoots(stage);
    while (!worklist.empty()) {
      Node *node = worklist.pop_back_val();
      if (!node->column || node->kind != Node::Compute || !visited.insert(node))
        continue;
      auto [known, isNew] = first.insert({node, index});
      bool again = !isNew && (node->expensive || isLong(node));
      if (again)
        repeated.insert({node, known->second});
      // A long chain is kept as a whole; its parts are not needed in the later stage.
      if (again && !node->expensive)
        continue;
      llvm::append_range(worklist, node->operands);
      for (auto &[op, child] : node->extracts)
        worklist.push_back(child);
    }
  }
  return repeated;
}

ElementEmitter::ElementEmitter(const KernelPlan &plan, LoopBuilder &builder, ValueRange pointers,
                               ArrayRef<RankedTensorType> types, unsigned numInputs)
    : plan(plan), builder(builder), pointers(pointers), types(types), numInputs(numInputs), stages(plan.numStages),
      rowResults(plan.reductions.size()) {
  for (auto [index, reduction] : llvm::enumerate(plan.reductions))
    stages[reduction.input->stage].reductions.push_back(index);
  for (auto [index, store] : llvm::enumerate(plan.stores))
    if (plan.isColumn(store.position))
      stages[store.node->stage].stores.push_back(index);
}

Type ElementEmitter::toVectorType(Type type) {
  if (lanes == 1)
    return type;
  return VectorType::get({static_cast<int64_t>(lanes)}, getElementTypeOrSelf(type));
}

Value ElementEmitter::toVector(Value value) {
  if (lanes == 1 || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(builder, toVectorType(value.getType()), value);
}

Value ElementEmitter::getIndex(int64_t value) { return arith::ConstantIndexOp::create(builder, value); }

/// `lhs + rhs`, either of which may be missing.
static Value add(LoopBuilder &builder, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AddIOp::create(builder, lhs, rhs, arith::IntegerOverflowFlags::nsw);
}

static Value scale(LoopBuilder &builder, Value value, int64_t factor) {
  if (factor == 1)
    return value;
  Value constant = arith::ConstantIndexOp::create(builder, factor);
  if (auto type = dyn_cast<VectorType>(value.getType()))
    constant = vector::BroadcastOp::create(builder, type, constant);
  return arith::MulIOp::create(builder, value, constant, arith::IntegerOverflowFlags::nsw);
}

void ElementEmitter::setLoops(ArrayRef<unsigned> loops, Value number) {
  if (loops.empty())
    return;
  auto getExtent = [&](unsigned loop) { return plan.variables[loop].extent / (loop == laneLoop ? lanes : 1); };
  int64_t most = 1;
  for (unsigned loop : loops)
    most *= getExtent(loop);
  bool isSmall = most <= std::numeric_limits<int32_t>::max();
  Type index = builder.getIndexType(), type = isSmall ? builder.getI32Type() : builder.getI64Type();
  number = arith::IndexCastUIOp::create(builder, type, number);
  for (unsigned loop : llvm::reverse(loops.drop_front())) {
    Value extent = arith::ConstantOp::create(builder, builder.getIntegerAttr(type, getExtent(loop)));
    ivs[loop] = arith::IndexCastUIOp::create(builder, index, arith::RemUIOp::create(builder, number, extent));
    number = arith::DivUIOp::create(builder, number, extent);
  }
  ivs[loops.front()] = arith::IndexCastUIOp::create(builder, index, number);
  if (loops.back() == laneLoop)
    ivs[*laneLoop] = arith::MulIOp::create(builder, ivs[*laneLoop], getIndex(lanes));
}

ElementEmitter::LaneIndex ElementEmitter::toLaneIndex(Value value) {
  LaneIndex index;
  (isa<VectorType>(value.getType()) ? index.vector : index.scalar) = value;
  return index;
}

ElementEmitter::LaneIndex ElementEmitter::emitIndex(const LinearForm &form) {
  LaneIndex result;
  result.multiple = form.constant;
  for (auto [index, coefficient] : form.terms) {
    const Variables::Variable &variable = plan.variables[index];
    LaneIndex term;
    if (variable.kind == Variables::Loop) {
      term.scalar = ivs[index];
      term.stride = lanes > 1 && index == *laneLoop;
      term.multiple = term.stride == 0 ? 1 : lanes;
    } else if (variable.kind == Variables::Computed) {
      term = bodyValues[plan.computed.find(index)->second];
    } else {
      term = toLaneIndex(emitDivision(variable));
    }
    if (term.scalar)
      result.scalar = add(builder, result.scalar, scale(builder, term.scalar, coefficient));
    if (term.vector)
      result.vector = add(builder, result.vector, scale(builder, term.vector, coefficient));
    result.stride += term.stride * coefficient;
    result.multiple = std::gcd(result.multiple, coefficient * term.multiple);
  }
  if (form.constant != 0 || !result.scalar)
    result.scalar = add(builder, result.scalar, getIndex(form.constant));
  return result;
}

/// A quotient or remainder, towards minus infinity.
Value ElementEmitter::emitDivision(const Variables::Variable &variable) {
  Value base = toValue(emitIndex(variable.base)), divisor = getIndex(variable.divisor);
  if (isa<VectorType>(base.getType()))
    divisor = toVector(divisor);
  auto range = plan.variables.getRange(variable.base);
  bool natural = range && range->first >= 0;
  Value quotient = natural ? arith::DivUIOp::create(builder, base, divisor).getResult()
                           : arith::FloorDivSIOp::create(builder, base, divisor).getResult();
  if (variable.kind == Variables::Quotient)
    return quotient;
  return arith::SubIOp::create(builder, base, arith::MulIOp::create(builder, quotient, divisor));
}

Value ElementEmitter::toValue(const LaneIndex &index) {
  if (index.isUniform())
    return index.scalar;
  Value sum = index.vector ? add(builder, toVector(index.scalar), index.vector) : toVector(index.scalar);
  if (index.stride == 0)
    return sum;
  SmallVector<int64_t> steps;
  for (unsigned lane = 0; lane < lanes; ++lane)
    steps.push_back(lane * index.stride);
  auto type = cast<VectorType>(toVectorType(builder.getIndexType()));
  auto values = DenseIntElementsAttr::get(type, steps);
  return add(builder, sum, arith::ConstantOp::create(builder, type, values));
}

Value ElementEmitter::getAddress(Value base, Type element, Value index) {
  Value offset = arith::IndexCastOp::create(builder, builder.getI64Type(), index);
  return LLVM::GEPOp::create(builder, base.getType(), element, base, ValueRange{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}

/// The greatest power of two that the address of `index` is known to be a multiple of.
int64_t ElementEmitter::getAlignment(Type memory, const LaneIndex &index) const {
  int64_t bytes = memory.getIntOrFloatBitWidth() / 8, place = std::abs(index.multiple) * bytes;
  int64_t known = place == 0 ? alignment : std::min(alignment, place & -place);
  return std::max(bytes, known);
}

/// An element of the lane, or a vector of neighbouring ones.
Value ElementEmitter::loadOne(Value base, Type type, const LaneIndex &index) {
  Type memory = getElementTypeOrSelf(type);
  return LLVM::LoadOp::create(builder, type, getAddress(base, memory, index.scalar), getAlignment(memory, index));
}

/// The place of an element of a kernel with words for floats.
Value ElementEmitter::getPlace(Value base, Type element, Value index) {
  int64_t bytes = wordScale * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  return getAddress(base, builder.getI8Type(), scale(builder, index, bytes));
}

/// WordExpansion replaces the cast.
Value ElementEmitter::loadWord(Value base, Type element, Value index) {
  Value place = getPlace(base, element, index);
  if (!isa<FloatType>(element))
    return fromMemory(builder, LLVM::LoadOp::create(builder, getMemoryType(element), place), element);
  Value word = LLVM::LoadOp::create(builder, builder.getI64Type(), place);
  return UnrealizedConversionCastOp::create(builder, builder.getLoc(), element, word).getResult(0);
}

void ElementEmitter::storeWord(Value base, Value value, Value index) {
  Value place = getPlace(base, value.getType(), index);
  Value word =
      isa<FloatType>(value.getType())
          ? UnrealizedConversionCastOp::create(builder, builder.getLoc(), builder.getI64Type(), value).getResult(0)
          : toMemory(builder, value);
  LLVM::StoreOp::create(builder, word, place);
}

Value ElementEmitter::load(Value base, Type element, const LaneIndex &index) {
  if (wordScale != 0)
    return loadWord(base, element, index.vector ? add(builder, index.scalar, index.vector) : index.scalar);
  Type memory = getMemoryType(element);
  if (index.isUniform())
    return fromMemory(builder, loadOne(base, memory, index), element);
  if (index.stride == 1 && !index.vector)
    return fromMemory(builder, loadOne(base, toVectorType(memory), index), element);
  auto type = cast<VectorType>(toVectorType(memory));
  Value result = arith::ConstantOp::create(builder, type, builder.getZeroAttr(type));
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value position = add(builder, index.scalar, lane * index.stride ? getIndex(lane * index.stride) : Value());
    if (index.vector)
      position = add(builder, position, vector::ExtractOp::create(builder, index.vector, int64_t(lane)));
    result = vector::InsertOp::create(builder, loadOne(base, memory, {position, {}, 0}), result, int64_t(lane));
  }
  return fromMemory(builder, result, element);
}

void ElementEmitter::storeOne(Value base, Value value, const LaneIndex &index) {
  Type memory = getElementTypeOrSelf(value.getType());
  LLVM::StoreOp::create(builder, value, getAddress(base, memory, index.scalar), getAlignment(memory, index));
}

void ElementEmitter::store(Value base, Value value, const LaneIndex &index) {
  if (wordScale != 0)
    return storeWord(base, value, index.scalar);
  value = toMemory(builder, toVector(value));
  if (lanes == 1 || (index.stride == 1 && !index.vector))
    return storeOne(base, value, index);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value position = add(builder, index.scalar, lane * index.stride ? getIndex(lane * index.stride) : Value());
    if (index.vector)
      position = add(builder, position, vector::ExtractOp::create(builder, index.vector, int64_t(lane)));
    storeOne(base, vector::ExtractOp::create(builder, value, int64_t(lane)), {position, {}, 0});
  }
}

LinearForm ElementEmitter::getPositionInRow() const {
  LinearForm position;
  int64_t stride = 1;
  for (unsigned loop : llvm::reverse(ArrayRef(plan.loops).drop_front(plan.numRowLoops))) {
    position = position + LinearForm::variable(loop) * stride;
    stride *= plan.variables[loop].extent;
  }
  return position;
}

Value ElementEmitter::emitNode(Node *node) {
  if (Value value = rowValues.lookup(node))
    return value;
  if (Value value = columnValues.lookup(node))
    return value;
  Value value;
  auto buffer = kept.find(node);
  if (const Store *there = stored.lookup(node)) {
    unsigned argument = numInputs + there->output;
    value = load(pointers[argument], types[argument].getElementType(), emitIndex(there->position));
  } else if (buffer == kept.end()) {
    value = computeNode(node);
  } else {
    LinearForm position = getPositionInRow();
    Type element = getElementTypeOrSelf(node->yielded.getType());
    if (buffer->second.second < currentStage) {
      value = load(buffer->second.first, element, emitIndex(position));
    } else {
      value = computeNode(node);
      store(buffer->second.first, value, emitIndex(position));
    }
  }
  (inColumns ? columnValues : rowValues)[node] = value;
  return value;
}

Value ElementEmitter::computeNode(Node *node) {
  switch (node->kind) {
  case Node::Load:
    return load(pointers[node->index], types[node->index].getElementType(), emitIndex(node->position));
  case Node::RowResult:
    return rowResults[node->index];
  case Node::Compute:
    if (Value piece = emitPiece(node))
      return piece;
    return cloneBody(node);
  case Node::Constant:
    break;
  }
  auto constant = node->value.getDefiningOp<arith::ConstantOp>();
  TypedAttr value = constant.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    value = dense.getSplatValue<TypedAttr>();
  return arith::ConstantOp::create(builder, value);
}

namespace {

/// The tensors that a node puts side by side.
struct Pieces {
  /// The dimension, and the index in it at which each of them starts.
  unsigned dim;
  ArrayRef<int64_t> starts;
  /// The index as a form.
  LinearForm index;
};

} // namespace

/// Nothing if the node puts none side by side, or in a way that loops do not show.
static std::optional<Pieces> findPieces(const Node *node) {
  if (node->kind != Node::Compute)
    return std::nullopt;
  auto attribute = node->op->getAttrOfType<DenseI64ArrayAttr>(dist::kPiecesAttrName);
  if (!attribute)
    return std::nullopt;
  ArrayRef<int64_t> numbers = attribute;
  for (auto &[op, form] : node->indexForms)
    if (auto index = dyn_cast<linalg::IndexOp>(op);
        index && index.getDim() == static_cast<uint64_t>(numbers.front()) && form.constant == 0)
      return Pieces{static_cast<unsigned>(numbers.front()), numbers.drop_front(), form};
  return std::nullopt;
}

/// The only piece that the iterations which run now read, of those that begin at `starts` along `index`.
std::optional<unsigned> ElementEmitter::findPiece(ArrayRef<int64_t> starts, const LinearForm &index) const {
  bool isAscending = llvm::all_of(index.terms, [](const auto &term) { return term.second >= 0; });
  auto range = plan.variables.getRange(index, ranges);
  if (!range || !isAscending || !plan.variables.isOfLoops(index))
    return std::nullopt;
  auto getNumber = [&](int64_t at) { return llvm::upper_bound(starts, at) - starts.begin() - 1; };
  if (getNumber(range->first) != getNumber(range->second))
    return std::nullopt;
  return static_cast<unsigned>(getNumber(range->first));
}

SmallVector<int64_t> ElementEmitter::findCuts(unsigned loop, int64_t grain) const {
  constexpr size_t kMostCuts = 8;
  int64_t extent = plan.variables[loop].extent;
  SmallVector<int64_t> cuts = {0};
  for (const auto &node : plan.nodes) {
    std::optional<Pieces> pieces = findPieces(node.get());
    int64_t coefficient = pieces ? pieces->index.getCoefficient(loop) : 0;
    if (coefficient <= 0 || !plan.variables.isOfLoops(pieces->index))
      continue;
    auto others = plan.variables.getRange(pieces->index + LinearForm::variable(loop) * -coefficient);
    // This loop alone says which piece it is.
    if (others && others->first >= 0 && others->second < coefficient &&
        llvm::all_of(pieces->starts, [&](int64_t start) { return start % (coefficient * grain) == 0; }))
      for (int64_t start : pieces->starts)
        cuts.push_back(start / coefficient);
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  if (cuts.size() > kMostCuts)
    cuts = {0};
  cuts.push_back(extent);
  return cuts;
}

/// Reads the only tensor of those that a node puts side by side, at the index in it, and nothing of the others; null if
/// there are several, or the node is none of this kind.
Value ElementEmitter::emitPiece(Node *node) {
  std::optional<Pieces> pieces = findPieces(node);
  std::optional<unsigned> number = pieces ? findPiece(pieces->starts, pieces->index) : std::nullopt;
  if (!number)
    return {};
  auto extracts = node->op.getBody()->getOps<tensor::ExtractOp>();
  tensor::ExtractOp extract = *std::next(extracts.begin(), *number);
  LaneIndex index = emitIndex(pieces->index);
  index.scalar = add(builder, index.scalar, getIndex(-pieces->starts[*number]));
  index.multiple = std::gcd(index.multiple, pieces->starts[*number]);
  // The body clamps it, in two steps.
  for (Value at = extract.getIndices()[pieces->dim];
       isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(at.getDefiningOp()); at = at.getDefiningOp()->getOperand(0))
    bodyValues[{node, at}] = index;
  return emitNode(node->extracts[extract]);
}

Value ElementEmitter::cloneBody(Node *node) {
  IRMapping mapping;
  Block &body = *node->op.getBody();
  for (auto [argument, operand] : llvm::zip(body.getArguments(), node->operands))
    mapping.map(argument, emitNode(operand));
  Operation *combiner = isParallel(node->op) ? nullptr : getCombiner(node->op);
  for (Operation &op : body.without_terminator()) {
    if (&op == combiner)
      continue;
    Value value;
    if (auto index = node->indexForms.find(&op); index != node->indexForms.end())
      value = toValue(emitIndex(index->second));
    else if (auto extract = node->extracts.find(&op); extract != node->extracts.end())
      value = emitNode(extract->second);
    else
      value = cloneOperation(op, mapping);
    mapping.map(op.getResult(0), value);
    bodyValues[{node, op.getResult(0)}] = toLaneIndex(value);
  }
  if (Operation *outside = node->yielded.getDefiningOp(); outside && outside->getBlock() != &body)
    return cloneOperation(*outside, mapping);
  return mapping.lookup(node->yielded);
}

Value ElementEmitter::cloneOperation(Operation &op, IRMapping &mapping) {
  SmallVector<Value> operands;
  bool varies = false;
  for (Value operand : op.getOperands()) {
    Value value = mapping.lookupOrNull(operand);
    // The body takes only constants from outside.
    if (!value)
      value = cloneOperation(*operand.getDefiningOp(), mapping);
    operands.push_back(value);
    varies |= isa<VectorType>(value.getType());
  }
  if (varies)
    for (Value &operand : operands)
      operand = toVector(operand);
  OperationState state(builder.getLoc(), op.getName());
  state.addOperands(operands);
  for (Type type : op.getResultTypes())
    state.addTypes(varies ? toVectorType(type) : type);
  state.addAttributes(op.getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op.getPropertiesAsAttribute();
  return builder.create(state)->getResult(0);
}
