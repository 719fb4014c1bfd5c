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
#include "meshwright/Codegen/ElementEmitter.h"
#include "meshwright/Kernels/KernelBody.h"
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
      RankedTensorType type = schedule::getSignless(value.getType());
      place.scratch = found.scratchBytes;
      found.scratchBytes +=
          llvm::alignTo(type.getNumElements() * getMemoryType(type.getElementType()).getIntOrFloatBitWidth() / 8, 64);
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
// Elements
//===----------------------------------------------------------------------===//

namespace {

/// Writes elements of planned values wherever its loops are set.
class TileElements : ElementEmitter {
public:
  TileElements(const PlannedValues &values, LoopBuilder &builder, ValueRange pointers, int64_t alignment)
      : ElementEmitter(*values.plan, builder, pointers, values.types, values.inputs.size()) {
    this->alignment = alignment;
    inColumns = true;
  }

  using ElementEmitter::combine;
  void setLoop(std::optional<unsigned> loop, Value value) {
    if (loop)
      ivs[*loop] = value;
  }
  /// Computes so many elements along `loop` at a time.
  void setLanes(unsigned loop, unsigned number) {
    laneLoop = loop;
    lanes = number;
  }
  Value evaluate(const LinearForm &form) { return toValue(emitIndex(form)); }

  /// Computes all that `roots` read which no loop of `changing` changes, nor the nodes in `given`.
  void prepare(ArrayRef<Node *> roots, ArrayRef<unsigned> changing, ArrayRef<const Node *> given);
  /// The prepared elements, for later ones of the same outer index.
  llvm::DenseMap<const Node *, Value> takePrepared() { return std::move(rowValues); }
  void usePrepared(llvm::DenseMap<const Node *, Value> values) { rowValues = std::move(values); }
  void forgetPrepared() { rowValues.clear(); }

  /// The next element is another one.
  void beginElement() { columnValues.clear(); }
  void give(const Node *node, Value value) { columnValues[node] = value; }
  void giveResult(unsigned reduction, Value value) { rowResults[reduction] = value; }
  Value emit(Node *node) { return emitNode(node); }
  /// The same in all lanes.
  Value emitVector(Node *node) { return toVector(emitNode(node)); }
  void storeAt(Value base, Value value, const LinearForm &position) { store(base, value, emitIndex(position)); }

private:
  bool changes(const Node *node, ArrayRef<unsigned> loops, ArrayRef<const Node *> given,
               llvm::DenseMap<const Node *, bool> &known) const;
};

} // namespace

bool TileElements::changes(const Node *node, ArrayRef<unsigned> loops, ArrayRef<const Node *> given,
                           llvm::DenseMap<const Node *, bool> &known) const {
  if (auto found = known.find(node); found != known.end())
    return found->second;
  auto isChanging = [&](const LinearForm &form) {
    return llvm::any_of(form.terms, [&](const auto &term) {
      return llvm::any_of(loops, [&](unsigned loop) { return plan.variables.isAlong(term.first, loop); });
    });
  };
  bool result =
      llvm::is_contained(given, node) || node->kind == Node::RowResult || isChanging(node->position) ||
      llvm::any_of(node->indexForms, [&](const auto &form) { return isChanging(form.second); }) ||
      llvm::any_of(node->operands, [&](Node *operand) { return changes(operand, loops, given, known); }) ||
      llvm::any_of(node->extracts, [&](const auto &extract) { return changes(extract.second, loops, given, known); });
  return known[node] = result;
}

void TileElements::prepare(ArrayRef<Node *> roots, ArrayRef<unsigned> changing, ArrayRef<const Node *> given) {
  llvm::DenseMap<const Node *, bool> known;
  SetVector<Node *> visited;
  visited.insert(roots.begin(), roots.end());
  inColumns = false;
  rowValues.clear();
  for (size_t next = 0; next != visited.size(); ++next) {
    Node *node = visited[next];
    if (!changes(node, changing, given, known))
      emitNode(node);
    else
      visited.insert(node->operands.begin(), node->operands.end());
  }
  inColumns = true;
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

  ValueRange addPointers(const PlannedValues &values);
  Value getAddress(Value value);
  Matrix makeMatrix(const ScoreOperand &operand);
  int64_t getInnerTile() const;
  void placeMatrices();
  void placeThread();
  std::pair<Value, Value> getVisible();
  void setGrid();
  void setSummed(Value number);
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
  Fragment multiplyScores(size_t product, unsigned column);
  SmallVector<Value> emitElements(ArrayRef<SmallVector<Fragment>> scores, Value first, ValueRange sums);
  Value packPair(Value low, Value high);
  SmallVector<Value> multiplyTarget(Matrix &matrix, ArrayRef<SmallVector<Value>> words, ValueRange sums);

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
  if (std::optional<unsigned> depth = operand.getLoop(operand.depth);
      depth && operand.getSize(operand.depth) % kVector == 0)
    made->setLanes(*depth, kVector);
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

/// Sets the loops of what is computed at the same time.
void TileWriter::setGrid() {
  Value rest = batch;
  for (unsigned loop : llvm::reverse(pass.grid)) {
    elements.setLoop(loop, remainder(rest, pass.getExtent(loop)));
    rest = divide(rest, pass.getExtent(loop));
  }
}

void TileWriter::setSummed(Value number) {
  for (unsigned loop : llvm::reverse(pass.summed)) {
    elements.setLoop(loop, remainder(number, pass.getExtent(loop)));
    number = divide(number, pass.getExtent(loop));
  }
}

/// The indices of a matrix's other dimensions, in the loops that are set.
void TileWriter::fixIndices(Matrix &matrix) {
  for (auto &[dim, form] : matrix.operand->fixed)
    matrix.elements->setLoop(matrix.operand->getLoop(dim), elements.evaluate(form));
}

/// The tiles of the inner axis that this tile of the outer one reads: the first, and the end.
std::pair<Value, Value> TileWriter::getVisible() {
  int64_t all = llvm::divideCeil(pass.getExtent(pass.inner), innerTile);
  bool isLimited = llvm::any_of(pass.visible, [&](auto range) {
    return range.first >= innerTile || llvm::divideCeil(range.second, innerTile) < static_cast<uint64_t>(all);
  });
  if (!isLimited)
    return {getIndex(0), getIndex(all)};
  SmallVector<int32_t> bounds;
  for (auto [begin, end] : pass.visible) {
    bounds.push_back(begin / innerTile);
    bounds.push_back(std::min<int64_t>(llvm::divideCeil(end, innerTile), all));
  }
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
  bool isVector = depthSize % kVector == 0;
  matrix.elements->setLoop(operand.getLoop(operand.depth), least(depth, depthSize - (isVector ? kVector : 1)));
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
  int64_t lanes = matrix.operand->getSize(matrix.operand->depth) % kVector == 0 ? kVector : 1,
          pieces = getSteps(*matrix.operand) * kContracted / lanes;
  auto load = [&](Value number) -> SmallVector<Value> {
    return {loadVector(matrix, add(first, divide(number, pieces)), scale(remainder(number, pieces), lanes), rows)};
  };
  auto store = [&](Value number, ValueRange value) {
    Value place = add(scale(divide(number, pieces), matrix.pitch), scale(remainder(number, pieces), lanes));
    LLVM::StoreOp::create(builder, value[0], getShared(add(scale(place, 2), getIndex(begin))), lanes * 2);
  };
  forChunks(rows * pieces, load, store);
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
  int64_t lanes = operand.getSize(operand.depth) % kVector == 0 ? kVector : 1,
          pieces = getColumnTiles(operand) * kColumns / lanes, pairs = innerTile / kPair;
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

/// Columns 8 `column` to 8 `column` + 7 of the scores of a product.
TileWriter::Fragment TileWriter::multiplyScores(size_t product, unsigned column) {
  Matrix &matrix = inner[product];
  Type element = matrix.operand->planned.types.back().getElementType();
  SmallVector<Value> sums(4, getZero(builder.getF32Type()));
  Value row = add(group, getIndex(column * kColumns));
  for (int64_t step = 0; step != getSteps(*matrix.operand); ++step) {
    Value right[] = {loadWord(row, matrix.pitch, matrix.begin, step * kContracted),
                     loadWord(row, matrix.pitch, matrix.begin, step * kContracted + kColumns)};
    sums = machine.multiply(builder, element, ArrayRef(left[product]).slice(step * 4, 4), right, sums);
  }
  return sums;
}

/// Adds the product of scores and a matrix: `words` has, for each eight columns of the scores, a pair in each row.
SmallVector<Value> TileWriter::multiplyTarget(Matrix &matrix, ArrayRef<SmallVector<Value>> words, ValueRange sums) {
  Type element = matrix.operand->planned.types.back().getElementType();
  SmallVector<Value> added(sums);
  for (int64_t column = 0; column != getColumnTiles(*matrix.operand); ++column) {
    Value row = add(group, getIndex(column * kColumns));
    for (int64_t step = 0; step != innerTile / kContracted; ++step) {
      Value right[] = {loadWord(row, matrix.pitch, matrix.begin, step * kContracted),
                       loadWord(row, matrix.pitch, matrix.begin, step * kContracted + kColumns)};
      Value operand[] = {words[2 * step][0], words[2 * step][1], words[2 * step + 1][0], words[2 * step + 1][1]};
      SmallVector<Value> next =
          machine.multiply(builder, element, operand, right, ArrayRef(added).slice(column * 4, 4));
      llvm::copy(next, added.begin() + column * 4);
    }
  }
  return added;
}

/// Computes the elements of a tile; adds what is reduced, and returns it followed by the words of what is multiplied.
SmallVector<Value> TileWriter::emitElements(ArrayRef<SmallVector<Fragment>> scores, Value first, ValueRange sums) {
  int64_t extent = pass.getExtent(pass.inner);
  SmallVector<Value> added(sums.take_front(getNumReductionSums()));
  std::vector<SmallVector<SmallVector<Value>>> words(pass.targets.size());
  for (int64_t column = 0; column != innerTile / kColumns; ++column) {
    Value index = add(add(first, getIndex(column * kColumns)), scale(quad, kPair));
    for (SmallVector<SmallVector<Value>> &target : words)
      target.emplace_back();
    for (unsigned slot = 0; slot != kSlots; ++slot) {
      std::vector<SmallVector<Value>> pairs(pass.targets.size());
      elements.usePrepared(prepared[slot]);
      elements.setLoop(pass.outer, least(rows[slot], pass.getExtent(pass.outer) - 1));
      for (unsigned number = 0; number != kPair; ++number) {
        Value at = add(index, getIndex(number));
        elements.beginElement();
        elements.setLoop(pass.inner, extent % innerTile == 0 ? at : least(at, extent - 1));
        for (auto [product, fragments] : llvm::zip(pass.products, scores)) {
          Value score = fragments[column][slot * kPair + number];
          Type type = getElementTypeOrSelf(product.node->value.getType());
          elements.give(product.node, type.isF32() ? score : arith::TruncFOp::create(builder, type, score).getResult());
        }
        Value isInside = extent % innerTile == 0 ? Value() : isLess(at, getIndex(extent));
        auto orNothing = [&](Value value, TypedAttr nothing) {
          return isInside ? select(isInside, value, arith::ConstantOp::create(builder, nothing)) : value;
        };
        for (auto [number, reduction] : llvm::enumerate(getPlan().reductions)) {
          Value &sum = added[number * kSlots + slot];
          sum = elements.combine(reduction, sum, orNothing(elements.emit(reduced[number]), reduction.neutral));
        }
        for (auto [target, node] : llvm::enumerate(multiplied))
          if (node) {
            Value value = elements.emit(node);
            pairs[target].push_back(orNothing(value, cast<TypedAttr>(builder.getZeroAttr(value.getType()))));
          }
      }
      for (auto [target, pair] : llvm::enumerate(pairs))
        if (!pair.empty())
          words[target].back().push_back(packPair(pair[0], pair[1]));
    }
  }
  for (const auto &target : words)
    for (const SmallVector<Value> &column : target)
      llvm::append_range(added, column);
  return added;
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
  SmallVector<Value> made = emitElements(scores, first, sums);
  SmallVector<Value> next(ArrayRef(made).take_front(getNumReductionSums()));
  size_t word = next.size();
  for (std::optional<Matrix> &matrix : values) {
    if (!matrix)
      continue;
    SmallVector<SmallVector<Value>> words;
    for (int64_t column = 0; column != innerTile / kColumns; ++column, word += kSlots)
      words.push_back({made[word], made[word + 1]});
    llvm::append_range(next,
                       multiplyTarget(*matrix, words, sums.slice(next.size(), getColumnTiles(*matrix->operand) * 4)));
  }
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
    elements.setLoop(pass.outer, least(rows[slot], pass.getExtent(pass.outer) - 1));
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
  Type type = getElementTypeOrSelf(target.op->getResult(0).getType());
  int64_t depth = target.operand->getSize(target.operand->depth);
  auto round = [&](Value sum) { return type.isF32() ? sum : arith::TruncFOp::create(builder, type, sum).getResult(); };
  for (unsigned slot = 0; slot != kSlots; ++slot)
    emitIf(isLess(rows[slot], getIndex(pass.getExtent(pass.outer))), [&] {
      elements.setLoop(pass.outer, rows[slot]);
      Value row = elements.evaluate(target.position);
      for (int64_t column = 0; column != getColumnTiles(*target.operand); ++column)
        for (unsigned number = 0; number != kPair; ++number) {
          Value index = add(getIndex(column * kColumns + number), scale(quad, kPair));
          Value value = round(sums[column * 4 + slot * kPair + number]);
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
  setGrid();
  int64_t numSummed = 1;
  for (unsigned loop : pass.summed)
    numSummed *= pass.getExtent(loop);
  auto loop = buildLoop(builder, 0, numSummed, 1, getNeutrals(), [&](Value number, ValueRange sums) {
    setSummed(number);
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
