//===- LoopEmitter.cpp - loops of a kernel on a CPU -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes one loop nest per stage of the plan, and vectors along the innermost loop with a scalar rest. A loop through
// tensors that are put side by side is one loop for each of them. See the class for the order of additions.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/LoopEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using namespace meshwright::emit;

/// Rows larger than this are computed again rather than kept on the stack.
static constexpr int64_t kMaxKeptBytes = 1 << 20;

unsigned emit::getNumLanes(int64_t extent) {
  unsigned lanes = 16;
  while (lanes > extent)
    lanes /= 2;
  return std::max(lanes, 1u);
}

/// True if the sum is carried in registers along the innermost loop instead of in memory.
bool LoopEmitter::isCarried(const Reduction &reduction) const {
  return reduction.row ||
         (laneLoop && plan.variables.isOfLoops(reduction.position) && !reduction.position.uses(*laneLoop));
}

/// True if a carried accumulator is an integer with the order of the floats.
bool LoopEmitter::isOfIntegers(const Reduction &reduction) const {
  return width > 1 && reduction.neutral.getType().isF32() &&
         isa<arith::MaximumFOp, arith::MinimumFOp>(reduction.combiner);
}

static bool isMaximum(const Reduction &reduction) { return isa<arith::MaximumFOp>(reduction.combiner); }

/// `type`, or its vectors with as many lanes as `value`.
static Type getTypeLike(Value value, Type type) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? VectorType::get(vector.getShape(), type) : type;
}

static Value getConstantLike(LoopBuilder &builder, Value value, int32_t number) {
  Type type = getTypeLike(value, builder.getI32Type());
  TypedAttr attribute = builder.getI32IntegerAttr(number);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, number);
  return arith::ConstantOp::create(builder, attribute);
}

/// The bits of floats as integers with the order of the floats, and back: magnitudes of negative ones are complemented.
static Value exchangeOrder(LoopBuilder &builder, Value bits) {
  constexpr int32_t magnitude = std::numeric_limits<int32_t>::max();
  Value sign = arith::ShRSIOp::create(builder, bits, getConstantLike(builder, bits, 31));
  Value negative = arith::AndIOp::create(builder, sign, getConstantLike(builder, bits, magnitude));
  return arith::XOrIOp::create(builder, bits, negative);
}

/// Integers with the order of floats, and NaN at the end of it that the reduction looks for.
static Value toOrder(LoopBuilder &builder, const Reduction &reduction, Value value) {
  using Limits = std::numeric_limits<int32_t>;
  Value bits = arith::BitcastOp::create(builder, getTypeLike(value, builder.getI32Type()), value);
  Value isNaN = arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, value, value);
  Value last = getConstantLike(builder, value, isMaximum(reduction) ? Limits::max() : Limits::min());
  return arith::SelectOp::create(builder, isNaN, last, exchangeOrder(builder, bits));
}

/// Adds the accumulators of a carried reduction before the first element: that of the lanes, and that of the rest.
void LoopEmitter::addAccumulators(const Reduction &reduction, SmallVectorImpl<Value> &carried) {
  for (unsigned step : {width, 1u}) {
    lanes = step;
    Value neutral = toVector(arith::ConstantOp::create(builder, reduction.neutral));
    carried.push_back(isOfIntegers(reduction) ? toOrder(builder, reduction, neutral) : neutral);
  }
}

/// Combines a carried accumulator with elements.
Value LoopEmitter::accumulate(const Reduction &reduction, Value sum, Value elements) {
  if (!isOfIntegers(reduction))
    return combine(reduction, sum, elements);
  Value order = toOrder(builder, reduction, elements);
  if (isMaximum(reduction))
    return arith::MaxSIOp::create(builder, sum, order);
  return arith::MinSIOp::create(builder, sum, order);
}

/// The result of the accumulators of the lanes and of the one for the rest of the loop.
Value LoopEmitter::finish(const Reduction &reduction, Value sum, Value rest) {
  if (width == 1)
    return sum;
  if (!isOfIntegers(reduction))
    return combine(reduction, sumLanes(reduction, sum), rest);
  auto kind = isMaximum(reduction) ? vector::CombiningKind::MAXSI : vector::CombiningKind::MINSI;
  Value order = vector::ReductionOp::create(builder, kind, sum, rest);
  return arith::BitcastOp::create(builder, builder.getF32Type(), exchangeOrder(builder, order));
}

/// Lanes must not meet in memory: where a position is not linear, elements are computed one by one.
unsigned LoopEmitter::chooseWidth() const {
  if (!laneLoop)
    return 1;
  for (const Reduction &reduction : plan.reductions)
    if (reduction.output && !plan.variables.isOfLoops(reduction.position))
      return 1;
  return getStep(plan.variables[*laneLoop].extent);
}

void LoopEmitter::emit() {
  if (plan.loops.size() > plan.numRowLoops)
    laneLoop = plan.loops.back();
  width = chooseWidth();
  if (vectors)
    chooseKept();
  initializeAccumulations();
  emitRows(0);
}

void LoopEmitter::emitPart(const Division &division, Value firstIteration, Value endOfThem) {
  auto toIndex = [&](Value number) {
    return arith::IndexCastOp::create(builder, builder.getIndexType(), number).getResult();
  };
  divided = division.loop;
  first = toIndex(firstIteration);
  end = toIndex(endOfThem);
  emit();
}

/// The loop over a variable of the plan from `from` to before `to`. If it is divided, `from` is 0, and only those of
/// its iterations run that are of the part.
scf::ForOp LoopEmitter::buildLoopOf(unsigned variable, int64_t from, int64_t to, int64_t step, ValueRange carried,
                                    LoopBody body) {
  if (divided != variable)
    return buildLoop(builder, from, to, step, carried, body);
  Value upper = end;
  if (to != plan.variables[variable].extent)
    upper = arith::MinSIOp::create(builder, end, getIndex(to));
  return buildLoop(builder, first, upper, getIndex(step), carried, body);
}

/// Calls `emit` for the pieces of a loop, each from `from` to before `to`; once if it is divided.
void LoopEmitter::forEachPiece(unsigned variable, int64_t grain, function_ref<void(int64_t from, int64_t to)> emit) {
  if (divided == variable)
    return emit(0, plan.variables[variable].extent);
  SmallVector<int64_t> cuts = findCuts(variable, grain);
  for (size_t next = 1; next < cuts.size(); ++next) {
    ranges[variable] = {cuts[next - 1], cuts[next]};
    emit(cuts[next - 1], cuts[next]);
  }
  ranges.erase(variable);
}

/// All iterations of a loop that is neither innermost nor in vectors, piece by piece.
SmallVector<Value> LoopEmitter::buildLoopInPieces(unsigned variable, ArrayRef<Value> carried, LoopBody body) {
  SmallVector<Value> values(carried);
  forEachPiece(variable, 1, [&](int64_t from, int64_t to) {
    scf::ForOp loop = buildLoopOf(variable, from, to, 1, values, body);
    values.assign(loop.getResults().begin(), loop.getResults().end());
  });
  return values;
}

void LoopEmitter::emitOneByOne() {
  vectors = false;
  emit();
}

void LoopEmitter::emitWords(int64_t scale) {
  wordScale = scale;
  emitOneByOne();
}

/// Elements that are expensive and needed in several stages get a buffer of one row.
void LoopEmitter::chooseKept() {
  int64_t bytes = 0, columns = plan.getNumColumns();
  for (auto [node, first] : findRepeated()) {
    Type memory = getMemoryType(getElementTypeOrSelf(node->yielded.getType()));
    bytes += columns * memory.getIntOrFloatBitWidth() / 8;
    if (bytes > kMaxKeptBytes)
      return;
    Value size = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(columns));
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    kept[node] = {LLVM::AllocaOp::create(builder, pointer, memory, size, /*alignment=*/64), first};
  }
}

/// Initializes the elements that the iterations of the part add to, and no others.
void LoopEmitter::initializePart(const Reduction &reduction, ArrayRef<unsigned> loops) {
  if (loops.empty()) {
    Value neutral = arith::ConstantOp::create(builder, reduction.neutral);
    return store(pointers[numInputs + *reduction.output], neutral, emitIndex(reduction.position));
  }
  unsigned variable = loops.front();
  if (!reduction.position.uses(variable))
    return initializePart(reduction, loops.drop_front());
  buildLoopOf(variable, 0, plan.variables[variable].extent, 1, {}, [&](Value iv, ValueRange) -> SmallVector<Value> {
    ivs[variable] = iv;
    initializePart(reduction, loops.drop_front());
    return {};
  });
}

void LoopEmitter::initializeAccumulations() {
  for (const Reduction &reduction : plan.reductions) {
    if (!reduction.output)
      continue;
    if (divided) {
      initializePart(reduction, plan.loops);
      continue;
    }
    unsigned argument = numInputs + *reduction.output;
    int64_t elements = types[argument].getNumElements();
    auto fill = [&](int64_t from, int64_t to, unsigned step) {
      if (from == to)
        return;
      buildLoop(builder, from, to, step, {}, [&](Value iv, ValueRange) -> SmallVector<Value> {
        lanes = step;
        LaneIndex index{iv, {}, 1};
        Value neutral = arith::ConstantOp::create(builder, reduction.neutral);
        store(pointers[argument], toVector(neutral), index);
        return {};
      });
    };
    unsigned step = getStep(elements);
    fill(0, elements / step * step, step);
    fill(elements / step * step, elements, 1);
  }
  lanes = 1;
}

void LoopEmitter::emitRows(unsigned loop) {
  if (loop == plan.numRowLoops)
    return emitStages();
  unsigned variable = plan.loops[loop];
  buildLoopInPieces(variable, {}, [&](Value iv, ValueRange) -> SmallVector<Value> {
    ivs[variable] = iv;
    emitRows(loop + 1);
    return {};
  });
}

void LoopEmitter::emitStages() {
  rowValues.clear();
  for (auto [index, stage] : llvm::enumerate(stages)) {
    currentStage = index;
    if (stage.empty())
      continue;
    prepareRowNodes(getRoots(stage));
    // One accumulator per lane and one for the rest of every row reduction.
    SmallVector<Value> carried;
    for (unsigned reduction : stage.reductions) {
      if (!plan.reductions[reduction].row)
        continue;
      addAccumulators(plan.reductions[reduction], carried);
    }
    carried = emitColumns(stage, plan.numRowLoops, carried);
    size_t next = 0;
    for (unsigned reduction : stage.reductions) {
      if (!plan.reductions[reduction].row)
        continue;
      rowResults[reduction] = finish(plan.reductions[reduction], carried[next], carried[next + 1]);
      next += 2;
    }
  }
  currentStage = stages.size();
  emitRowStores();
}

/// Once per row, when the row is done: an output may be where an input was that is read until then, by what the other
/// outputs are made of too.
void LoopEmitter::emitRowStores() {
  SmallVector<const Store *> stores;
  SmallVector<Value> elements;
  columnValues.clear();
  for (const Store &store : plan.stores) {
    if (plan.isColumn(store.position))
      continue;
    stores.push_back(&store);
    elements.push_back(emitNode(store.node));
  }
  for (auto [store, element] : llvm::zip_equal(stores, elements))
    this->store(pointers[numInputs + store->output], element, emitIndex(store->position));
}

SmallVector<Value> LoopEmitter::emitColumns(const Stage &stage, unsigned loop, ArrayRef<Value> carried) {
  if (loop == plan.loops.size()) {
    lanes = 1;
    columnValues.clear();
    return emitElements(stage, carried);
  }
  if (loop + 1 == plan.loops.size())
    return emitInnermost(stage, carried);
  unsigned variable = plan.loops[loop];
  return buildLoopInPieces(variable, carried, [&](Value iv, ValueRange args) {
    ivs[variable] = iv;
    return emitColumns(stage, loop + 1, llvm::to_vector(args));
  });
}

/// The innermost loop in vectors, then its rest in scalars. Sums that stay in one place along it join the carried ones.
SmallVector<Value> LoopEmitter::emitInnermost(const Stage &stage, ArrayRef<Value> carried) {
  SmallVector<Value> values(carried);
  for (unsigned index : stage.reductions) {
    const Reduction &reduction = plan.reductions[index];
    if (reduction.row || !isCarried(reduction))
      continue;
    addAccumulators(reduction, values);
  }
  auto emitBody = [&](unsigned step) {
    return [&, step](Value iv, ValueRange args) {
      ivs[*laneLoop] = iv;
      lanes = step;
      columnValues.clear();
      SmallVector<Value> results = emitElements(stage, llvm::to_vector(args));
      lanes = 1;
      return results;
    };
  };
  // Pieces begin at multiples of the width, so the lanes are those of one loop.
  forEachPiece(*laneLoop, width, [&](int64_t from, int64_t to) {
    int64_t main = to / width * width;
    if (main != from) {
      auto loop = buildLoopOf(*laneLoop, from, main, width, values, emitBody(width));
      values.assign(loop.getResults().begin(), loop.getResults().end());
    }
    if (main != to && divided == *laneLoop) {
      // The rest is shorter than a grain, so it is the last part's; no sum is carried along a divided loop.
      Value isLast = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, end, getIndex(main));
      auto last = scf::IfOp::create(builder, isLast, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(last.thenBlock());
      buildLoop(builder, main, to, 1, {}, emitBody(1));
    } else if (main != to) {
      auto loop = buildLoop(builder, main, to, 1, values, emitBody(1));
      values.assign(loop.getResults().begin(), loop.getResults().end());
    }
  });

  size_t next = carried.size();
  for (unsigned index : stage.reductions) {
    const Reduction &reduction = plan.reductions[index];
    if (reduction.row || !isCarried(reduction))
      continue;
    Value sum = finish(reduction, values[next], values[next + 1]);
    next += 2;
    unsigned argument = numInputs + *reduction.output;
    LaneIndex at = emitIndex(reduction.position);
    Value old = load(pointers[argument], types[argument].getElementType(), at);
    store(pointers[argument], combine(reduction, old, sum), at);
  }
  values.truncate(carried.size());
  return values;
}

/// One iteration: everything is computed before anything is stored, because an output may be where an input was.
SmallVector<Value> LoopEmitter::emitElements(const Stage &stage, ArrayRef<Value> carried) {
  SmallVector<Value> results(carried), elements;
  inColumns = true;
  for (Node *root : getRoots(stage))
    elements.push_back(emitNode(root));
  inColumns = false;
  size_t next = 0, element = 0, memory = 0;
  for (unsigned index : stage.reductions)
    memory += plan.reductions[index].row ? 2 : 0;
  for (unsigned index : stage.reductions) {
    const Reduction &reduction = plan.reductions[index];
    Value value = toVector(elements[element++]);
    if (isCarried(reduction)) {
      size_t &slot = reduction.row ? next : memory;
      // The accumulator per lane, or the one for the rest.
      size_t which = slot + (lanes == width ? 0 : 1);
      results[which] = accumulate(reduction, results[which], value);
      slot += 2;
      continue;
    }
    unsigned argument = numInputs + *reduction.output;
    LaneIndex at = emitIndex(reduction.position);
    Value old = load(pointers[argument], types[argument].getElementType(), at);
    store(pointers[argument], combine(reduction, toVector(old), value), at);
  }
  for (unsigned index : stage.stores)
    store(pointers[numInputs + plan.stores[index].output], elements[element++], emitIndex(plan.stores[index].position));
  return results;
}
