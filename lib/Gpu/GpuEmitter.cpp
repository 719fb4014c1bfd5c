//===- GpuEmitter.cpp - code for one launch of a kernel on a GPU ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the launches with mappings Sums, Rows, Parts and Elements (GpuPlan.h). All have the same structure: place the
// thread, loop over its elements, combine the block's threads as a tree in shared memory, store.
//
//===----------------------------------------------------------------------===//

#include "GpuEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using namespace meshwright::emit;

/// The shared memory that a block has on every GPU without asking for more.
static constexpr int64_t kSharedBytes = 48 << 10;

/// Bytes of one element in shared memory.
static int64_t getBytes(Type element) { return getMemoryType(element).getIntOrFloatBitWidth() / 8; }
static Type getElement(const Reduction &reduction) { return getElementTypeOrSelf(reduction.neutral.getType()); }

GpuEmitter::GpuEmitter(const KernelPlan &plan, GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder,
                       ValueRange pointers, ArrayRef<RankedTensorType> types, unsigned numInputs, int64_t alignment)
    : ElementEmitter(plan, builder, pointers, types, numInputs), launch(launch), machine(machine) {
  this->alignment = std::min(alignment, kVectorBytes);
  if (launch.lanes > 1)
    laneLoop = plan.loops.back();
  // Accumulations have launches of their own.
  for (Stage &stage : stages)
    llvm::erase_if(stage.reductions, [&](unsigned index) { return !llvm::is_contained(launch.reductions, index); });
  for (unsigned index : launch.stored)
    stored[plan.stores[index].node] = &plan.stores[index];
}

void GpuEmitter::emit() {
  placeThread();
  switch (launch.mapping) {
  case GpuLaunchPlan::Elements:
    return emitElements();
  case GpuLaunchPlan::Rows:
    return emitRows();
  case GpuLaunchPlan::Sums:
    return emitSums();
  case GpuLaunchPlan::Parts:
    return emitParts();
  case GpuLaunchPlan::Serial:
  case GpuLaunchPlan::Copy:
  case GpuLaunchPlan::Scatter:
  case GpuLaunchPlan::Search:
    llvm_unreachable("launches of other emitters");
  }
}

/// Computes the element of the thread, and its number among that element's threads. Threads past the last element
/// compute nothing, but go through the barriers of their block.
void GpuEmitter::placeThread() {
  thread = machine.getThread(builder);
  Value block = machine.getBlock(builder);
  Value divisor = getIndex(launch.outerFirst ? launch.width : launch.depth);
  Value quotient = arith::DivUIOp::create(builder, thread, divisor);
  Value remainder = arith::RemUIOp::create(builder, thread, divisor);
  slot = launch.outerFirst ? remainder : quotient;
  first = lane = launch.outerFirst ? quotient : remainder;
  if (launch.parts > 1) {
    // Neighbouring blocks read neighbouring memory.
    Value groups = getIndex(launch.getNumGroups());
    part = arith::DivUIOp::create(builder, block, groups);
    block = arith::RemUIOp::create(builder, block, groups);
    first = arith::AddIOp::create(builder, lane, arith::MulIOp::create(builder, part, getIndex(launch.depth)));
  }
  outer = arith::AddIOp::create(builder, arith::MulIOp::create(builder, block, getIndex(launch.width)), slot);
  if (launch.numOuter % launch.width != 0) {
    valid = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, outer, getIndex(launch.numOuter));
    outer = arith::MinUIOp::create(builder, outer, getIndex(launch.numOuter - 1));
  }
}

/// The end of what the thread goes through: `end`, and before everything if it has no element.
Value GpuEmitter::getLimit(int64_t end) {
  return valid ? arith::SelectOp::create(builder, valid, getIndex(end), getIndex(0)).getResult() : getIndex(end);
}

void GpuEmitter::emitIf(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// Computes all elements before it stores any, because an output may share memory with an input.
void GpuEmitter::emitStores(ArrayRef<unsigned> stores) {
  SmallVector<Value> elements;
  for (unsigned index : stores)
    elements.push_back(emitNode(plan.stores[index].node));
  for (auto [index, element] : llvm::zip_equal(stores, elements))
    store(pointers[numInputs + plan.stores[index].output], element, emitIndex(plan.stores[index].position));
}

void GpuEmitter::emitElements() {
  emitIf(valid, [&] {
    lanes = launch.lanes;
    setLoops(launch.outer, outer);
    emitStores(launch.stores);
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

SmallVector<Value> GpuEmitter::getNeutrals(ArrayRef<unsigned> reductions) {
  SmallVector<Value> neutrals;
  for (unsigned index : reductions)
    neutrals.push_back(arith::ConstantOp::create(builder, plan.reductions[index].neutral));
  return neutrals;
}

/// The address `bytes` after the start of shared memory; the start is computed once, outside of all loops.
Value GpuEmitter::getSharedAt(int64_t bytes) {
  if (!shared)
    shared = machine.getShared(builder);
  launch.sharedBytes = std::max<int64_t>(launch.sharedBytes, bytes);
  return LLVM::GEPOp::create(builder, shared.getType(), builder.getI8Type(), shared,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

/// Adds the partial sums of an element's threads as a tree; all threads get the result.
SmallVector<Value> GpuEmitter::combineThreads(ArrayRef<unsigned> reductions, ArrayRef<Value> partial) {
  if (launch.depth == 1 || reductions.empty())
    return SmallVector<Value>(partial);
  unsigned stride = launch.outerFirst ? launch.width : 1;
  SmallVector<Value> places;
  int64_t bytes = 0;
  for (auto [index, value] : llvm::zip_equal(reductions, partial)) {
    places.push_back(getSharedAt(bytes));
    bytes += llvm::alignTo(launch.getNumThreads() * getBytes(getElement(plan.reductions[index])), 16);
    store(places.back(), value, {thread, {}, 0});
  }
  launch.sharedBytes = std::max(launch.sharedBytes, bytes);
  emitBarrierOfRow();
  for (unsigned half = launch.depth / 2; half > 0; half /= 2) {
    Value isLower = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, lane, getIndex(half));
    emitIf(isLower, [&] {
      Value partner = arith::AddIOp::create(builder, thread, getIndex(int64_t(half) * stride));
      for (auto [index, place] : llvm::zip_equal(reductions, places)) {
        Type element = getElement(plan.reductions[index]);
        Value mine = load(place, element, {thread, {}, 0}), other = load(place, element, {partner, {}, 0});
        store(place, combine(plan.reductions[index], mine, other), {thread, {}, 0});
      }
    });
    emitBarrierOfRow();
  }
  Value lowest =
      arith::SubIOp::create(builder, thread, arith::MulIOp::create(builder, lane, getIndex(stride)).getResult());
  SmallVector<Value> sums;
  for (auto [index, place] : llvm::zip_equal(reductions, places))
    sums.push_back(load(place, getElement(plan.reductions[index]), {lowest, {}, 0}));
  // The memory is used again by the next stage.
  emitBarrierOfRow();
  return sums;
}

/// A barrier for the threads of the row or sum, at least.
void GpuEmitter::emitBarrierOfRow() {
  if (!launch.outerFirst && launch.depth <= kWarp)
    machine.emitWarpBarrier(builder);
  else
    machine.emitBarrier(builder);
}

/// Keeps elements that are expensive and needed in several stages in shared memory, after the part for reductions, as
/// long as there is room. A thread reads only elements that it wrote itself.
void GpuEmitter::chooseKept() {
  int64_t bytes = 0;
  for (const Stage &stage : stages) {
    int64_t needed = 0;
    for (unsigned index : stage.reductions)
      needed += llvm::alignTo(launch.getNumThreads() * getBytes(getElement(plan.reductions[index])), 16);
    bytes = std::max(bytes, needed);
  }
  for (auto [node, first] : findRepeated()) {
    auto size = static_cast<int64_t>(
        llvm::alignTo(launch.numInner * getBytes(getElementTypeOrSelf(node->yielded.getType())), kVectorBytes));
    int64_t end = bytes + launch.width * size;
    if (end > kSharedBytes)
      continue;
    Value row = arith::MulIOp::create(builder, slot, getIndex(size));
    Value offset = arith::IndexCastUIOp::create(builder, builder.getI64Type(), row);
    Value start = getSharedAt(bytes);
    kept[node] = {LLVM::GEPOp::create(builder, start.getType(), builder.getI8Type(), start, ValueRange{offset}), first};
    bytes = launch.sharedBytes = end;
  }
}

void GpuEmitter::emitRows() {
  setLoops(launch.outer, outer);
  chooseKept();
  for (auto [index, stage] : llvm::enumerate(stages)) {
    currentStage = index;
    if (!stage.empty())
      emitStage(stage);
  }
  currentStage = stages.size();
  if (launch.parts == 1)
    return emitRowStores();
  SmallVector<Value> sums;
  for (unsigned index : launch.reductions)
    sums.push_back(rowResults[index]);
  leaveParts(sums);
}

void GpuEmitter::emitStage(const Stage &stage) {
  prepareRowNodes(getRoots(stage));
  for (auto [index, sum] : llvm::zip_equal(stage.reductions, reduceColumns(stage)))
    rowResults[index] = sum;
}

/// Goes through the thread's groups of `lanes` elements, of those from `from` to before `to`.
SmallVector<Value> GpuEmitter::reduceSteps(const Stage &stage, int64_t from, int64_t to, ArrayRef<Value> carried) {
  Value begin = from == 0 ? first : arith::AddIOp::create(builder, first, getIndex(from)).getResult();
  auto loop = buildLoop(builder, begin, getLimit(to), getIndex(launch.depth * launch.parts), carried,
                        [&](Value iv, ValueRange carried) {
                          setLoops(launch.inner, iv);
                          return emitColumn(stage, carried);
                        });
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// Reduces the block's part of a row or sum; all its threads get the result.
SmallVector<Value> GpuEmitter::reduceColumns(const Stage &stage) {
  lanes = launch.lanes;
  SmallVector<Value> sums =
      llvm::map_to_vector(getNeutrals(stage.reductions), [&](Value sum) { return toVector(sum); });
  sums = reduceSteps(stage, 0, launch.getNumSteps(), sums);
  lanes = 1;
  for (auto [index, sum] : llvm::zip_equal(stage.reductions, sums))
    sum = sumLanes(plan.reductions[index], sum);
  if (int64_t grouped = launch.getNumSteps() * launch.lanes; grouped != launch.numInner)
    sums = reduceSteps(stage, grouped, launch.numInner, sums);
  return combineThreads(stage.reductions, sums);
}

/// One element: computes everything before it stores anything.
SmallVector<Value> GpuEmitter::emitColumn(const Stage &stage, ValueRange carried) {
  columnValues.clear();
  inColumns = true;
  SmallVector<Value> sums;
  for (auto [index, sum] : llvm::zip_equal(stage.reductions, carried))
    sums.push_back(combine(plan.reductions[index], sum, toVector(emitNode(plan.reductions[index].input))));
  emitStores(stage.stores);
  inColumns = false;
  return sums;
}

void GpuEmitter::forFirstThread(function_ref<void()> body) {
  Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, lane, getIndex(0));
  if (valid)
    isFirst = arith::AndIOp::create(builder, isFirst, valid);
  emitIf(isFirst, body);
}

/// The first thread of a row stores what is known at its end. An output may be where an input was that all threads of
/// the row have read: there is a barrier between, because then the row has a reduction, or another launch.
void GpuEmitter::emitRowStores() {
  SmallVector<unsigned> stores;
  for (unsigned index : launch.stores)
    if (!plan.isColumn(plan.stores[index].position))
      stores.push_back(index);
  if (stores.empty())
    return;
  columnValues.clear();
  forFirstThread([&] { emitStores(stores); });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void GpuEmitter::emitSums() {
  setLoops(launch.outer, outer);
  Stage stage;
  stage.reductions = launch.reductions;
  SmallVector<Value> sums = reduceColumns(stage);
  if (launch.parts > 1)
    leaveParts(sums);
  else
    forFirstThread([&] { storeSums(sums); });
}

/// Stores accumulations, which are outputs as they are.
void GpuEmitter::storeSums(ValueRange sums) {
  for (auto [index, sum] : llvm::zip_equal(launch.reductions, sums)) {
    const Reduction &reduction = plan.reductions[index];
    store(pointers[numInputs + *reduction.output], sum, emitIndex(reduction.position));
  }
}

//===----------------------------------------------------------------------===//
// Parts of sums
//===----------------------------------------------------------------------===//

/// The addresses of the parts of each reduction in scratch memory, one reduction after the other.
SmallVector<Value> GpuEmitter::getScratchPlaces(int64_t parts) {
  SmallVector<Value> places;
  for (unsigned index : launch.reductions) {
    places.push_back(LLVM::GEPOp::create(builder, pointers.back().getType(), builder.getI8Type(), pointers.back(),
                                         ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(launch.scratchBytes)}));
    int64_t bytes = launch.numOuter * parts * getBytes(getElement(plan.reductions[index]));
    launch.scratchBytes += llvm::alignTo(bytes, 16);
  }
  return places;
}

/// Places parts so that neighbouring threads of the launch that adds them read neighbouring memory.
ElementEmitter::LaneIndex GpuEmitter::getScratchIndex(Value part, int64_t parts) {
  auto [major, minor, extent] =
      launch.outerFirst ? std::tuple(part, outer, launch.numOuter) : std::tuple(outer, part, parts);
  Value row = arith::MulIOp::create(builder, major, getIndex(extent));
  return {arith::AddIOp::create(builder, row, minor), {}, 0};
}

/// Stores the block's part by its first thread, for the following launch of Parts.
void GpuEmitter::leaveParts(ValueRange sums) {
  SmallVector<Value> places = getScratchPlaces(launch.parts);
  forFirstThread([&] {
    LaneIndex index = getScratchIndex(part, launch.parts);
    for (auto [place, sum] : llvm::zip_equal(places, sums))
      store(place, sum, index);
  });
}

/// Adds the parts that blocks have left, as if they were elements.
void GpuEmitter::emitParts() {
  setLoops(launch.outer, outer);
  SmallVector<Value> places = getScratchPlaces(launch.numInner);
  auto loop = buildLoop(builder, first, getLimit(launch.numInner), getIndex(launch.depth),
                        getNeutrals(launch.reductions), [&](Value iv, ValueRange carried) {
                          LaneIndex index = getScratchIndex(iv, launch.numInner);
                          SmallVector<Value> sums;
                          for (auto [which, place, sum] : llvm::zip_equal(launch.reductions, places, carried)) {
                            const Reduction &reduction = plan.reductions[which];
                            sums.push_back(combine(reduction, sum, load(place, getElement(reduction), index)));
                          }
                          return sums;
                        });
  SmallVector<Value> sums = combineThreads(launch.reductions, llvm::to_vector_of<Value>(loop.getResults()));
  if (!plan.reductions[launch.reductions.front()].row)
    return forFirstThread([&] { storeSums(sums); });
  for (auto [index, sum] : llvm::zip_equal(launch.reductions, sums))
    rowResults[index] = sum;
  emitRowStores();
}
