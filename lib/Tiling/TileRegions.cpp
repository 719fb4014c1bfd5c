//===- TileRegions.cpp - computes attention by tiles of its rows ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles are to a region as ranks are to a program: each operation writes its part by the same `localize`, with the
// iteration of a loop in the place of a rank's coordinate. Sizes divide, so nothing is masked.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/Mesh.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Tiling/Passes.h"
#include "meshwright/Tiling/VisibleColumns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

namespace meshwright::schedule {
#define GEN_PASS_DEF_TILEREGIONSPASS
#include "meshwright/Tiling/Passes.h.inc"
} // namespace meshwright::schedule

#define DEBUG_TYPE "dist-schedule-tile-regions"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::tiling;
using dist::Placement;
using net::shapeOf;
using net::typeOf;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

namespace {

/// The most rows of a tile: more do not make products faster, and fewer stay in the cache.
constexpr int64_t kMostRows = 128;
/// The fewest that a tile is given for the sake of the cache: with fewer, keys and values are read so often that memory
/// limits the products.
constexpr int64_t kManyRows = 32;
/// The fewest of all. Sizes without a divisor between are not divided.
constexpr int64_t kFewestRows = 16;
/// The rows are divided into at most so many stretches, each with the columns that its rows see and kernels of its own,
/// and a stretch has at least so many rows.
constexpr int64_t kMostStretches = 8, kRowsOfStretch = 256;

/// The rows of a tile that is divided once more, by columns, and the rows of the tiles of that: scores and what is
/// computed of them stay in the second-level cache.
constexpr int64_t kMostRowsOfBlock = 512, kMostRowsInBlock = 256;

/// Tiles of neighbouring rows that see the same columns.
struct Stretch {
  int64_t firstTile, numTiles;
  Columns columns;
};

/// How a region is divided.
struct Plan {
  /// The axes that are divided, from the outermost loop to the innermost, which is that of rows.
  SmallVector<unsigned, 4> axes;
  /// For each of them the indices of a tile, and the number of tiles.
  SmallVector<int64_t, 4> sizes, counts;
  SmallVector<Stretch> stretches;

  void add(unsigned axis, int64_t size, int64_t tile) {
    axes.push_back(axis);
    sizes.push_back(tile);
    counts.push_back(size / tile);
  }
};

} // namespace

/// The largest divisor of `size` that is at most `most`.
static int64_t findDivisor(int64_t size, int64_t most) {
  int64_t divisor = std::clamp<int64_t>(most, 1, size);
  while (size % divisor != 0)
    --divisor;
  return divisor;
}

/// The stretches of rows, of `size` rows a tile.
static SmallVector<Stretch> findStretches(const VisibleColumns &visible, const ScoreRegion &region, int64_t size) {
  int64_t numTiles = region.sizes[kRows] / size,
          count = std::clamp<int64_t>(region.sizes[kRows] / kRowsOfStretch, 1, std::min(numTiles, kMostStretches));
  SmallVector<Stretch> stretches;
  for (int64_t i = 0; i != count; ++i) {
    int64_t first = i * numTiles / count, end = (i + 1) * numTiles / count;
    Columns columns = visible.find(region, first * size, end * size);
    if (!stretches.empty() && stretches.back().columns == columns)
      stretches.back().numTiles += end - first;
    else
      stretches.push_back({first, end - first, columns});
  }
  return stretches;
}

/// The rows that a tile may have whose scores take `tileBytes` in f32, whatever they are kept in.
static int64_t getBudget(int64_t columns, int64_t tileBytes) { return std::max<int64_t>(tileBytes / (4 * columns), 1); }

/// The rows of tiles of all columns, out of so many.
static int64_t getRowsOfTile(int64_t rows, int64_t columns, int64_t tileBytes, int64_t mostRows) {
  return findDivisor(rows, std::clamp(getBudget(columns, tileBytes), kManyRows, mostRows));
}

/// The rows of the blocks of a transposed region, whose columns become rows of tiles.
static int64_t getRowsOfBlock(int64_t rows, int64_t columns, int64_t tileBytes) {
  return getRowsOfTile(rows, std::min(columns, kMostRowsInBlock), tileBytes, kMostRowsOfBlock);
}

/// Plans tiles of up to `mostRows` rows; those of a transposed region are divided once more.
static std::optional<Plan> planTiles(const ScoreRegion &region, const VisibleColumns &visible, int64_t tileBytes,
                                     int64_t mostRows) {
  int64_t numRows = region.sizes[kRows], columns = region.sizes[kColumns];
  int64_t rows = region.isTransposed ? getRowsOfBlock(numRows, columns, tileBytes)
                                     : getRowsOfTile(numRows, columns, tileBytes, mostRows);
  if (rows < std::min(kFewestRows, numRows))
    return std::nullopt;
  SmallVector<std::pair<unsigned, int64_t>> outer;
  int64_t left = region.isTransposed ? 1 : getBudget(columns, tileBytes) / rows;
  for (unsigned axis = region.sizes.size() - 1; axis > kColumns; --axis) {
    int64_t tile = findDivisor(region.sizes[axis], left);
    left = tile == region.sizes[axis] ? left / tile : 1;
    if (tile != region.sizes[axis])
      outer.push_back({axis, tile});
  }
  Plan plan;
  for (auto [axis, tile] : llvm::reverse(outer))
    plan.add(axis, region.sizes[axis], tile);
  plan.add(kRows, numRows, rows);
  plan.stretches = findStretches(visible, region, rows);
  return plan;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {

/// A value that the region reads from outside. Loop number i divides it if axis i of the placement does.
struct Input {
  Value value;
  Placement placement;
  /// The place of the columns, if it has them.
  std::optional<Digit> columns;
  /// The value in the loops that are open.
  Value current;
};

/// A value that others read from the region. The tiles of loop number i are parts of it if axis i of the placement
/// splits it, and addends otherwise.
struct Output {
  OpResult result;
  Placement placement;
  std::optional<Digit> columns;
};

/// A loop that is being written.
struct OpenLoop {
  net::LoopOp loop;
  /// The number of its first tile.
  int64_t first;
  /// The end of what stands at the beginning of its body.
  Operation *head;
  /// The number of the tile, once it is asked for.
  Value coordinate;
};

/// Writes the loops of one region.
class Tiler {
public:
  Tiler(const ScoreRegion &region, const Plan &plan)
      : region(region), plan(plan), builder(region.product->getContext()), loc(region.product->getLoc()) {}

  /// False if the axes of the plan overlap in some tensor; nothing is changed then.
  bool prepare();
  void run();
  /// The innermost loops that were written.
  ArrayRef<Operation *> getRowLoops() const { return rowLoops; }

private:
  std::optional<Placement> place(Value value, const Labels &labels) const;
  unsigned getInput(Value value, const Labels &labels, const Placement &placement);
  Value stack(Value value, const Placement &placement);
  Value unstack(Value value, const Placement &placement, ArrayRef<int64_t> shape);
  SmallVector<Value> emit(unsigned level);
  SmallVector<Value> emitRows();
  SmallVector<Value> emitLoop(unsigned level, int64_t first, int64_t count,
                              llvm::function_ref<SmallVector<Value>()> emitBody);
  SmallVector<Value> emitMembers(const Columns &columns);
  SmallVector<Value> emitMember(unsigned index, ValueRange operands, const Columns &columns);
  Operation *resize(const Member &member, const Columns &columns, Block &scratch);
  Value restrict(Value value, std::optional<Digit> place, unsigned numBefore, const Columns &columns);
  Value widen(Value value, std::optional<Digit> place, unsigned numBefore, const Columns &columns);
  Value getCoordinate(unsigned level);
  net::NetBuilder net() { return net::NetBuilder(builder, loc); }
  void own(Operation *op) { inherit(op, region.product, Inherit::LoopPart); }

  const ScoreRegion &region;
  const Plan &plan;
  OpBuilder builder;
  Location loc;
  dist::Mesh mesh;
  SmallVector<Input, 0> inputs;
  /// For each operand of each member its input, if it has one.
  SmallVector<SmallVector<std::optional<unsigned>, 3>, 0> reads;
  SmallVector<SmallVector<Placement, 3>, 0> operandPlacements;
  SmallVector<SmallVector<Placement, 1>, 0> resultPlacements;
  SmallVector<Output> outputs;
  /// From the outermost on.
  SmallVector<OpenLoop> open;
  SmallVector<Operation *> rowLoops;
};

} // namespace

/// The placement of a value that tiles divide; nothing if the axes do not nest in it.
std::optional<Placement> Tiler::place(Value value, const Labels &labels) const {
  Placement placement = Placement::replicated(typeOf(value).getRank());
  for (auto [level, axis] : llvm::enumerate(plan.axes))
    if (const std::optional<Digit> &digit = labels[axis])
      if (!placement.insert(digit->dim,
                            {static_cast<dist::Axis>(level), digit->extent, digit->stride * plan.sizes[level]}))
        return std::nullopt;
  return placement;
}

unsigned Tiler::getInput(Value value, const Labels &labels, const Placement &placement) {
  for (auto [index, input] : llvm::enumerate(inputs))
    if (input.value == value && input.placement == placement && input.columns == labels[kColumns])
      return index;
  inputs.push_back({value, placement, labels[kColumns], {}});
  return inputs.size() - 1;
}

bool Tiler::prepare() {
  SmallVector<std::string> names;
  for (size_t level = 0; level != plan.axes.size(); ++level)
    names.push_back("tile" + std::to_string(level));
  mesh = dist::Mesh(names, plan.counts);
  for (const Member &member : region.members) {
    auto &operands = operandPlacements.emplace_back();
    auto &results = resultPlacements.emplace_back();
    auto &read = reads.emplace_back();
    for (auto [operand, labels] : llvm::zip(member.op->getOperands(), member.operands)) {
      std::optional<Placement> placement = place(operand, labels);
      if (!placement)
        return false;
      operands.push_back(*placement);
      Operation *maker = operand.getDefiningOp();
      bool isInput = !maker || !region.inside.contains(maker);
      read.push_back(isInput ? std::optional(getInput(operand, labels, *placement)) : std::nullopt);
    }
    for (auto [result, labels] : llvm::zip(member.op->getResults(), member.results)) {
      std::optional<Placement> placement = place(result, labels);
      if (!placement)
        return false;
      results.push_back(*placement);
      bool isRead = llvm::any_of(result.getUsers(), [&](Operation *user) { return !region.inside.contains(user); });
      if (member.dependent && isRead)
        outputs.push_back({cast<OpResult>(result), *placement, labels[kColumns]});
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

namespace {

/// A tensor whose dimensions are the digits of those of a placed value, and the order in which a stack of its tiles has
/// them.
struct Digits {
  SmallVector<int64_t> shape, order, stackShape;
};

} // namespace

static Digits getDigits(const Placement &placement, ArrayRef<int64_t> shape, const dist::Mesh &mesh) {
  Digits digits;
  llvm::MapVector<dist::Axis, int64_t> places;
  SmallVector<int64_t> plain;
  for (auto [dim, size] : llvm::enumerate(shape))
    for (const dist::LocalDigit &digit : dist::getLocalDigits(placement.dims[dim], size)) {
      if (digit.axis)
        places[*digit.axis] = digits.shape.size();
      else
        plain.push_back(digits.shape.size());
      digits.shape.push_back(digit.axis ? mesh.getSize(*digit.axis) : digit.localSize);
    }
  for (dist::Axis axis = 0; axis != mesh.getNumAxes(); ++axis)
    if (auto *place = places.find(axis); place != places.end()) {
      digits.order.push_back(place->second);
      digits.stackShape.push_back(mesh.getSize(axis));
    }
  digits.order.append(plain);
  llvm::append_range(digits.stackShape, placement.getLocalShape(shape));
  return digits;
}

/// The tiles of `value`, one dimension for each loop that divides it and then those of the tile.
Value Tiler::stack(Value value, const Placement &placement) {
  Digits digits = getDigits(placement, shapeOf(value), mesh);
  return net().reshape(net().transpose(net().reshape(value, digits.shape), digits.order), digits.stackShape);
}

/// The inverse: the value of `shape` from its tiles.
Value Tiler::unstack(Value value, const Placement &placement, ArrayRef<int64_t> shape) {
  Digits digits = getDigits(placement, shape, mesh);
  SmallVector<int64_t> permuted, inverse(digits.order.size());
  for (auto [position, digit] : llvm::enumerate(digits.order)) {
    permuted.push_back(digits.shape[digit]);
    inverse[digit] = position;
  }
  return net().reshape(net().transpose(net().reshape(value, permuted), inverse), shape);
}

/// The part of `value` in `columns`; `numBefore` dimensions of stacks come before its own.
Value Tiler::restrict(Value value, std::optional<Digit> place, unsigned numBefore, const Columns &columns) {
  if (!place || columns.size() == region.sizes[kColumns])
    return value;
  return net().cut(value, numBefore + place->dim, columns.begin, columns.end);
}

/// The inverse: zeros in all other columns.
Value Tiler::widen(Value value, std::optional<Digit> place, unsigned numBefore, const Columns &columns) {
  if (!place || columns.size() == region.sizes[kColumns])
    return value;
  SmallVector<int64_t> low(typeOf(value).getRank(), 0), high(low), interior(low);
  low[numBefore + place->dim] = columns.begin;
  high[numBefore + place->dim] = region.sizes[kColumns] - columns.end;
  return net().pad(value, 0, low, high, interior);
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

/// The number of the tile on the axis of loop `level`.
Value Tiler::getCoordinate(unsigned level) {
  auto &[loop, first, head, coordinate] = open[level];
  if (coordinate)
    return coordinate;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop);
  SmallVector<int32_t> numbers;
  for (int64_t i = 0; i != static_cast<int64_t>(loop.getCount()); ++i)
    numbers.push_back(first + i);
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, builder.getI32Type());
  auto constant = net::ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, ArrayRef(numbers)));
  builder.setInsertionPointAfter(head);
  auto take =
      net::TakeOp::create(builder, loc, RankedTensorType::get({}, builder.getI32Type()), constant, loop.getIndex());
  own(take);
  head = take;
  return coordinate = take;
}

/// The operation of `member` on `columns` alone, with arguments of `scratch` as operands. A sum of 16-bit floats over
/// rows is one of f32, since tiles add to it.
Operation *Tiler::resize(const Member &member, const Columns &columns, Block &scratch) {
  auto resizeType = [&](Value value, const Labels &labels) {
    RankedTensorType type = typeOf(value);
    if (!labels[kColumns] || columns.size() == region.sizes[kColumns])
      return type;
    SmallVector<int64_t> shape(type.getShape());
    shape[labels[kColumns]->dim] = columns.size();
    return type.clone(shape);
  };
  IRMapping mapping;
  for (auto [operand, labels] : llvm::zip(member.op->getOperands(), member.operands))
    if (!mapping.contains(operand))
      mapping.map(operand, scratch.addArgument(resizeType(operand, labels), loc));
  OpBuilder inner(builder.getContext());
  inner.setInsertionPointToEnd(&scratch);
  Operation *made = inner.clone(*member.op, mapping);
  for (auto [result, labels] : llvm::zip(made->getResults(), member.results))
    result.setType(resizeType(result, labels));
  if (auto constant = dyn_cast<net::ConstantOp>(made))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      constant.setValueAttr(splat.resizeSplat(typeOf(constant)));
  RankedTensorType type = typeOf(made->getResult(0));
  if (isa<net::DotOp>(made) && !member.results[0][kRows] && type.getElementTypeBitWidth() < 32)
    made->getResult(0).setType(type.clone(builder.getF32Type()));
  return made;
}

/// The values of `member` in a tile, of these operands.
SmallVector<Value> Tiler::emitMember(unsigned index, ValueRange operands, const Columns &columns) {
  const Member &member = region.members[index];
  Block scratch;
  Operation *op = resize(member, columns, scratch);
  Operation *before = &*std::prev(builder.getInsertionPoint());
  auto coordinate = [&](dist::Axis level) { return getCoordinate(level); };
  dist::Localizer localizer(builder, mesh, operands, operandPlacements[index], resultPlacements[index], coordinate);
  SmallVector<Value> made = *cast<dist::ShardingOpInterface>(op).localize(localizer);
  // Columns are counted from the first one of all.
  const std::optional<Digit> &place = member.results[0][kColumns];
  if (auto iota = dyn_cast<net::IotaOp>(op); iota && columns.begin != 0 && place && iota.getDim() == place->dim)
    made[0] = net().add(made[0], net().splatLike(made[0], static_cast<double>(columns.begin)));
  for (Operation &written : llvm::make_range(std::next(before->getIterator()), builder.getInsertionPoint())) {
    inherit(&written, member.op, Inherit::Replacement);
    net::kRecomputedAttr.remove(&written);
    net::kRecomputesAttr.remove(&written);
  }
  return made;
}

/// Writes all members for a tile; their values that others read.
SmallVector<Value> Tiler::emitMembers(const Columns &columns) {
  IRMapping local;
  for (auto [index, member] : llvm::enumerate(region.members)) {
    SmallVector<Value> operands;
    for (auto [operand, input] : llvm::zip(member.op->getOperands(), reads[index]))
      operands.push_back(input ? inputs[*input].current : local.lookup(operand));
    local.map(member.op->getResults(), emitMember(index, operands, columns));
  }
  return llvm::map_to_vector(outputs, [&](const Output &output) { return local.lookup(output.result); });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Writes a loop over tiles `first` to `first` + `count` − 1 of an axis. Its body is written by `emitBody`, which
/// returns the outputs of an iteration; results are those of the loop, stacked or added.
SmallVector<Value> Tiler::emitLoop(unsigned level, int64_t first, int64_t count,
                                   llvm::function_ref<SmallVector<Value>()> emitBody) {
  auto loop = net::LoopOp::create(builder, loc, count);
  own(loop);
  if (level + 1 == plan.axes.size())
    rowLoops.push_back(loop);
  open.push_back({loop, first, loop, {}});
  SmallVector<Value> before = llvm::map_to_vector(inputs, [](const Input &input) { return input.current; });
  for (Input &input : inputs)
    if (input.placement.findSplit(level)) {
      RankedTensorType type = typeOf(input.current);
      input.current =
          net::TakeOp::create(builder, loc, type.clone(type.getShape().drop_front()), input.current, loop.getIndex());
      own(input.current.getDefiningOp());
    }
  SmallVector<Value> made = emitBody();
  SmallVector<std::pair<size_t, net::CarryOp>> carries;
  for (auto [index, output] : llvm::enumerate(outputs)) {
    RankedTensorType type = typeOf(made[index]);
    if (output.placement.findSplit(level)) {
      SmallVector<int64_t> shape = {count};
      llvm::append_range(shape, type.getShape());
      made[index] = net::StackOp::create(builder, loc, type.clone(shape), made[index], loop.getIndex());
      own(made[index].getDefiningOp());
      continue;
    }
    OpBuilder outer(loop);
    Value zero = net::NetBuilder(outer, loc).splat(type, 0);
    outer.setInsertionPointAfter(loop);
    auto carry = net::CarryOp::create(outer, loc, zero, loop.getIndex());
    made[index] = net().add(carry, made[index]);
    own(carry);
    inherit(made[index].getDefiningOp(), output.result.getOwner(), Inherit::LoopPart);
    carries.push_back({index, carry});
  }
  for (auto [index, carry] : carries) {
    made[index] = net::NextOp::create(builder, loc, made[index], carry);
    own(made[index].getDefiningOp());
  }
  own(net::EndLoopOp::create(builder, loc, loop.getIndex()));
  open.pop_back();
  for (auto [input, value] : llvm::zip(inputs, before))
    input.current = value;
  return made;
}

/// Writes the loops over the tiles of rows, one for each stretch, and puts their results together.
SmallVector<Value> Tiler::emitRows() {
  unsigned level = plan.axes.size() - 1;
  SmallVector<SmallVector<Value>> parts(outputs.size());
  SmallVector<Value> before = llvm::map_to_vector(inputs, [](const Input &input) { return input.current; });
  for (const Stretch &stretch : plan.stretches) {
    for (auto [input, whole] : llvm::zip(inputs, before)) {
      bool isStack = input.placement.findSplit(level).has_value();
      input.current = restrict(whole, input.columns, isStack, stretch.columns);
      if (isStack && stretch.numTiles != plan.counts[level])
        input.current = net().cut(input.current, 0, stretch.firstTile, stretch.firstTile + stretch.numTiles);
    }
    SmallVector<Value> made =
        emitLoop(level, stretch.firstTile, stretch.numTiles, [&] { return emitMembers(stretch.columns); });
    for (auto [index, output] : llvm::enumerate(outputs))
      parts[index].push_back(
          widen(made[index], output.columns, output.placement.findSplit(level).has_value(), stretch.columns));
  }
  for (auto [input, whole] : llvm::zip(inputs, before))
    input.current = whole;
  SmallVector<Value> results;
  for (auto [output, part] : llvm::zip(outputs, parts)) {
    Value result = part.front();
    bool isSplit = output.placement.findSplit(level).has_value();
    if (isSplit && part.size() > 1)
      result = net().concatenate(part, /*dim=*/0);
    else if (!isSplit)
      for (Value other : llvm::drop_begin(part))
        result = net().add(result, other);
    results.push_back(result);
  }
  return results;
}

SmallVector<Value> Tiler::emit(unsigned level) {
  if (level + 1 == plan.axes.size())
    return emitRows();
  return emitLoop(level, 0, plan.counts[level], [&] { return emit(level + 1); });
}

void Tiler::run() {
  Operation *last = nullptr;
  for (const Member &member : region.members)
    if (member.dependent)
      last = member.op;
  builder.setInsertionPointAfter(last);
  Operation *after = last->getNextNode();
  for (Input &input : inputs)
    input.current = stack(input.value, input.placement);
  SmallVector<Value> results = emit(0);
  for (auto [output, result] : llvm::zip(outputs, results)) {
    RankedTensorType type = typeOf(output.result);
    Value whole = net().convert(unstack(result, output.placement, type.getShape()), type.getElementType());
    output.result.replaceUsesWithIf(whole, [&](OpOperand &use) { return !region.inside.contains(use.getOwner()); });
  }
  for (Operation &op : llvm::make_range(std::next(last->getIterator()), after->getIterator()))
    if (op.getAttrs().empty())
      own(&op);
  for (Operation *reader : region.readers)
    reader->moveBefore(after);
  for (const Member &member : llvm::reverse(region.members))
    if (member.dependent)
      member.op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct TileRegionsPass : schedule::impl::TileRegionsPassBase<TileRegionsPass> {
  using TileRegionsPassBase::TileRegionsPassBase;

  void runOnOperation() override {
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    if (!enabled)
      return;
    for (auto func : getOperation().getOps<func::FuncOp>())
      // The order of sums is fixed there.
      if (!func.isExternal() && !net::kSumPartsAttr.isOn(func))
        tile(func.getBody().front());
  }

  void tile(Block &block) {
    SmallVector<ScoreRegion, 0> regions = findRegionsWithMasks(block, {.minBytes = minBytes});
    for (ScoreRegion &region : regions)
      if (hasBlocks(region))
        transpose(region);
    DenseSet<Operation *> blocks = tile(regions, kMostRows);
    if (blocks.empty())
      return;
    SmallVector<ScoreRegion, 0> inner =
        findRegions(block, net::LoopNest::findBodies(block), {.leastGrowth = 0, .loops = &blocks});
    tile(inner, kMostRowsInBlock);
  }

  /// True if a region is divided by rows and by columns: it has no sums that others read, and a tile of some whole rows
  /// is too large. Outer loops have those sums of which there are fewer: each of their tiles adds to a whole one.
  bool hasBlocks(const ScoreRegion &region) const {
    int64_t rows = region.sizes[kRows], columns = region.sizes[kColumns];
    int64_t block = getRowsOfBlock(columns, rows, tileBytes);
    bool isDivisible = block >= kFewestRows && getRowsOfTile(rows, block, tileBytes, kMostRowsInBlock) >= kFewestRows;
    return isDivisible && getBudget(columns, tileBytes) < kMostRows && addsUp(region, kColumns) &&
           countSums(region, kColumns) < countSums(region, kRows);
  }

  /// Returns the loops over tiles that are to be divided once more.
  DenseSet<Operation *> tile(ArrayRef<ScoreRegion> regions, int64_t mostRows) {
    DenseSet<Operation *> blocks;
    VisibleColumns visible(regions);
    SmallVector<std::optional<Plan>> plans = llvm::map_to_vector(
        regions, [&](const ScoreRegion &region) { return planTiles(region, visible, tileBytes, mostRows); });
    replaceRegions(regions, [&](size_t index) {
      const std::optional<Plan> &plan = plans[index];
      if (!plan)
        return false;
      Tiler tiler(regions[index], *plan);
      if (!tiler.prepare())
        return false;
      tiler.run();
      if (regions[index].isTransposed)
        blocks.insert_range(tiler.getRowLoops());
      ++numRegions;
      numTiles += std::accumulate(plan->counts.begin(), plan->counts.end(), int64_t(1), std::multiplies<>());
      return true;
    });
    return blocks;
  }
};

} // namespace
