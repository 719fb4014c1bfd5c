//===- Recompute.cpp - activation checkpointing ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Afterwards backward only reads those values of forward that are worth their memory; it recomputes all others with
// clones of forward operations, placed before their first user. Clones have the role backward, the scope and the
// placements of the original, and `net.recomputes`, the number in the original's `net.recomputed`. With these numbers
// Schedule delays clones until backward (docs/decisions/0015-recompute-placed-programs.md).
//
// The kept values are a minimum cut per block (KeepPlanner.h). The cut may lie before the block, as far as cheap
// operations lead, so that the block keeps its inputs in their narrowest form. In loops, kept values are stacked, and
// recomputed values are computed in the iteration of backward with the same number (IterationValues.h).
//
//===----------------------------------------------------------------------===//

#include "Exchanges.h"
#include "IterationValues.h"
#include "KeepPlanner.h"
#include "RecomputeBlocks.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/Loops.h"
#include "dialects/Net/Net.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Support/Stages.h"
#include "meshwright/Tiling/Region.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::complete {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "meshwright/Complete/Passes.h.inc"
} // namespace meshwright::complete

#define DEBUG_TYPE "dist-complete-recompute"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;
using net::typeOf;

namespace {

/// The operations that a byte is worth at least, of a value of so many bytes. Keeping it takes a write and a read of
/// memory, in whose time a core computes some 40 operations, and a GPU more.
constexpr int64_t kLeastFlopsPerByte = 48, kLeastBytes = 256 << 10;
/// An operation that reads more than so many times what it makes takes the time of memory, whatever it computes.
constexpr int64_t kMostRead = 4;
/// The operations that a byte is worth under `KeepPolicy::Cheap` by default: less than a GEMM with a weight matrix
/// takes, more than the products inside attention.
constexpr int64_t kFlopsPerByte = 128;
/// A value computed from constants and inputs alone by more operations than this, such as random numbers, is not
/// recomputed from scratch.
constexpr unsigned kMostGenerating = 16;
/// The number of operations before a block that are searched.
constexpr size_t kMostBefore = 256;
/// Larger than any memory.
constexpr int64_t kTooLarge = int64_t(1) << 50;

/// An operation of forward.
struct Item {
  explicit Item(Operation *op) : op(op) {}

  Operation *op;
  /// The bytes of the result on a rank. A result that only moves elements is read from its operand's memory and is
  /// never kept by itself.
  int64_t bytes = 0;
  /// Available anyway: a constant, an input, or a variable, possibly moved or converted.
  bool leaf = false;
  /// The end of a long chain of operations on constants and inputs.
  bool generated = false;
  /// Has so many bytes in an iteration that saving them is worth a call, and is made of few more.
  bool large = false;
  /// At most one floating-point operation per element, no access by index, and repeatable.
  bool cheap = false;
  /// May be recomputed, cheaply or not.
  bool repeatable = false;
  /// Kept for backward already.
  bool kept = false;
  /// Has the rows and columns of a matrix of scores, which backward computes again from what it is made of.
  bool score = false;
};

/// A block with its reads by backward.
struct Work {
  RecomputeBlock block;
  DenseSet<unsigned> members;
  /// Values that recomputable operations receive from other stages, with the receiving stage.
  DenseMap<unsigned, int64_t> received;
  /// Per value, the reads of backward that a clone is to serve.
  llvm::MapVector<unsigned, SmallVector<OpOperand *, 2>> reads;
  /// The values to recompute, in order.
  SmallVector<unsigned, 0> computed;
};

/// Rewrites one function.
class Recomputer {
public:
  Recomputer(func::FuncOp func, std::optional<Mesh> mesh, const RecomputePassOptions &options,
             const RecomputeLocations &locations)
      : func(func), loops(net::LoopNest::findBodies(func.getBody().front())), iterations(func.getBody().front(), loops),
        mesh(std::move(mesh)), exchanges(this->mesh), options(options), locations(locations),
        builder(func.getContext()) {}

  LogicalResult run();

  int64_t numClones = 0, numKept = 0;
  uint64_t numFlops = 0;

private:
  // Reading the program.
  void collect();
  void describe(Item &item);
  FailureOr<Placement> resolve(MappingAttr mapping, Value value) const;
  int64_t getLocalBytes(Value value) const;
  bool isParameter(Operation *op, int64_t elements) const;
  bool isPart(Operation *op) const;
  int64_t getIterations(Operation *op) const;
  int64_t getRanks(Operation *op) const;
  bool isTakenFromLeaf(Operation *op) const;
  unsigned countGenerating(Operation *op);
  void findScores();
  void addReads();

  // Deciding.
  std::optional<unsigned> getNumber(Value value) const;
  int64_t getFlopsPerByte(unsigned number, KeepPolicy policy) const;
  bool isComputable(unsigned number, const Work &work) const;
  int64_t getPrice(unsigned number, const Work &work) const;
  SmallVector<unsigned, 0> findValues(Work &work) const;
  void plan(Work &work);

  // Writing.
  void delayProducts();
  DenseMap<unsigned, Operation *> findFirstUsers(const Work &work) const;
  void write(Work &work);
  Operation *getPlace(Operation *origin, Operation *user) const;
  Operation *clone(unsigned item, Operation *before, const DenseMap<unsigned, Operation *> &clones);

  func::FuncOp func;
  net::LoopNest loops;
  IterationValues iterations;
  std::optional<Mesh> mesh;
  Exchanges exchanges;
  const RecomputePassOptions &options;
  const RecomputeLocations &locations;
  OpBuilder builder;

  SmallVector<Item, 0> items;
  DenseMap<Operation *, unsigned> numbers;
  /// The number of operations that compute a value from constants and inputs alone.
  DenseMap<Operation *, unsigned> generating;
  SmallVector<Work, 0> works;
  /// Values received from other stages and kept, with the receiving stage.
  DenseSet<std::pair<unsigned, int64_t>> copies;
  DenseMap<Operation *, unsigned> positions;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading the program
//===----------------------------------------------------------------------===//

static uint64_t multiply(uint64_t left, uint64_t right) { return llvm::SaturatingMultiply(left, right); }

/// The placement that `mapping` gives a value; none without a mesh.
FailureOr<Placement> Recomputer::resolve(MappingAttr mapping, Value value) const {
  if (!mesh || !mapping)
    return failure();
  return Placement::resolve(mapping, *mesh, typeOf(value).getShape(), [&] { return emitError(value.getLoc()); });
}

int64_t Recomputer::getLocalBytes(Value value) const {
  RankedTensorType type = typeOf(value);
  FailureOr<Placement> placement = resolve(getMapping(value), value);
  return getBytes(succeeded(placement) ? type.clone(placement->getLocalShape(type.getShape())) : type);
}

/// The number of copies of the result of `op` that are kept: one per iteration inside a loop.
int64_t Recomputer::getIterations(Operation *op) const { return net::leavesLoop(op) ? 1 : loops.getIterations(op); }

/// The number of ranks that divide the computation of `op` among them.
int64_t Recomputer::getRanks(Operation *op) const {
  Value result = op->getResult(0);
  auto computes = kComputesAttr.get(op);
  FailureOr<Placement> placement = resolve(computes ? cast<MappingAttr>(computes[0]) : getMapping(result), result);
  int64_t ranks = 1;
  for (Axis axis = 0; succeeded(placement) && axis < mesh->getNumAxes(); ++axis)
    if (placement->findSplit(axis) || placement->isPartial(axis))
      ranks *= mesh->getSize(axis);
  return ranks;
}

/// True if `op` takes an element of a stack that is available anyway.
bool Recomputer::isTakenFromLeaf(Operation *op) const {
  auto take = dyn_cast<net::TakeOp>(op);
  std::optional<unsigned> stack = take ? getNumber(take.getStack()) : std::nullopt;
  return take && (stack ? items[*stack].leaf : !take.getStack().getDefiningOp());
}

/// True if `op` reads a parameter, or moves or converts one.
bool Recomputer::isParameter(Operation *op, int64_t elements) const {
  if (isa<net::ReadOp>(op))
    return true;
  if (op->getNumOperands() != 1 || getFlops(op) != 0)
    return false;
  Operation *maker = op->getOperand(0).getDefiningOp();
  auto known = maker ? numbers.find(maker) : numbers.end();
  return known != numbers.end() && items[known->second].leaf && maker->getNumOperands() + isa<net::ReadOp>(maker) > 0 &&
         elements <= typeOf(op->getOperand(0)).getNumElements();
}

/// The number of operations from constants and inputs to `op`; 0 if it depends on anything else.
unsigned Recomputer::countGenerating(Operation *op) {
  unsigned count = 1;
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || (maker->getNumOperands() == 0 && !isa<net::ReadOp>(maker)))
      continue;
    unsigned before = generating.lookup(maker);
    if (before == 0)
      return 0;
    count = std::min(count + before, kMostGenerating + 1);
  }
  return count;
}

/// True if `op` moves or repeats some of the elements of its operand, or all elements of such a part.
bool Recomputer::isPart(Operation *op) const {
  if (isa<net::TakeOp>(op))
    return true;
  if (op->getNumOperands() != 1 || getFlops(op) != 0)
    return false;
  RankedTensorType from = typeOf(op->getOperand(0)), to = typeOf(op->getResult(0));
  std::optional<unsigned> maker = getNumber(op->getOperand(0));
  return from.getElementType() == to.getElementType() &&
         (from.getNumElements() != to.getNumElements() || (maker && items[*maker].bytes == kTooLarge));
}

void Recomputer::describe(Item &item) {
  Operation *op = item.op;
  int64_t elements = typeOf(op->getResult(0)).getNumElements();
  item.leaf = op->getNumOperands() == 0 || isParameter(op, elements) || isTakenFromLeaf(op);
  // Takes from an input may start a chain of random numbers, so they are counted.
  unsigned count = item.leaf && !isa<net::TakeOp>(op) ? 0 : countGenerating(op);
  item.generated = count > kMostGenerating;
  // Beyond the bound the value counts as an ordinary one.
  generating[op] = item.generated ? 0 : count;
  bool isAlone = op->getNumResults() == 1 && op->getNumRegions() == 0 && isPure(op) &&
                 (!loops.getLoop(op) || (iterations.getForward(op->getResult(0)) && !isa<net::LoopOp>(op)));
  item.repeatable = isAlone && !item.leaf && (options.repeatConversions || !exchanges.areRepeatedBy(op));
  // Both access memory at positions that are data, which costs more than their operations.
  bool picks = isa<net::GatherOp, net::ScatterOp>(op);
  item.cheap = item.repeatable && !item.generated && !picks && getFlops(op) <= elements;
  int64_t bytes = getLocalBytes(op->getResult(0)), times = getIterations(op);
  int64_t read = 0;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      read += getLocalBytes(operand);
  item.large = bytes >= kLeastBytes && read <= kMostRead * bytes;
  item.bytes = (item.cheap && isPart(op)) || bytes > kTooLarge / times ? kTooLarge : bytes * times;
}

void Recomputer::collect() {
  for (Operation &op : func.getBody().front()) {
    bool isForward = net::getRole(&op) == net::Role::Forward || op.getNumOperands() == 0 || isa<net::ReadOp>(op);
    auto stack = dyn_cast<net::StackOp>(op);
    if (!isForward || op.getNumResults() == 0 || !isa<RankedTensorType>(op.getResult(0).getType()) ||
        (stack && iterations.isForBackward(stack)))
      continue;
    numbers[&op] = items.size();
    items.emplace_back(&op);
    describe(items.back());
  }
}

/// Marks the values of attention that have rows and columns. Schedule computes them by tiles and never keeps them
/// whole, if backward reads none (meshwright/Tiling/Region.h).
void Recomputer::findScores() {
  if (!options.tiles)
    return;
  for (const tiling::ScoreRegion &region :
       tiling::findRegions(func.getBody().front(), loops, {.role = net::Role::Forward, .ignoresBackward = true})) {
    if (getLocalBytes(region.product->getResult(0)) < options.scoreBytes)
      continue;
    for (const tiling::Member &member : region.members)
      for (const tiling::Labels &labels : member.results)
        if (auto known = numbers.find(member.op); known != numbers.end() && tiling::isWide(labels))
          items[known->second].score = items[known->second].repeatable;
  }
}

/// Assigns every read of backward to the block of its scope, or otherwise to the block of the value.
void Recomputer::addReads() {
  constexpr unsigned kNone = std::numeric_limits<unsigned>::max();
  SmallVector<unsigned, 0> blockOf(items.size(), kNone);
  DenseMap<Attribute, unsigned> blockOfScope;
  for (auto [index, work] : llvm::enumerate(works))
    for (unsigned member : work.block.members) {
      blockOf[member] = index;
      Attribute scope = net::kScopeAttr.get(items[member].op);
      if (auto [known, isNew] = blockOfScope.try_emplace(scope, index); !isNew && known->second != index)
        known->second = kNone;
    }
  auto add = [&](unsigned number, OpOperand &use) {
    Operation *user = use.getOwner();
    if (net::getRole(user) != net::Role::Backward)
      return;
    if (isReceived(items[number].op, user)) {
      copies.insert({number, *getStage(user)});
      return;
    }
    if (!options.repeatConversions && exchanges.areShared(use))
      return;
    auto known = blockOfScope.find(net::kScopeAttr.get(user));
    bool isKnown = known != blockOfScope.end() && known->second != kNone;
    works[isKnown ? known->second : blockOf[number]].reads[number].push_back(&use);
  };
  for (auto [number, item] : llvm::enumerate(items)) {
    if (item.leaf)
      continue;
    for (Value result : item.op->getResults()) {
      for (OpOperand &use : result.getUses())
        add(number, use);
      for (OpOperand *use : iterations.getReads(result))
        add(number, *use);
    }
  }
}

//===----------------------------------------------------------------------===//
// Deciding
//===----------------------------------------------------------------------===//

std::optional<unsigned> Recomputer::getNumber(Value value) const {
  Operation *maker = value.getDefiningOp();
  auto known = maker ? numbers.find(maker) : numbers.end();
  return known == numbers.end() ? std::nullopt : std::optional(known->second);
}

/// The operations that a byte of a value is worth in a block where recomputing has a price.
int64_t Recomputer::getFlopsPerByte(unsigned number, KeepPolicy policy) const {
  int64_t least = items[number].large ? kLeastFlopsPerByte : 0;
  if (policy == KeepPolicy::Cut)
    return least;
  if (options.flopsPerByte.empty())
    return kFlopsPerByte;
  for (auto [flops, end] : llvm::zip(options.flopsPerByte, options.ends))
    if (uint64_t(number) * kForwardParts < uint64_t(end) * items.size())
      return std::max(flops, least);
  return options.ends.empty() ? std::max(options.flopsPerByte.front(), least) : least;
}

/// True if a value may be recomputed for a block.
bool Recomputer::isComputable(unsigned number, const Work &work) const {
  const Item &item = items[number];
  if (item.leaf || !item.repeatable || work.received.contains(number))
    return false;
  if (item.score)
    return true;
  // Before the block.
  if (!work.members.contains(number))
    return item.cheap && !options.scoresOnly;
  switch (work.block.policy) {
  case KeepPolicy::Cut:
  case KeepPolicy::Cheap:
    return (item.cheap || getFlopsPerByte(number, work.block.policy) > 0) && !options.scoresOnly;
  case KeepPolicy::Products:
    return !isa<net::DotOp>(item.op);
  case KeepPolicy::Nothing:
    return true;
  }
  return false;
}

/// The bytes that recomputing a value for a block is worth: 0 if the policy does not weigh it.
int64_t Recomputer::getPrice(unsigned number, const Work &work) const {
  const Item &item = items[number];
  KeepPolicy policy = work.block.policy;
  if (item.cheap || item.score || policy == KeepPolicy::Products || policy == KeepPolicy::Nothing)
    return 0;
  // Moving an element takes as long as an operation. An element of a generated value takes all operations before it.
  uint64_t elements = typeOf(item.op->getResult(0)).getNumElements() * (item.generated ? kMostGenerating : 1);
  uint64_t flops = multiply(std::max<uint64_t>(getFlops(item.op), elements), getIterations(item.op)) /
                   static_cast<uint64_t>(getRanks(item.op));
  // An operation of just as many per byte as the bound costs less than it saves.
  return std::min<uint64_t>((std::max<uint64_t>(flops, 1) - 1) / getFlopsPerByte(number, policy), kTooLarge);
}

/// The values that the block's backward reads and the values from which these may be recomputed, in program order:
/// inside the block by its policy, before it by cheap operations.
SmallVector<unsigned, 0> Recomputer::findValues(Work &work) const {
  llvm::SetVector<unsigned, SmallVector<unsigned, 0>> values;
  for (const auto &[number, reads] : work.reads)
    values.insert(number);
  size_t most = work.members.size() + kMostBefore;
  for (size_t next = 0; next < values.size() && values.size() < most; ++next) {
    if (!isComputable(values[next], work))
      continue;
    Operation *op = items[values[next]].op;
    for (Value operand : op->getOperands())
      if (std::optional<unsigned> number = getNumber(operand)) {
        values.insert(*number);
        if (isReceived(items[*number].op, op))
          work.received[*number] = *getStage(op);
      }
  }
  SmallVector<unsigned, 0> sorted = values.takeVector();
  llvm::sort(sorted);
  return sorted;
}

void Recomputer::plan(Work &work) {
  SmallVector<unsigned, 0> values = findValues(work);
  DenseMap<unsigned, unsigned> indices;
  for (auto [index, value] : llvm::enumerate(values))
    indices[value] = index;
  KeepProblem problem;
  for (unsigned number : values) {
    const Item &item = items[number];
    KeepProblem::Value &value = problem.values.emplace_back();
    auto received = work.received.find(number);
    bool isKept = received == work.received.end() ? item.kept : copies.contains({number, received->second});
    value.bytes = item.leaf || isKept ? 0 : item.bytes;
    value.needed = work.reads.contains(number);
    bool isComputable = this->isComputable(number, work);
    for (Value operand : item.op->getOperands())
      if (std::optional<unsigned> maker = getNumber(operand)) {
        auto known = indices.find(*maker);
        // The operand is beyond the search.
        isComputable &= known != indices.end();
        if (known != indices.end())
          value.operands.push_back(known->second);
      }
    if (isComputable)
      value.price = getPrice(number, work);
  }
  KeepPlan plan = planKept(problem);
  for (auto [index, number] : llvm::enumerate(values)) {
    auto received = work.received.find(number);
    if (plan.kept[index] && received != work.received.end())
      copies.insert({number, received->second});
    else
      items[number].kept |= plan.kept[index];
    if (plan.computed[index])
      work.computed.push_back(number);
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Moves `op` after `after`. In contrast to `moveAfter` this keeps the cached order of the block valid, so that
/// `isBeforeInBlock` does not renumber all operations.
static void moveBehind(Operation *op, Operation *after) {
  op->remove();
  after->getBlock()->getOperations().insertAfter(after->getIterator(), op);
}

/// Moves a backward product that reads a recomputed value after its siblings, which read the same cotangent, so that
/// the value is recomputed next to the users of the siblings' results.
void Recomputer::delayProducts() {
  SmallVector<net::DotOp> products;
  for (Work &work : works)
    for (unsigned number : work.computed)
      for (OpOperand *read : work.reads.lookup(number))
        if (auto product = dyn_cast<net::DotOp>(read->getOwner()))
          products.push_back(product);
  for (net::DotOp product : products) {
    Operation *last = nullptr;
    for (Value operand : product->getOperands())
      for (Operation *user : operand.getUsers())
        if (isa<net::DotOp>(user) && net::getRole(user) == net::Role::Backward && product->isBeforeInBlock(user) &&
            (!last || last->isBeforeInBlock(user)))
          last = user;
    bool isInLoop = last && (loops.getLoop(product) || loops.getLoop(last));
    if (last && !isInLoop &&
        llvm::all_of(product->getUsers(), [&](Operation *user) { return last->isBeforeInBlock(user); }))
      moveBehind(product, last);
  }
}

/// For every recomputed value the first operation of backward that reads it, directly or through other recomputed
/// values.
DenseMap<unsigned, Operation *> Recomputer::findFirstUsers(const Work &work) const {
  DenseSet<unsigned> inside(work.computed.begin(), work.computed.end());
  DenseMap<unsigned, Operation *> firstUser;
  auto use = [&](unsigned number, Operation *user) {
    Operation *&first = firstUser[number];
    if (!first || positions.lookup(user) < positions.lookup(first))
      first = user;
  };
  for (unsigned number : llvm::reverse(work.computed)) {
    for (OpOperand *read : work.reads.lookup(number))
      use(number, read->getOwner());
    for (Value operand : items[number].op->getOperands())
      if (std::optional<unsigned> made = getNumber(operand); made && inside.contains(*made))
        use(*made, firstUser.lookup(number));
  }
  return firstUser;
}

Operation *Recomputer::clone(unsigned number, Operation *before, const DenseMap<unsigned, Operation *> &clones) {
  Operation *origin = items[number].op;
  IRMapping mapping;
  for (Value operand : origin->getOperands())
    if (std::optional<unsigned> maker = getNumber(operand))
      if (Operation *made = clones.lookup(*maker))
        mapping.map(operand, made->getResult(0));
  if (iterations.getForward(origin->getResult(0)))
    for (Value operand : origin->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, iterations.bring(operand));
  builder.setInsertionPoint(before);
  Operation *made = builder.clone(*origin, mapping);
  net::setRole(made, net::Role::Backward);
  forget(made, Inherit::Clone);
  net::kRecomputedAttr.set(origin, builder.getI64IntegerAttr(number));
  net::kRecomputesAttr.set(made, builder.getI64IntegerAttr(number));
  ++numClones;
  numFlops = llvm::SaturatingAdd(numFlops, multiply(getFlops(made), getIterations(origin)));
  return made;
}

/// The place to recompute the result of `origin` for `user`: before it, in the same iteration if `origin` is in a loop
/// of forward, otherwise before all loops.
Operation *Recomputer::getPlace(Operation *origin, Operation *user) const {
  return iterations.getForward(origin->getResult(0)) ? iterations.getPlace(user) : loops.hoist(user, {});
}

/// Clones the recomputed operations of a block, each before its first user.
void Recomputer::write(Work &work) {
  DenseMap<unsigned, Operation *> firstUser = findFirstUsers(work), clones;
  for (unsigned number : work.computed) {
    Operation *user = firstUser.lookup(number);
    Operation *made = clone(number, getPlace(items[number].op, user), clones);
    clones[number] = made;
    // A clone from before the block belongs to the block's scope.
    if (StringAttr scope = net::kScopeAttr.get(user); scope && !work.members.contains(number))
      net::kScopeAttr.set(made, scope);
    for (OpOperand *read : work.reads.lookup(number))
      read->set(made->getResult(0));
  }
}

LogicalResult Recomputer::run() {
  collect();
  findScores();
  SmallVector<Operation *> ops = llvm::map_to_vector(items, [](const Item &item) { return item.op; });
  FailureOr<SmallVector<RecomputeBlock, 0>> blocks = divideIntoBlocks(func, ops, options, locations);
  if (failed(blocks))
    return failure();
  for (RecomputeBlock &block : *blocks) {
    Work &work = works.emplace_back();
    work.members.insert(block.members.begin(), block.members.end());
    work.block = std::move(block);
  }
  addReads();
  // Values that are read and cannot be recomputed are kept for all blocks.
  for (const Work &work : works)
    for (const auto &[number, reads] : work.reads)
      items[number].kept |= !isComputable(number, work);
  for (Work &work : works)
    plan(work);
  delayProducts();
  for (Operation &op : func.getBody().front())
    positions[&op] = positions.size();
  for (Work &work : works)
    write(work);
  iterations.eraseUnread();
  numKept = llvm::count_if(items, [](const Item &item) { return item.kept && !item.leaf; });
  return success();
}

namespace {

struct RecomputePass : complete::impl::RecomputePassBase<RecomputePass> {
  using RecomputePassBase::RecomputePassBase;
#define GEN_PASS_OPTIONS_RECOMPUTEPASS
#include "meshwright/Complete/PassOptions.h.inc"
  RecomputePass(RecomputePassOptions options, RecomputeLocations locations)
      : RecomputePassBase(std::move(options)), locations(std::move(locations)) {}

  void runOnOperation() override {
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    RecomputePassOptions options = getOptions();
    std::optional<Mesh> mesh;
    if (MeshOp op = findMesh(getOperation()))
      mesh = op.getMesh();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      bool hasBackward = !func.isExternal() && llvm::any_of(func.getBody().front(), [](Operation &op) {
        return net::getRole(&op) == net::Role::Backward;
      });
      if (!hasBackward)
        continue;
      Recomputer recomputer(func, mesh, options, locations);
      if (failed(recomputer.run()))
        return signalPassFailure();
      numClones += recomputer.numClones;
      numFlops += recomputer.numFlops;
      numKept += recomputer.numKept;
    }
  }

  RecomputeLocations locations;
};

} // namespace

std::unique_ptr<Pass> complete::createRecomputePass(RecomputePassOptions options, RecomputeLocations locations) {
  return std::make_unique<RecomputePass>(std::move(options), std::move(locations));
}
