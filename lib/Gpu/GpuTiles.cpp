//===- GpuTiles.cpp - attention by tiles on a GPU -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads hold matrices as the tensor cores take them (`mma.sync.m16n8k16`, PTX ISA, "Matrix Fragments for
// mma.m16n8k16"): thread 4 g + t of a warp has, of a 16 × 8 matrix of sums, columns 2 t and 2 t + 1 of rows g and g
// + 8. Two such matrices side by side, rounded to 16 bits, are the left operand of the next product without a move.
//
// Everything between the products is written by ElementEmitter for one element at a time. What changes along the outer
// axis alone, as a row's maximum does, is loaded before the loop along the inner one.
//
//===----------------------------------------------------------------------===//

#include "GpuTiles.h"
#include "GpuWriter.h"
#include "TileElements.h"
#include "meshwright/Support/Bytes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <deque>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;
using schedule::LinearForm;
using schedule::Node;
using schedule::PlannedValues;
using schedule::Reduction;
using schedule::ScoreOperand;
using schedule::ScorePass;
using schedule::ScoreProduct;
using schedule::ScoreTarget;

/// The warps of a block, and the indices of the outer axis that each of them has.
static constexpr int64_t kWarps = 4, kOuterOfWarp = 16, kOuter = kWarps * kOuterOfWarp, kThreads = kWarps * kWarp;
static_assert(kOuter == dist::kRowsOfVisible);
/// The sizes of the matrices that a tensor core multiplies: the columns of its result, and what it contracts.
static constexpr int64_t kColumns = 8, kContracted = 16;
/// A thread has elements of two rows of a result, with two in each.
static constexpr unsigned kSlots = 2, kPair = 2;
/// The 16-bit floats that a thread loads at a time, and those after every row of shared memory, so that the rows which
/// a warp reads together lie in different banks.
static constexpr int64_t kVector = kVectorBytes / 2, kPadding = 8;
/// The registers that operands and sums may take, of 255.
static constexpr int64_t kMostRegisters = 144;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

std::optional<GpuTiles> GpuTiles::match(dist::KernelOp kernel, int64_t alignment) {
  if (!kernel.getScores())
    return std::nullopt;
  GpuTiles found;
  found.kernel = kernel;
  found.alignment = alignment;
  found.plan = schedule::ScorePlan::create(kernel);
  if (!found.plan)
    return std::nullopt;
  ValueRange results = kernel.getBody().front().getTerminator()->getOperands();
  for (const ScorePass &pass : found.plan->passes)
    for (const ScoreTarget &target : pass.targets) {
      Value value = target.op->getResult(0);
      Place &place = found.places[value];
      if (auto output = llvm::find(results, value); output != results.end()) {
        place.output = std::distance(results.begin(), output);
        continue;
      }
      place.scratch = found.scratchBytes;
      found.scratchBytes += getSlotBytes(cast<RankedTensorType>(value.getType()));
    }
  return found;
}

std::vector<GpuLaunchPlan> GpuTiles::planLaunches() {
  std::vector<GpuLaunchPlan> launches;
  for (auto [index, pass] : llvm::enumerate(plan->passes)) {
    GpuLaunchPlan launch;
    launch.mapping = GpuLaunchPlan::Tiles;
    launch.pass = index;
    launch.numOuter = llvm::divideCeil(pass.getExtent(pass.outer), kOuter);
    for (unsigned loop : pass.grid)
      launch.numOuter *= pass.getExtent(loop);
    launch.numInner = pass.getExtent(pass.inner);
    launch.depth = kThreads;
    launch.scratchBytes = scratchBytes;
    launches.push_back(launch);
  }
  return launches;
}

//===----------------------------------------------------------------------===//
// The code
//===----------------------------------------------------------------------===//

namespace meshwright::emit {

/// Writes what a thread does in one pass.
class TileWriter : GpuWriter {
public:
  TileWriter(GpuTiles &tiles, GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder,
             ValueRange pointers);

  void emit();

private:
  /// A matrix of 16-bit floats in shared memory: its rows are those of a tile, or, transposed, those of its depth.
  struct Matrix {
    const ScoreOperand *operand;
    std::unique_ptr<TileElements> elements;
    /// Elements from one row to the next, and the byte where the matrix begins.
    int64_t pitch, begin;
  };
  /// The two elements of a thread in each of its two rows of a result.
  using Fragment = SmallVector<Value>;
  /// For each eight columns of scores, as operands of 16 bits, a word of each row.
  using Words = SmallVector<SmallVector<Value>>;

  ValueRange addPointers(const PlannedValues &values);
  Value getAddress(Value value);
  Matrix makeMatrix(const ScoreOperand &operand);
  int64_t getInnerTile() const;
  void placeMatrices();
  void placeThread();
  std::pair<Value, Value> getVisible();
  void setRow(unsigned slot);
  void fixIndices(Matrix &matrix);
  SmallVector<Value> emitAlong(ValueRange sums);
  SmallVector<Value> emitTile(Value first, ValueRange sums);

  Value loadVector(Matrix &matrix, Value along, Value depth, int64_t limit);
  void forChunks(int64_t count, llvm::function_ref<SmallVector<Value>(Value)> load,
                 llvm::function_ref<void(Value, ValueRange)> store);
  void stage(Matrix &matrix, Value first, int64_t rows, int64_t begin);
  void stageTransposed(Matrix &matrix, Value first);
  Value loadWord(Value row, int64_t pitch, int64_t begin, int64_t column);
  SmallVector<Value> loadLeft(Matrix &matrix);
  SmallVector<Value> multiply(Matrix &matrix, ValueRange operand, int64_t column, int64_t step, ValueRange sums);
  Fragment multiplyScores(size_t product, unsigned column);
  void emitElement(ArrayRef<Value> scores, unsigned slot, Value isInside, MutableArrayRef<Value> sums,
                   MutableArrayRef<SmallVector<Value>> factors);
  SmallVector<Words> emitElements(ArrayRef<SmallVector<Fragment>> scores, Value first, MutableArrayRef<Value> sums);
  Value round(Value sum, Type to);
  Value packPair(Value low, Value high);
  SmallVector<Value> multiplyTarget(Matrix &matrix, const Words &words, ValueRange sums);

  SmallVector<Value> getNeutrals();
  void storeReductions(ValueRange sums);
  void storeProduct(const ScoreTarget &target, ValueRange sums);
  Value getZero(Type type) { return arith::ConstantOp::create(builder, builder.getZeroAttr(type)); }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, condition, a, b); }
  Value least(Value a, int64_t b) { return arith::MinUIOp::create(builder, a, getIndex(b)); }
  Value divide(Value a, int64_t b) { return arith::DivUIOp::create(builder, a, getIndex(b)); }
  Value remainder(Value a, int64_t b) { return arith::RemUIOp::create(builder, a, getIndex(b)); }
  Value moveBy(Value address, Value bytes);
  Value getShared(Value byte) { return moveBy(shared, byte); }
  const schedule::KernelPlan &getPlan() const { return *pass.planned.plan; }
  /// The sums of a thread: two of each reduction, then those of each product.
  size_t getNumReductionSums() const { return getPlan().reductions.size() * kSlots; }
  static int64_t getColumnTiles(const ScoreOperand &operand) {
    return llvm::divideCeil(operand.getSize(operand.depth), kColumns);
  }
  /// The neighbours along the depth that are loaded together.
  static int64_t getLanes(const ScoreOperand &operand) {
    return operand.getSize(operand.depth) % kVector == 0 ? kVector : 1;
  }
  static int64_t getSteps(const ScoreOperand &operand) {
    return llvm::divideCeil(operand.getSize(operand.depth), kContracted);
  }

  GpuTiles &tiles;
  const ScorePass &pass;
  std::deque<SmallVector<Value>> addresses;
  TileElements elements;
  /// For each product its operands, for each target that is one what it reads; null for others.
  std::vector<Matrix> outer, inner;
  std::vector<std::optional<Matrix>> values;
  /// The nodes that are reduced, by the number of the reduction, and those that products read, by that of the target.
  SmallVector<Node *> reduced;
  SmallVector<Node *> multiplied;
  int64_t innerTile;
  Value shared, thread, warp, group, quad;
  /// The number of the tile, the first index of the outer axis, and the number of the block among those of the tile.
  Value tile, firstOuter, batch;
  /// The outer indices of the thread, and their elements that do not change along the inner axis.
  Value rows[kSlots];
  llvm::DenseMap<const Node *, Value> prepared[kSlots];
  /// The left operands of the products, in registers.
  std::vector<SmallVector<Value>> left;
};

} // namespace meshwright::emit

TileWriter::TileWriter(GpuTiles &tiles, GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder,
                       ValueRange pointers)
    : GpuWriter(launch, machine, builder, pointers), tiles(tiles), pass(tiles.plan->passes[launch.pass]),
      elements(pass.planned, builder, addPointers(pass.planned), tiles.alignment) {
  for (const ScoreProduct &product : pass.products) {
    outer.push_back(makeMatrix(product.outer));
    inner.push_back(makeMatrix(product.inner));
  }
  for (const ScoreTarget &target : pass.targets)
    values.push_back(target.operand ? std::optional(makeMatrix(*target.operand)) : std::nullopt);
  for (const Reduction &reduction : getPlan().reductions)
    reduced.push_back(reduction.input);
  multiplied.resize(pass.targets.size());
  for (const schedule::Store &store : getPlan().stores)
    if (values[store.output])
      multiplied[store.output] = store.node;
  innerTile = getInnerTile();
}

/// The address of a value that a pass reads; null for scores.
Value TileWriter::getAddress(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return pointers[argument.getArgNumber()];
  auto found = tiles.places.find(value);
  if (found == tiles.places.end())
    return {};
  if (found->second.output)
    return pointers[tiles.kernel.getInputs().size() + *found->second.output];
  return moveBy(pointers.back(), getIndex(found->second.scratch));
}

ValueRange TileWriter::addPointers(const PlannedValues &values) {
  return addresses.emplace_back(llvm::map_to_vector(values.inputs, [&](Value value) { return getAddress(value); }));
}

TileWriter::Matrix TileWriter::makeMatrix(const ScoreOperand &operand) {
  auto made = std::make_unique<TileElements>(operand.planned, builder, addPointers(operand.planned), tiles.alignment);
  if (std::optional<unsigned> depth = operand.getLoop(operand.depth))
    made->setLanes(*depth, getLanes(operand));
  return {&operand, std::move(made), 0, 0};
}

/// 64, if the registers suffice for the scores of so many, else 32.
int64_t TileWriter::getInnerTile() const {
  constexpr int64_t kMost = 64;
  int64_t registers = static_cast<int64_t>(outer.size()) * kMost / 2;
  for (const Matrix &matrix : outer)
    registers += getSteps(*matrix.operand) * 4;
  for (const std::optional<Matrix> &matrix : values)
    registers += matrix ? getColumnTiles(*matrix->operand) * 4 : 0;
  return registers <= kMostRegisters ? kMost : kMost / 2;
}

/// Shared memory has the tiles of the inner axis. Those of the outer one, and sums at the end, use it before and after.
void TileWriter::placeMatrices() {
  int64_t end = 0, most = kSlots * kThreads * 8 * static_cast<int64_t>(reduced.size());
  for (auto [first, second] : llvm::zip(outer, inner)) {
    first.pitch = second.pitch = getSteps(*second.operand) * kContracted + kPadding;
    second.begin = end;
    end += innerTile * second.pitch * 2;
    most = std::max(most, kOuter * first.pitch * 2);
  }
  for (std::optional<Matrix> &matrix : values)
    if (matrix) {
      matrix->pitch = innerTile + kPadding;
      matrix->begin = end;
      end += getColumnTiles(*matrix->operand) * kColumns * matrix->pitch * 2;
    }
  launch.sharedBytes = std::max(end, most);
}

Value TileWriter::moveBy(Value address, Value bytes) {
  Value offset = arith::IndexCastOp::create(builder, builder.getI64Type(), bytes);
  return LLVM::GEPOp::create(builder, address.getType(), builder.getI8Type(), address, ValueRange{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}

void TileWriter::placeThread() {
  shared = machine.getShared(builder);
  thread = machine.getThread(builder);
  warp = divide(thread, kWarp);
  Value lane = remainder(thread, kWarp);
  group = divide(lane, 4);
  quad = remainder(lane, 4);
  int64_t extent = pass.getExtent(pass.outer), numTiles = llvm::divideCeil(extent, kOuter);
  Value block = machine.getBlock(builder);
  tile = remainder(block, numTiles);
  batch = divide(block, numTiles);
  firstOuter = scale(tile, kOuter);
  for (unsigned slot = 0; slot != kSlots; ++slot)
    rows[slot] = add(add(firstOuter, scale(warp, kOuterOfWarp)), add(group, getIndex(slot * kColumns)));
}

/// The elements that are computed next are those of a row of the thread, or of the last row if that is beyond.
void TileWriter::setRow(unsigned slot) {
  elements.setLoop(pass.outer, least(rows[slot], pass.getExtent(pass.outer) - 1));
}

/// The indices of a matrix's other dimensions, in the loops that are set.
void TileWriter::fixIndices(Matrix &matrix) {
  for (auto &[dim, form] : matrix.operand->fixed)
    matrix.elements->setLoop(matrix.operand->getLoop(dim), elements.evaluate(form));
}

/// The tiles of the inner axis that this tile of the outer one reads: the first, and the end.
std::pair<Value, Value> TileWriter::getVisible() {
  int64_t all = llvm::divideCeil(pass.getExtent(pass.inner), innerTile);
  SmallVector<int32_t> bounds;
  bool isLimited = false;
  for (auto [begin, end] : pass.visible) {
    int64_t first = begin / innerTile, last = std::min<int64_t>(llvm::divideCeil(end, innerTile), all);
    isLimited |= first != 0 || last != all;
    bounds.push_back(first);
    bounds.push_back(last);
  }
  if (!isLimited)
    return {getIndex(0), getIndex(all)};
  auto function = builder.getInsertionBlock()->getParent()->getParentOfType<LLVM::LLVMFuncOp>();
  std::string name = (function.getSymName() + "_visible").str();
  OpBuilder outside(function);
  auto type = LLVM::LLVMArrayType::get(builder.getI32Type(), bounds.size());
  LLVM::GlobalOp::create(outside, builder.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                         builder.getI32TensorAttr(bounds));
  Value table = LLVM::AddressOfOp::create(builder, LLVM::LLVMPointerType::get(builder.getContext()), name);
  auto read = [&](int64_t offset) {
    Value bound = load(table, builder.getI32Type(), add(scale(tile, 2), getIndex(offset)));
    return arith::IndexCastUIOp::create(builder, builder.getIndexType(), bound);
  };
  return {read(0), read(1)};
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// Neighbouring elements of a matrix along its depth, or one if it has no whole vectors; zeros beyond its end.
Value TileWriter::loadVector(Matrix &matrix, Value along, Value depth, int64_t limit) {
  const ScoreOperand &operand = *matrix.operand;
  int64_t size = operand.getSize(operand.along), depthSize = operand.getSize(operand.depth);
  matrix.elements->beginElement();
  matrix.elements->setLoop(operand.getLoop(operand.along), least(along, size - 1));
  matrix.elements->setLoop(operand.getLoop(operand.depth), least(depth, depthSize - getLanes(operand)));
  Value value = matrix.elements->emitVector(operand.planned.plan->stores.front().node);
  Value isInside = isLess(depth, getIndex(depthSize));
  if (size % limit != 0)
    isInside = arith::AndIOp::create(builder, isInside, isLess(along, getIndex(size)));
  return select(isInside, value, getZero(value.getType()));
}

/// Divides `count` pieces among the threads: all loads of a thread come before its stores.
void TileWriter::forChunks(int64_t count, function_ref<SmallVector<Value>(Value)> load,
                           function_ref<void(Value, ValueRange)> store) {
  SmallVector<std::pair<Value, SmallVector<Value>>> loaded;
  for (int64_t first = 0; first < count; first += kThreads) {
    Value number = add(thread, getIndex(first));
    loaded.push_back({number, load(first + kThreads > count ? least(number, count - 1) : number)});
  }
  for (auto [index, piece] : llvm::enumerate(loaded)) {
    auto &[number, value] = piece;
    bool isWhole = static_cast<int64_t>(index + 1) * kThreads <= count;
    if (isWhole)
      store(number, value);
    else
      emitIf(isLess(number, getIndex(count)), [&] { store(number, value); });
  }
}

/// Puts `rows` rows of a matrix, from `first` on, side by side into shared memory at byte `begin`.
void TileWriter::stage(Matrix &matrix, Value first, int64_t rows, int64_t begin) {
  int64_t lanes = getLanes(*matrix.operand), pieces = getSteps(*matrix.operand) * kContracted / lanes;
  auto load = [&](Value number) -> SmallVector<Value> {
    return {loadVector(matrix, add(first, divide(number, pieces)), scale(remainder(number, pieces), lanes), rows)};
  };
  auto store = [&](Value number, ValueRange value) {
    Value place = add(scale(divide(number, pieces), matrix.pitch), scale(remainder(number, pieces), lanes));
    LLVM::StoreOp::create(builder, value[0], getShared(add(scale(place, 2), getIndex(begin))), lanes * 2);
  };
  forChunks(rows * pieces, load, store);
}

/// A sum of f32 as an element of a tensor of type `to`.
Value TileWriter::round(Value sum, Type to) {
  Type element = getElementTypeOrSelf(to);
  return element.isF32() ? sum : arith::TruncFOp::create(builder, element, sum).getResult();
}

/// Two 16-bit floats as a word. A pair that was just rounded is rounded together, by one instruction.
Value TileWriter::packPair(Value low, Value high) {
  auto first = low.getDefiningOp<arith::TruncFOp>(), second = high.getDefiningOp<arith::TruncFOp>();
  if (first && second && first.getIn().getType().isF32() && second.getIn().getType().isF32()) {
    auto wide = VectorType::get({2}, builder.getF32Type());
    Value pair = vector::FromElementsOp::create(builder, wide, ValueRange{first.getIn(), second.getIn()});
    Value rounded = arith::TruncFOp::create(builder, wide.clone(low.getType()), pair);
    return LLVM::BitcastOp::create(builder, builder.getI32Type(), rounded);
  }
  auto toWord = [&](Value value) -> Value {
    Value bits = arith::BitcastOp::create(builder, builder.getI16Type(), value);
    return arith::ExtUIOp::create(builder, builder.getI32Type(), bits);
  };
  Value shift = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(16));
  return arith::OrIOp::create(builder, toWord(low), arith::ShLIOp::create(builder, toWord(high), shift));
}

/// Puts a tile of a matrix into shared memory with the columns of its depth as rows: pairs of neighbours along the tile
/// are words.
void TileWriter::stageTransposed(Matrix &matrix, Value first) {
  const ScoreOperand &operand = *matrix.operand;
  int64_t lanes = getLanes(operand), pieces = getColumnTiles(operand) * kColumns / lanes, pairs = innerTile / kPair;
  auto load = [&](Value number) -> SmallVector<Value> {
    Value along = add(first, scale(remainder(number, pairs), kPair)), depth = scale(divide(number, pairs), lanes);
    return {loadVector(matrix, along, depth, innerTile), loadVector(matrix, add(along, getIndex(1)), depth, innerTile)};
  };
  auto store = [&](Value number, ValueRange pair) {
    Value row = scale(divide(number, pairs), lanes), column = scale(remainder(number, pairs), kPair);
    for (int64_t lane = 0; lane != lanes; ++lane) {
      auto get = [&](Value value) {
        return lanes == 1 ? value : vector::ExtractOp::create(builder, value, lane).getResult();
      };
      Value place = add(scale(add(row, getIndex(lane)), matrix.pitch), column);
      LLVM::StoreOp::create(builder, packPair(get(pair[0]), get(pair[1])),
                            getShared(add(scale(place, 2), getIndex(matrix.begin))), 4);
    }
  };
  forChunks(pieces * pairs, load, store);
}

/// Elements `column` + 2 t and the next one of a row in shared memory.
Value TileWriter::loadWord(Value row, int64_t pitch, int64_t begin, int64_t column) {
  Value place = add(add(scale(row, pitch), scale(quad, kPair)), getIndex(column));
  return LLVM::LoadOp::create(builder, builder.getI32Type(), getShared(add(scale(place, 2), getIndex(begin))), 4);
}

/// The rows of the warp as left operands, four words for each step along the depth.
SmallVector<Value> TileWriter::loadLeft(Matrix &matrix) {
  machine.emitBarrier(builder);
  stage(matrix, firstOuter, kOuter, /*begin=*/0);
  machine.emitBarrier(builder);
  SmallVector<Value> words;
  Value row = add(scale(warp, kOuterOfWarp), group);
  for (int64_t step = 0; step != getSteps(*matrix.operand); ++step)
    for (int64_t half : {0, 1})
      for (int64_t slot : {0, 1})
        words.push_back(
            loadWord(add(row, getIndex(slot * kColumns)), matrix.pitch, 0, step * kContracted + half * kColumns));
  return words;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Adds to columns 8 `column` to 8 `column` + 7 of a result the product of four words of a left operand and a matrix,
/// at one step along what is contracted.
SmallVector<Value> TileWriter::multiply(Matrix &matrix, ValueRange operand, int64_t column, int64_t step,
                                        ValueRange sums) {
  Value row = add(group, getIndex(column * kColumns));
  Value right[] = {loadWord(row, matrix.pitch, matrix.begin, step * kContracted),
                   loadWord(row, matrix.pitch, matrix.begin, step * kContracted + kColumns)};
  return machine.multiply(builder, matrix.operand->planned.types.back().getElementType(), operand, right, sums);
}

/// Columns 8 `column` to 8 `column` + 7 of the scores of a product.
TileWriter::Fragment TileWriter::multiplyScores(size_t product, unsigned column) {
  Matrix &matrix = inner[product];
  SmallVector<Value> sums(4, getZero(builder.getF32Type()));
  for (int64_t step = 0; step != getSteps(*matrix.operand); ++step) {
    sums = multiply(matrix, ArrayRef(left[product]).slice(step * 4, 4), column, step, sums);
  }
  return sums;
}

/// Adds the product of scores and a matrix.
SmallVector<Value> TileWriter::multiplyTarget(Matrix &matrix, const Words &words, ValueRange sums) {
  SmallVector<Value> added(sums);
  for (int64_t column = 0; column != getColumnTiles(*matrix.operand); ++column)
    for (int64_t step = 0; step != innerTile / kContracted; ++step) {
      Value operand[] = {words[2 * step][0], words[2 * step][1], words[2 * step + 1][0], words[2 * step + 1][1]};
      llvm::copy(multiply(matrix, operand, column, step, ArrayRef(added).slice(column * 4, 4)),
                 added.begin() + column * 4);
    }
  return added;
}

/// Computes the element whose scores these are, in the loops that are set: adds what is reduced to the sums of row
/// `slot`, and appends what is multiplied. Elements that are not `isInside`, if that is given, add nothing.
void TileWriter::emitElement(ArrayRef<Value> scores, unsigned slot, Value isInside, MutableArrayRef<Value> sums,
                             MutableArrayRef<SmallVector<Value>> factors) {
  elements.beginElement();
  for (auto [product, score] : llvm::zip_equal(pass.products, scores))
    elements.give(product.node, round(score, product.node->value.getType()));
  auto orNothing = [&](Value value, TypedAttr nothing) {
    return isInside ? select(isInside, value, arith::ConstantOp::create(builder, nothing)) : value;
  };
  for (auto [number, reduction] : llvm::enumerate(getPlan().reductions)) {
    Value &sum = sums[number * kSlots + slot];
    sum = elements.combine(reduction, sum, orNothing(elements.emit(reduced[number]), reduction.neutral));
  }
  for (auto [node, values] : llvm::zip_equal(multiplied, factors))
    if (node) {
      Value value = elements.emit(node);
      values.push_back(orNothing(value, cast<TypedAttr>(builder.getZeroAttr(value.getType()))));
    }
}

/// Computes the elements of a tile from index `first` of the inner axis on, and adds what is reduced to `sums`; the
/// words of what is multiplied, for each target, by eight columns.
SmallVector<TileWriter::Words> TileWriter::emitElements(ArrayRef<SmallVector<Fragment>> scores, Value first,
                                                        MutableArrayRef<Value> sums) {
  int64_t extent = pass.getExtent(pass.inner), numColumns = innerTile / kColumns;
  bool isWhole = extent % innerTile == 0;
  SmallVector<Words> words(pass.targets.size(), Words(numColumns));
  for (int64_t column = 0; column != numColumns; ++column) {
    Value index = add(add(first, getIndex(column * kColumns)), scale(quad, kPair));
    for (unsigned slot = 0; slot != kSlots; ++slot) {
      std::vector<SmallVector<Value>> pairs(pass.targets.size());
      elements.usePrepared(prepared[slot]);
      setRow(slot);
      for (unsigned number = 0; number != kPair; ++number) {
        Value at = add(index, getIndex(number));
        elements.setLoop(pass.inner, isWhole ? at : least(at, extent - 1));
        auto ofElement = llvm::map_to_vector(
            scores, [&](ArrayRef<Fragment> fragments) { return fragments[column][slot * kPair + number]; });
        emitElement(ofElement, slot, isWhole ? Value() : isLess(at, getIndex(extent)), sums, pairs);
      }
      for (auto [target, pair] : llvm::zip_equal(words, pairs))
        if (!pair.empty())
          target[column].push_back(packPair(pair[0], pair[1]));
    }
  }
  return words;
}

/// One tile of the inner axis, from index `first` on.
SmallVector<Value> TileWriter::emitTile(Value first, ValueRange sums) {
  machine.emitBarrier(builder);
  for (Matrix &matrix : inner)
    stage(matrix, first, innerTile, matrix.begin);
  for (std::optional<Matrix> &matrix : values)
    if (matrix)
      stageTransposed(*matrix, first);
  machine.emitBarrier(builder);
  SmallVector<SmallVector<Fragment>> scores(pass.products.size());
  for (size_t product = 0; product != pass.products.size(); ++product)
    for (int64_t column = 0; column != innerTile / kColumns; ++column)
      scores[product].push_back(multiplyScores(product, column));
  SmallVector<Value> next(sums.take_front(getNumReductionSums()));
  SmallVector<Words> words = emitElements(scores, first, next);
  for (auto [matrix, ofTarget] : llvm::zip_equal(values, words))
    if (matrix)
      llvm::append_range(
          next, multiplyTarget(*matrix, ofTarget, sums.slice(next.size(), getColumnTiles(*matrix->operand) * 4)));
  return next;
}

/// All tiles along the inner axis, for the loops that are set.
SmallVector<Value> TileWriter::emitAlong(ValueRange sums) {
  left.clear();
  for (auto [first, second] : llvm::zip(outer, inner)) {
    fixIndices(first);
    fixIndices(second);
    left.push_back(loadLeft(first));
  }
  for (std::optional<Matrix> &matrix : values)
    if (matrix)
      fixIndices(*matrix);
  SmallVector<Node *> roots(reduced);
  llvm::append_range(roots, llvm::make_filter_range(multiplied, [](Node *node) { return node != nullptr; }));
  SmallVector<const Node *> given =
      llvm::map_to_vector(pass.products, [](const ScoreProduct &product) -> const Node * { return product.node; });
  for (unsigned slot = 0; slot != kSlots; ++slot) {
    setRow(slot);
    elements.prepare(roots, pass.inner, given);
    prepared[slot] = elements.takePrepared();
  }
  auto [begin, end] = getVisible();
  auto loop = buildLoop(builder, begin, end, getIndex(1), sums,
                        [&](Value number, ValueRange carried) { return emitTile(scale(number, innerTile), carried); });
  return SmallVector<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

SmallVector<Value> TileWriter::getNeutrals() {
  SmallVector<Value> sums;
  for (const Reduction &reduction : getPlan().reductions)
    sums.append(kSlots, arith::ConstantOp::create(builder, reduction.neutral));
  for (const std::optional<Matrix> &matrix : values)
    if (matrix)
      sums.append(getColumnTiles(*matrix->operand) * 4, getZero(builder.getF32Type()));
  return sums;
}

/// The four threads of a row leave what they have in shared memory; the first one adds it in their order.
void TileWriter::storeReductions(ValueRange sums) {
  if (reduced.empty())
    return;
  machine.emitBarrier(builder);
  auto getBase = [&](size_t reduction) {
    return getShared(getIndex(static_cast<int64_t>(reduction) * kSlots * kThreads * 8));
  };
  Value rowOfBlock = add(scale(warp, kOuterOfWarp), group);
  auto getFirst = [&](unsigned slot) { return scale(add(rowOfBlock, getIndex(slot * kColumns)), 4); };
  for (size_t number = 0; number != reduced.size(); ++number)
    for (unsigned slot = 0; slot != kSlots; ++slot)
      store(getBase(number), sums[number * kSlots + slot], add(getFirst(slot), quad));
  machine.emitBarrier(builder);
  for (unsigned slot = 0; slot != kSlots; ++slot) {
    Value isFirst = isEqual(quad, getIndex(0)), isInside = isLess(rows[slot], getIndex(pass.getExtent(pass.outer)));
    emitIf(arith::AndIOp::create(builder, isFirst, isInside), [&] {
      elements.forgetPrepared();
      elements.beginElement();
      elements.setLoop(pass.outer, rows[slot]);
      for (auto [number, reduction] : llvm::enumerate(getPlan().reductions)) {
        Type type = sums[number * kSlots].getType();
        Value sum = load(getBase(number), type, getFirst(slot));
        for (int64_t other : {1, 2, 3})
          sum = elements.combine(reduction, sum, load(getBase(number), type, add(getFirst(slot), getIndex(other))));
        elements.giveResult(number, sum);
        if (reduction.output)
          elements.storeAt(getAddress(pass.targets[*reduction.output].op->getResult(0)), sum, reduction.position);
      }
      for (const schedule::Store &made : getPlan().stores)
        if (!values[made.output])
          elements.storeAt(getAddress(pass.targets[made.output].op->getResult(0)), elements.emit(made.node),
                           made.position);
    });
  }
}

void TileWriter::storeProduct(const ScoreTarget &target, ValueRange sums) {
  Value base = getAddress(target.op->getResult(0));
  int64_t depth = target.operand->getSize(target.operand->depth);
  for (unsigned slot = 0; slot != kSlots; ++slot)
    emitIf(isLess(rows[slot], getIndex(pass.getExtent(pass.outer))), [&] {
      elements.setLoop(pass.outer, rows[slot]);
      Value row = elements.evaluate(target.position);
      for (int64_t column = 0; column != getColumnTiles(*target.operand); ++column)
        for (unsigned number = 0; number != kPair; ++number) {
          Value index = add(getIndex(column * kColumns + number), scale(quad, kPair));
          Value value = round(sums[column * 4 + slot * kPair + number], target.op->getResult(0).getType());
          auto put = [&] { store(base, value, add(row, scale(index, target.stride))); };
          if ((column + 1) * kColumns <= depth)
            put();
          else
            emitIf(isLess(index, getIndex(depth)), put);
        }
    });
}

void TileWriter::emit() {
  placeMatrices();
  placeThread();
  elements.setLoops(pass.grid, batch);
  int64_t numSummed = 1;
  for (unsigned loop : pass.summed)
    numSummed *= pass.getExtent(loop);
  auto loop = buildLoop(builder, 0, numSummed, 1, getNeutrals(), [&](Value number, ValueRange sums) {
    elements.setLoops(pass.summed, number);
    return emitAlong(sums);
  });
  ValueRange sums = loop.getResults();
  storeReductions(sums);
  size_t next = getNumReductionSums();
  for (const ScoreTarget &target : pass.targets) {
    if (!target.operand)
      continue;
    size_t count = getColumnTiles(*target.operand) * 4;
    storeProduct(target, sums.slice(next, count));
    next += count;
  }
}

void GpuTiles::emit(GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder, ValueRange pointers) {
  TileWriter(*this, launch, machine, builder, pointers).emit();
}
