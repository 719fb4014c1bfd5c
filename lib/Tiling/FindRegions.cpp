//===- FindRegions.cpp - operations around a matrix of scores -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region grows from a product along values that have its rows and its columns. The sharding rules of the operations
// say which dimensions these are: a row is a part of a split by rows.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Traits.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Tiling/Region.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::tiling;
using dist::ShardingRule;
using dist::TensorRule;
using dist::TensorSplit;
using net::shapeOf;
using net::typeOf;

/// The most operations that make a value of indices which two readers do not share.
static constexpr size_t kMostIndices = 8;

namespace {

/// The places of one axis in the operands and results of an operation.
using Places = SmallVector<std::optional<Digit>, 4>;

/// Grows one region.
class Grower {
public:
  Grower(net::DotOp product, const net::LoopNest &nest, const RegionOptions &options,
         const DenseSet<Operation *> &taken)
      : product(product), nest(nest), options(options), taken(taken) {}

  std::optional<ScoreRegion> grow();

private:
  bool start();
  bool add(Operation *op);
  bool join(Operation *op);
  std::optional<Places> spread(const ShardingRule &rule, const Places &known, int64_t size) const;
  Places getKnown(Operation *op, unsigned axis) const;
  bool mayRepeat(Operation *op);
  bool mayJoin(Operation *op);
  void findDependent();
  bool isOutside(OpOperand &use) const;
  bool addNeighbours();
  std::optional<bool> addBetween();
  bool orient();
  bool leavesReduced(unsigned axis) const;
  bool subtractsRows(const Member &member) const;
  bool hasSoftmax() const;
  bool keepsScores();
  void addAxes();
  bool addAxis(unsigned dim);
  void forEachLabels(llvm::function_ref<void(Labels &)> fn);

  net::DotOp product;
  const net::LoopNest &nest;
  const RegionOptions &options;
  const DenseSet<Operation *> &taken;
  SmallVector<int64_t, 4> sizes;
  llvm::MapVector<Operation *, Member> members;
  SmallVector<Operation *> readers;
  /// Results of `mayRepeat` and `isMadeOfIndices` so far.
  DenseMap<Operation *, bool> repeatable, fromIndices;
};

} // namespace

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

static ShardingRule getRule(Operation *op) {
  auto interface = dyn_cast<dist::ShardingOpInterface>(op);
  return interface ? interface.getShardingRule() : ShardingRule::whole(op);
}

/// The labels of operand or result `index`, operands first.
static Labels &getLabels(Member &member, size_t index) {
  return index < member.operands.size() ? member.operands[index] : member.results[index - member.operands.size()];
}

static const TensorRule &getTensor(const ShardingRule &rule, unsigned index) {
  return index < rule.operands.size() ? rule.operands[index] : rule.results[index - rule.operands.size()];
}

/// The places of an axis of `size` in all tensors of an operation, given those in some; nothing if these do not agree
/// or the operation cannot be computed in parts along the axis.
std::optional<Places> Grower::spread(const ShardingRule &rule, const Places &known, int64_t size) const {
  std::optional<dist::FactorSplit> split;
  for (auto [index, digit] : llvm::enumerate(known)) {
    if (!digit)
      continue;
    auto own = dist::toFactorSplit(getTensor(rule, index), digit->dim, digit->extent, digit->stride, size);
    if (!own || (split && *own != *split))
      return std::nullopt;
    split = own;
  }
  Places places(known.size());
  if (!split)
    return places;
  const dist::FactorInfo &factor = rule.factors[split->factor];
  if (!factor.splittable || !factor.partialOperands.empty())
    return std::nullopt;
  for (unsigned index = 0; index != known.size(); ++index) {
    TensorSplit place = dist::toTensorSplit(getTensor(rule, index), *split, size);
    if (place.kind == TensorSplit::Kind::Illegal)
      return std::nullopt;
    if (place.kind == TensorSplit::Kind::Present)
      places[index] = Digit{place.dim, place.extent, place.stride};
    if (known[index] && known[index] != places[index])
      return std::nullopt;
  }
  return places;
}

/// The places of an axis in `op` that its neighbours in the region know.
Places Grower::getKnown(Operation *op, unsigned axis) const {
  Places known;
  for (Value operand : op->getOperands()) {
    const auto *maker = members.find(operand.getDefiningOp());
    bool isKnown = maker != members.end();
    known.push_back(isKnown ? maker->second.results[cast<OpResult>(operand).getResultNumber()][axis] : std::nullopt);
  }
  for (Value result : op->getResults()) {
    std::optional<Digit> &place = known.emplace_back();
    for (OpOperand &use : result.getUses())
      if (const auto *user = members.find(use.getOwner()); user != members.end() && !place)
        place = user->second.operands[use.getOperandNumber()][axis];
  }
  return known;
}

/// Adds `op` with what its neighbours know of rows and columns. False if they contradict each other.
bool Grower::add(Operation *op) {
  ShardingRule rule = getRule(op);
  Member member{op, SmallVector<Labels, 3>(op->getNumOperands()), SmallVector<Labels, 1>(op->getNumResults())};
  for (unsigned axis : {kRows, kColumns}) {
    std::optional<Places> places = spread(rule, getKnown(op, axis), sizes[axis]);
    if (!places)
      return false;
    for (auto [index, place] : llvm::enumerate(*places))
      getLabels(member, index).push_back(place);
  }
  // Members that read a result, and those that make an operand, see the axes where this operation does.
  for (auto [operand, labels] : llvm::zip(op->getOperands(), member.operands))
    if (const auto *maker = members.find(operand.getDefiningOp()); maker != members.end())
      if (maker->second.results[cast<OpResult>(operand).getResultNumber()] != labels)
        return false;
  for (auto [result, labels] : llvm::zip(op->getResults(), member.results))
    for (OpOperand &use : result.getUses())
      if (const auto *user = members.find(use.getOwner()); user != members.end())
        if (user->second.operands[use.getOperandNumber()] != labels)
          return false;
  members.insert({op, std::move(member)});
  return true;
}

//===----------------------------------------------------------------------===//
// Growth
//===----------------------------------------------------------------------===//

/// The largest dimension among `count` of a product's result from `first` on.
static unsigned findLongest(ArrayRef<int64_t> shape, unsigned first, unsigned count) {
  return std::max_element(shape.begin() + first, shape.begin() + first + count) - shape.begin();
}

/// Begins with the product: rows are a dimension of its left operand, columns one of the right.
bool Grower::start() {
  unsigned numBatch = product.getLhsBatch().size(), numLeft = product.getLhsFree().size(),
           numRight = product.getRhsFree().size();
  ArrayRef<int64_t> shape = shapeOf(product.getResult());
  if (numLeft == 0 || numRight == 0)
    return false;
  int64_t elements = typeOf(product.getResult()).getNumElements(),
          read = typeOf(product.getLhs()).getNumElements() + typeOf(product.getRhs()).getNumElements();
  if (elements < options.leastGrowth * read || getBytes(typeOf(product.getResult())) < options.minBytes)
    return false;
  unsigned row = findLongest(shape, numBatch, numLeft), column = findLongest(shape, numBatch + numLeft, numRight);
  sizes = {shape[row], shape[column]};
  if (sizes[kRows] < 2 || sizes[kColumns] < 2)
    return false;
  ShardingRule rule = getRule(product);
  Member member{product, SmallVector<Labels, 3>(2), SmallVector<Labels, 1>(1)};
  for (unsigned axis : {kRows, kColumns}) {
    unsigned dim = axis == kRows ? row : column;
    std::optional<Places> places = spread(rule, {std::nullopt, std::nullopt, Digit{dim, shape[dim], 1}}, shape[dim]);
    if (!places)
      return false;
    for (unsigned operand : {0, 1})
      member.operands[operand].push_back((*places)[operand]);
    member.results[0].push_back((*places)[2]);
  }
  members.insert({product, std::move(member)});
  return true;
}

static bool isSplat(Operation *op) {
  auto constant = dyn_cast<net::ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// True if the value of `op` is computed from indices, constants, and values of fewer than `small` elements, by
/// operations that move elements or compute each by itself; `known` has the results so far.
static bool isMadeOfIndices(Operation *op, int64_t small, DenseMap<Operation *, bool> &known) {
  if (isSplat(op) || isa<net::IotaOp>(op))
    return true;
  if (!op->hasTrait<OpTrait::Elementwise>() && !net::getMovement(op))
    return false;
  if (auto found = known.find(op); found != known.end())
    return found->second;
  bool isMade = llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    return typeOf(operand).getNumElements() < small || (maker && isMadeOfIndices(maker, small, known));
  });
  return known[op] = isMade;
}

/// Operations that cost little to compute in every tile, wherever they stand.
bool Grower::mayRepeat(Operation *op) { return isMadeOfIndices(op, sizes[kRows] * sizes[kColumns], repeatable); }

bool Grower::mayJoin(Operation *op) {
  if (op->getNumRegions() != 0 || op->hasTrait<net::LoopPart>() || isa<net::ConstantOp>(op) || !isPure(op) ||
      !isa<dist::ShardingOpInterface>(op) || op->getBlock() != product->getBlock() || taken.contains(op))
    return false;
  return nest.getLoop(op) == nest.getLoop(product) && net::getRole(op) == net::getRole(product) &&
         dist::getOn(op) == dist::getOn(product.getOperation());
}

bool Grower::join(Operation *op) { return members.contains(op) || (mayJoin(op) && add(op)); }

/// Marks the members that depend on a product.
void Grower::findDependent() {
  auto order = llvm::to_vector(llvm::make_pointer_range(llvm::make_second_range(members)));
  llvm::sort(order, [](const Member *a, const Member *b) { return a->op->isBeforeInBlock(b->op); });
  for (Member *member : order)
    member->dependent = isa<net::DotOp>(member->op) || llvm::any_of(member->op->getOperands(), [&](Value operand) {
                          const auto *maker = members.find(operand.getDefiningOp());
                          return maker != members.end() && maker->second.dependent;
                        });
}

/// Adds the readers of wide values that depend on the scores, and the makers of wide values. True if any was added.
bool Grower::addNeighbours() {
  size_t before = members.size();
  findDependent();
  for (size_t i = 0; i != members.size(); ++i) {
    Member member = members.begin()[i].second;
    if (member.dependent)
      for (auto [result, labels] : llvm::zip(member.op->getResults(), member.results))
        if (isWide(labels))
          for (Operation *user : result.getUsers())
            join(user);
    for (auto [operand, labels] : llvm::zip(member.op->getOperands(), member.operands)) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || members.contains(maker) || maker->getBlock() != product->getBlock())
        continue;
      if (!isWide(labels)) {
        // Masks compare them.
        if (isMadeOfIndices(maker, 0, fromIndices))
          add(maker);
        continue;
      }
      if (mayRepeat(maker))
        add(maker);
      else
        join(maker);
    }
  }
  return members.size() != before;
}

/// Adds the operations that depend on the region and on which it depends. True if any was added, nothing if one cannot
/// be.
std::optional<bool> Grower::addBetween() {
  Operation *first = nullptr, *last = nullptr;
  for (auto &[op, member] : members) {
    if (!member.dependent)
      continue;
    if (!first || op->isBeforeInBlock(first))
      first = op;
    if (!last || last->isBeforeInBlock(op))
      last = op;
  }
  auto isDependent = [&](Operation *op) {
    const auto *member = members.find(op);
    return member != members.end() && member->second.dependent;
  };
  llvm::SetVector<Operation *> after;
  for (Operation *op = first; op != last->getNextNode(); op = op->getNextNode()) {
    // A whole loop: the members are all in one.
    if (isa<net::LoopOp>(op))
      return std::nullopt;
    if (!isDependent(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
          Operation *maker = operand.getDefiningOp();
          return maker && (isDependent(maker) || after.contains(maker));
        }))
      after.insert(op);
  }
  readers.clear();
  DenseSet<Operation *> needed;
  bool hasAdded = false;
  for (Operation *op : llvm::reverse(after)) {
    bool isNeeded =
        llvm::any_of(op->getUsers(), [&](Operation *user) { return members.contains(user) || needed.contains(user); });
    if (!isNeeded) {
      readers.push_back(op);
      continue;
    }
    if (!join(op))
      return std::nullopt;
    needed.insert(op);
    hasAdded = true;
  }
  std::reverse(readers.begin(), readers.end());
  return hasAdded;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// True if the region does not answer for this read of a member's result.
bool Grower::isOutside(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (members.contains(user))
    return false;
  return !options.ignoresBackward || net::getRole(user) != net::Role::Backward;
}

/// True if `member` sums over an axis: an operand has it, and no result.
static bool isReduced(const Member &member, unsigned axis) {
  auto has = [&](const Labels &labels) { return labels[axis].has_value(); };
  return llvm::any_of(member.operands, has) && llvm::none_of(member.results, has);
}

/// True if what `member` reduces along an axis, if anything, is a sum that no member reads.
static bool leavesReduced(const Member &member, unsigned axis, llvm::function_ref<bool(Operation *)> isMember) {
  if (!isReduced(member, axis))
    return true;
  auto reduce = dyn_cast<net::ReduceOp>(member.op);
  bool isSum = isa<net::DotOp>(member.op) || (reduce && reduce.getKind() == ReduceKind::Sum);
  return isSum && llvm::none_of(member.op->getUsers(), isMember);
}

bool Grower::leavesReduced(unsigned axis) const {
  return llvm::all_of(llvm::make_second_range(members), [&](const Member &member) {
    return ::leavesReduced(member, axis, [&](Operation *op) { return members.contains(op); });
  });
}

bool tiling::addsUp(const ScoreRegion &region, unsigned axis) {
  return llvm::all_of(region.members, [&](const Member &member) {
    return leavesReduced(member, axis, [&](Operation *op) { return region.inside.contains(op); });
  });
}

int64_t tiling::countSums(const ScoreRegion &region, unsigned axis) {
  return llvm::count_if(region.members, [axis](const Member &member) { return isReduced(member, axis); });
}

void tiling::transpose(ScoreRegion &region) {
  std::swap(region.sizes[kRows], region.sizes[kColumns]);
  region.isTransposed = !region.isTransposed;
  for (Member &member : region.members)
    for (size_t index = 0; index != member.operands.size() + member.results.size(); ++index) {
      Labels &labels = getLabels(member, index);
      std::swap(labels[kRows], labels[kColumns]);
    }
}

/// True if `member` subtracts a value of each row, for an exponential.
bool Grower::subtractsRows(const Member &member) const {
  if (!isa<net::SubtractOp>(member.op) || !isWide(member.results[0]) ||
      llvm::none_of(member.op->getUsers(), [](Operation *user) { return isa<net::ExpOp>(user); }))
    return false;
  const auto *subtracted = members.find(member.op->getOperand(1).getDefiningOp());
  if (subtracted == members.end() || !net::movesWhole(subtracted->first))
    return false;
  const Labels &labels = subtracted->second.operands[0];
  return labels[kRows] && !labels[kColumns];
}

/// True if members reduce along the columns and others read the result, or read what has been reduced before.
bool Grower::hasSoftmax() const {
  return llvm::any_of(llvm::make_second_range(members), [&](const Member &member) {
    bool isRead = llvm::any_of(member.op->getUsers(), [&](Operation *user) { return members.contains(user); });
    return (isa<net::ReduceOp>(member.op) && isReduced(member, kColumns) && isRead) || subtractsRows(member);
  });
}

/// True if all values as large as the scores that depend on them stay inside, and a product makes or reads one.
bool Grower::keepsScores() {
  int64_t elements = typeOf(product.getResult()).getNumElements();
  bool hasInner = false;
  for (const auto &[op, member] : members) {
    if (!member.dependent)
      continue;
    for (auto [result, labels] : llvm::zip(op->getResults(), member.results)) {
      if (!isWide(labels) || typeOf(result).getNumElements() < elements)
        continue;
      if (llvm::any_of(result.getUses(), [&](OpOperand &use) { return isOutside(use); }))
        return false;
      auto isProduct = [](Operation *other) { return isa<net::DotOp>(other); };
      hasInner |= isProduct(op) || llvm::any_of(result.getUsers(), isProduct);
    }
  }
  return hasInner;
}

void Grower::forEachLabels(llvm::function_ref<void(Labels &)> fn) {
  for (auto &[op, member] : members)
    for (size_t index = 0; index != member.operands.size() + member.results.size(); ++index)
      fn(getLabels(member, index));
}

/// Makes rows the axis along which tiles add up.
bool Grower::orient() {
  if (leavesReduced(kRows) && hasSoftmax())
    return true;
  std::swap(sizes[kRows], sizes[kColumns]);
  forEachLabels([](Labels &labels) { std::swap(labels[kRows], labels[kColumns]); });
  return leavesReduced(kRows) && hasSoftmax();
}

/// Adds dimension `dim` of the product as an axis, if every member can be divided by it.
bool Grower::addAxis(unsigned dim) {
  unsigned axis = sizes.size();
  int64_t size = shapeOf(product.getResult())[dim];
  sizes.push_back(size);
  forEachLabels([](Labels &labels) { labels.emplace_back(); });
  members[product].results[0][axis] = Digit{dim, size, 1};
  llvm::SetVector<Operation *> worklist;
  worklist.insert(product);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    Member &member = members[op];
    Places known = getKnown(op, axis);
    for (auto [index, place] : llvm::enumerate(known)) {
      std::optional<Digit> &own = getLabels(member, index)[axis];
      if (own && place && *own != *place)
        return false;
      if (own)
        place = own;
    }
    std::optional<Places> places = spread(getRule(op), known, size);
    if (!places)
      return false;
    bool hasChanged = op == product;
    for (auto [index, place] : llvm::enumerate(*places)) {
      std::optional<Digit> &own = getLabels(member, index)[axis];
      hasChanged |= own != place;
      own = place;
    }
    if (!hasChanged)
      continue;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); members.contains(maker))
        worklist.insert(maker);
    for (Operation *user : op->getUsers())
      if (members.contains(user))
        worklist.insert(user);
  }
  // A dependent value that lacks the axis is a sum over it, and leaves the region.
  auto lacks = [&](const Member &member) {
    return member.dependent && llvm::any_of(member.results, [&](const Labels &labels) { return !labels[axis]; });
  };
  return leavesReduced(axis) && llvm::all_of(llvm::make_second_range(members), [&](const Member &member) {
           return !lacks(member) || isReduced(member, axis);
         });
}

void Grower::addAxes() {
  Labels seed = members[product].results[0];
  for (auto [dim, size] : llvm::enumerate(shapeOf(product.getResult()))) {
    if (size == 1 || dim == seed[kRows]->dim || dim == seed[kColumns]->dim || addAxis(dim))
      continue;
    sizes.pop_back();
    forEachLabels([](Labels &labels) { labels.pop_back(); });
  }
}

std::optional<ScoreRegion> Grower::grow() {
  if (!start())
    return std::nullopt;
  for (;;) {
    if (addNeighbours())
      continue;
    std::optional<bool> added = addBetween();
    if (!added)
      return std::nullopt;
    if (!*added)
      break;
  }
  if (!orient() || !keepsScores())
    return std::nullopt;
  addAxes();
  ScoreRegion region;
  region.product = product;
  region.sizes = sizes;
  for (auto &[op, member] : members) {
    region.inside.insert(op);
    region.members.push_back(std::move(member));
  }
  llvm::sort(region.members, [](const Member &a, const Member &b) { return a.op->isBeforeInBlock(b.op); });
  region.readers = readers;
  return region;
}

/// Gives every repetition of a value made of indices a value of its own.
static void separateIndices(Block &block) {
  DenseMap<Operation *, bool> known;
  for (auto broadcast : llvm::make_early_inc_range(block.getOps<net::BroadcastOp>())) {
    // The value, back to the index from which it is made.
    Operation *maker = broadcast.getOperand().getDefiningOp();
    if (!maker || maker->hasOneUse() || !isMadeOfIndices(maker, 0, known))
      continue;
    llvm::SetVector<Operation *> chain;
    chain.insert(maker);
    for (size_t next = 0; next != chain.size() && chain.size() <= kMostIndices; ++next)
      for (Value operand : chain[next]->getOperands())
        chain.insert(operand.getDefiningOp());
    if (chain.size() > kMostIndices)
      continue;
    OpBuilder builder(broadcast);
    IRMapping mapping;
    SmallVector<Operation *> order(chain.begin(), chain.end());
    llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *op : order)
      builder.clone(*op, mapping);
    broadcast.getOperandMutable().assign(mapping.lookup(broadcast.getOperand()));
  }
}

SmallVector<ScoreRegion, 0> tiling::findRegions(Block &block, const net::LoopNest &nest, const RegionOptions &options) {
  SmallVector<ScoreRegion, 0> regions;
  DenseSet<Operation *> taken;
  for (auto product : block.getOps<net::DotOp>()) {
    if (taken.contains(product) || (options.role && net::getRole(product) != options.role))
      continue;
    if (options.loops && !options.loops->contains(nest.getLoop(product)))
      continue;
    std::optional<ScoreRegion> region = Grower(product, nest, options, taken).grow();
    if (!region)
      continue;
    for (const Member &member : region->members)
      if (member.dependent)
        taken.insert(member.op);
    regions.push_back(std::move(*region));
  }
  return regions;
}

SmallVector<ScoreRegion, 0> tiling::findRegionsWithMasks(Block &block, const RegionOptions &options) {
  SmallVector<ScoreRegion, 0> regions = findRegions(block, net::LoopNest::findBodies(block), options);
  if (regions.empty())
    return regions;
  separateIndices(block);
  return findRegions(block, net::LoopNest::findBodies(block), options);
}

void tiling::replaceRegions(ArrayRef<ScoreRegion> regions, llvm::function_ref<bool(size_t)> replace) {
  DenseSet<Operation *> gone;
  llvm::SetVector<Operation *> repeated;
  for (auto [index, region] : llvm::enumerate(regions)) {
    // A region that depends on another one inside of it was found with operations that are gone.
    if (llvm::any_of(region.readers, [&](Operation *op) { return gone.contains(op); }))
      continue;
    SmallVector<Operation *> dependent, others;
    for (const Member &member : region.members)
      (member.dependent ? dependent : others).push_back(member.op);
    if (!replace(index))
      continue;
    gone.insert(dependent.begin(), dependent.end());
    repeated.insert(others.begin(), others.end());
  }
  SmallVector<Operation *> order(repeated.begin(), repeated.end());
  llvm::sort(order, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : order)
    if (op->use_empty())
      op->erase();
}

Value tiling::getRepeated(Value value) {
  while (Operation *maker = value.getDefiningOp()) {
    if (!net::movesWhole(maker))
      break;
    value = maker->getOperand(0);
  }
  return value;
}
