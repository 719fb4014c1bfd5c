//===- Storage.cpp - slices and owners of sharded variables ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sharded data parallelism separates storage from computation: a variable has a storage placement and a compute
// placement. A parameter that is split over an axis of the batch, by the strategy or by the graph, is only stored so.
// The optimizer's values (state, gradients, and its own read of the parameter) take the storage placement; forward and
// backward read the parameter in the compute placement. All conversions follow from the difference.
//
//===----------------------------------------------------------------------===//

#include "Storage.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Given/Given.h"
#include "dialects/Net/Net.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Units.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using strategy::StrategyFile;
using strategy::Zero;

static int64_t countElements(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The size of the part of dimension `dim` that the digits leave unsplit.
static int64_t getRest(const Placement &placement, unsigned dim, int64_t size) {
  return placement.dims[dim].empty() ? size : placement.dims[dim].back().stride;
}

/// Splits dimension `dim` of `size` over `axes`: first over those that divide it, so that at most one does not.
/// Operations read single digits, whose period must divide the dimension: after parts of unequal size, such as 22, 22
/// and 20 of 64 indices, no further digit fits. Returns the remaining axes.
static SmallVector<Axis> addDigits(Placement &placement, unsigned dim, int64_t size, const Mesh &mesh,
                                   ArrayRef<Axis> axes) {
  SmallVector<Axis> left(axes);
  int64_t extent = getRest(placement, dim, size);
  while (!left.empty() && extent > 1 && size % extent == 0) {
    Axis *next = llvm::find_if(left, [&](Axis axis) { return extent % mesh.getSize(axis) == 0; });
    if (next == left.end())
      next = left.begin();
    auto stride = static_cast<int64_t>(llvm::divideCeil(extent, mesh.getSize(*next)));
    placement.dims[dim].push_back({*next, extent, stride});
    extent = stride;
    left.erase(next);
  }
  return left;
}

bool annotate::addSlices(Placement &placement, ArrayRef<int64_t> shape, const Mesh &mesh, ArrayRef<Axis> axes) {
  int64_t members = mesh.getGroupSize(axes);
  int64_t whole = countElements(placement.getLocalShape(shape)), least = whole;
  std::optional<Placement> best;
  SmallVector<Axis> rest;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    Placement sliced = placement;
    SmallVector<Axis> left = addDigits(sliced, dim, size, mesh, axes);
    int64_t elements = countElements(sliced.getLocalShape(shape));
    if (elements >= least)
      continue;
    least = elements;
    best = sliced;
    rest = left;
    if (elements * members == whole)
      break;
  }
  if (!best)
    return false;
  placement = *best;
  // The remaining axes may split other dimensions.
  addSlices(placement, shape, mesh, rest);
  return true;
}

Placement annotate::placeLike(Placement placement, ArrayRef<int64_t> shape, ArrayRef<int64_t> likeShape) {
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != likeShape[dim])
      placement.dims[dim].clear();
  return placement;
}

//===----------------------------------------------------------------------===//
// Owners
//===----------------------------------------------------------------------===//

namespace {

/// Loads and their owners.
class Balance {
public:
  Balance(ArrayRef<int64_t> loads, int64_t owners) : loads(loads), sums(owners, 0), owner(loads.size(), 0) {}

  void placeLargestFirst();
  /// Moves one load or exchanges two so that the larger of the two sums decreases. Returns false if no change does.
  bool improve();
  ArrayRef<int64_t> getOwners() const { return owner; }

private:
  ArrayRef<int64_t> loads;
  SmallVector<int64_t> sums, owner;
};

} // namespace

void Balance::placeLargestFirst() {
  SmallVector<unsigned> order(loads.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](unsigned left, unsigned right) { return loads[left] > loads[right]; });
  // Ordered by load, then by rank.
  std::set<std::pair<int64_t, int64_t>> queue;
  for (int64_t rank = 0; rank < static_cast<int64_t>(sums.size()); ++rank)
    queue.insert({0, rank});
  for (unsigned load : order) {
    auto [sum, rank] = *queue.begin();
    queue.erase(queue.begin());
    owner[load] = rank;
    sums[rank] = sum + loads[load];
    queue.insert({sums[rank], rank});
  }
}

bool Balance::improve() {
  int64_t fullest = llvm::max_element(sums) - sums.begin();
  // The change with the smallest resulting maximum; `bestTake` is -1 for a move.
  int64_t bestSum = sums[fullest], bestGive = -1, bestTake = -1, bestRank = -1;
  auto consider = [&](int64_t give, int64_t take, int64_t rank) {
    int64_t change = loads[give] - (take < 0 ? 0 : loads[take]);
    int64_t larger = std::max(sums[fullest] - change, sums[rank] + change);
    if (change > 0 && larger < bestSum)
      std::tie(bestSum, bestGive, bestTake, bestRank) = std::tie(larger, give, take, rank);
  };
  for (int64_t give = 0; give < static_cast<int64_t>(loads.size()); ++give) {
    if (owner[give] != fullest)
      continue;
    for (int64_t rank = 0; rank < static_cast<int64_t>(sums.size()); ++rank)
      if (rank != fullest)
        consider(give, -1, rank);
    for (int64_t take = 0; take < static_cast<int64_t>(loads.size()); ++take)
      if (owner[take] != fullest)
        consider(give, take, owner[take]);
  }
  if (bestGive < 0)
    return false;
  int64_t change = loads[bestGive] - (bestTake < 0 ? 0 : loads[bestTake]);
  owner[bestGive] = bestRank;
  if (bestTake >= 0)
    owner[bestTake] = fullest;
  sums[fullest] -= change;
  sums[bestRank] += change;
  return true;
}

SmallVector<int64_t> annotate::balanceOwners(ArrayRef<int64_t> loads, int64_t owners) {
  Balance balance(loads, owners);
  balance.placeLargestFirst();
  // Every round reduces the largest sum, or one of several equal ones; the bound keeps the total near linear.
  for (int64_t round = 0; round < 4 * owners && balance.improve(); ++round)
    ;
  return SmallVector<int64_t>(balance.getOwners());
}

SmallVector<int64_t> annotate::orderOwners(ArrayRef<int64_t> loads, int64_t owners) {
  int64_t total = std::accumulate(loads.begin(), loads.end(), int64_t(0)), placed = 0, current = 0;
  SmallVector<int64_t> result;
  for (int64_t load : loads) {
    if (current + 1 < owners && static_cast<__int128>(placed) * owners > static_cast<__int128>(total) * (current + 1))
      ++current;
    result.push_back(current);
    placed += load;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

namespace {

/// Applies `zero` to one module.
class StorageAnnotator {
public:
  StorageAnnotator(ModuleOp module, const StrategyFile &file)
      : module(module), context(module.getContext()), file(file), zero(file.get().zero()), mesh(file.getMesh()) {}

  LogicalResult run();

private:
  /// A parameter with its state, gradient and placements.
  struct Parameter {
    net::VariableOp variable;
    /// Where it is computed with, where its optimizer works on it, and where it is kept itself.
    Placement compute, kept, own;
    /// True if its placements came before `zero`.
    bool isStored = false;
    SmallVector<net::VariableOp> state;
    Operation *gradient = nullptr;
    int64_t bytes = 0;
  };

  LogicalResult collect();
  LogicalResult takeStored(Parameter &parameter);
  bool isComputedWith(net::VariableOp variable) const;
  void slice();
  void chooseOwners();
  void chooseOwners(ArrayRef<Parameter *> parameters);
  void apply(Parameter &parameter);
  void placeAccumulators();
  void splitReads(Parameter &parameter, bool keepsParameter);
  bool takesParts(Operation *user, const Placement &stored) const;
  bool isPersistent(const Parameter &parameter) const;
  void warnOfMatrices() const;
  void warnOfNothing() const;
  MappingAttr toAttr(const Placement &placement, net::VariableOp variable) const {
    return placement.toAttr(context, mesh, variable.getTensorType().getShape());
  }

  ModuleOp module;
  MLIRContext *context;
  const StrategyFile &file;
  const Zero &zero;
  Mesh mesh;
  SmallVector<Axis> axes, dataAxes;
  llvm::MapVector<StringAttr, Parameter> parameters;
  llvm::DenseMap<Attribute, SmallVector<net::ReadOp>> reads;
};

} // namespace

/// True if the graph splits a variable that operations other than elementwise ones read. In a step of which no
/// parameters are known these are its parameters; the state of an optimizer is read elementwise.
bool StorageAnnotator::isComputedWith(net::VariableOp variable) const {
  auto found = reads.find(variable.getSymNameAttr());
  return given::kShardingAttr.isOn(variable) && variable.getKind() == net::VariableKind::Buffer &&
         found != reads.end() && llvm::any_of(found->second, [](net::ReadOp read) {
           return llvm::any_of(read->getUsers(),
                               [](Operation *user) { return !user->hasTrait<OpTrait::Elementwise>(); });
         });
}

LogicalResult StorageAnnotator::collect() {
  for (auto func : module.getOps<func::FuncOp>())
    func.walk([&](net::ReadOp read) { reads[read.getVariableAttr().getAttr()].push_back(read); });
  bool areKnown = llvm::any_of(module.getOps<net::VariableOp>(), [](net::VariableOp variable) {
    return variable.getKind() == net::VariableKind::Parameter;
  });
  for (auto variable : module.getOps<net::VariableOp>()) {
    if (variable.getKind() != net::VariableKind::Parameter && (areKnown || !isComputedWith(variable)))
      continue;
    Parameter &parameter = parameters[variable.getSymNameAttr()];
    parameter.variable = variable;
    ArrayRef<int64_t> shape = variable.getTensorType().getShape();
    parameter.compute = Placement::replicated(shape.size());
    if (auto mapping = kMappingAttr.get(variable)) {
      auto resolved = Placement::resolve(mapping, mesh, shape, [&] { return variable.emitError(); });
      if (failed(resolved))
        return failure();
      parameter.compute = *resolved;
    }
    parameter.own = parameter.compute;
    for (Axis axis : dataAxes)
      parameter.compute.erase(axis);
    parameter.kept = parameter.own;
    parameter.bytes = getBytes(variable.getTensorType().clone(parameter.compute.getLocalShape(shape)));
  }
  for (auto variable : module.getOps<net::VariableOp>())
    if (variable.getLike() && variable.getKind() != net::VariableKind::Accumulator)
      if (auto found = parameters.find(StringAttr::get(context, *variable.getLike())); found != parameters.end())
        found->second.state.push_back(variable);
  for (auto &[name, parameter] : parameters)
    if (failed(takeStored(parameter)))
      return failure();
  for (auto func : module.getOps<func::FuncOp>())
    func.walk([&](Operation *op) {
      StringRef name = net::getUserName(op);
      if (op->getNumResults() == 0 || !name.consume_front(net::kGradientPrefix))
        return;
      auto found = parameters.find(StringAttr::get(context, name));
      if (found != parameters.end())
        found->second.gradient = op;
    });
  return success();
}

/// Takes a storage that is given already: that of the parameter, or that of its state, if it splits over more axes of
/// the batch.
LogicalResult StorageAnnotator::takeStored(Parameter &parameter) {
  ArrayRef<int64_t> shape = parameter.variable.getTensorType().getShape();
  auto countSplits = [&](const Placement &placement) {
    return llvm::count_if(dataAxes, [&](Axis axis) { return placement.findSplit(axis).has_value(); });
  };
  for (net::VariableOp state : parameter.state) {
    auto mapping = kMappingAttr.get(state);
    if (!mapping || state.getTensorType().getShape() != shape)
      continue;
    auto placement = Placement::resolve(mapping, mesh, shape, [&] { return state.emitError(); });
    if (failed(placement))
      return failure();
    Placement computed = *placement;
    for (Axis axis : dataAxes)
      computed.erase(axis);
    if (computed == parameter.compute && countSplits(*placement) > countSplits(parameter.kept))
      parameter.kept = *placement;
  }
  parameter.isStored = countSplits(parameter.kept) > 0;
  return success();
}

void StorageAnnotator::slice() {
  for (auto &[name, parameter] : parameters)
    if (!parameter.isStored)
      annotate::addSlices(parameter.kept, parameter.variable.getTensorType().getShape(), mesh, axes);
}

/// Assigns owners within the group to `parameters`, which the same ranks compute with.
void StorageAnnotator::chooseOwners(ArrayRef<Parameter *> parameters) {
  SmallVector<int64_t> loads;
  for (Parameter *parameter : parameters)
    loads.push_back(parameter->bytes);
  int64_t members = mesh.getGroupSize(axes);
  SmallVector<int64_t> owners =
      zero.order() == Zero::IN_ORDER ? annotate::orderOwners(loads, members) : annotate::balanceOwners(loads, members);
  for (auto [parameter, owner] : llvm::zip(parameters, owners)) {
    // The first axis is the slowest.
    int64_t rest = owner;
    for (Axis axis : llvm::reverse(axes)) {
      parameter->kept.support.push_back({axis, {rest % mesh.getSize(axis)}});
      rest /= mesh.getSize(axis);
    }
    llvm::sort(parameter->kept.support, [](const auto &a, const auto &b) { return a.first < b.first; });
  }
}

/// The ranks of each pipeline stage form separate groups.
void StorageAnnotator::chooseOwners() {
  std::map<int64_t, SmallVector<Parameter *>> parametersOfStage;
  std::optional<Axis> stages = mesh.find(file.getStageAxis());
  for (auto &[name, parameter] : parameters)
    if (!parameter.isStored)
      parametersOfStage[stages ? parameter.compute.getHolder(*stages).value_or(-1) : -1].push_back(&parameter);
  for (auto &[stage, ofStage] : parametersOfStage)
    chooseOwners(ofStage);
}

/// True if the parameter itself stays in the compute placement, apart from its gradient and state.
bool StorageAnnotator::isPersistent(const Parameter &parameter) const {
  return zero.stage() < 3 || parameter.bytes < Kilobytes(zero.persist_below_kilobytes()).getBytes();
}

/// True if the graph itself takes the parts of a variable that ranks along the axes of the batch store: what computes
/// with them needs no others, as experts of which each rank has some.
bool StorageAnnotator::takesParts(Operation *user, const Placement &stored) const {
  auto constrain = dyn_cast<given::ConstrainOp>(user);
  given::ShardingAttr sharding = constrain ? constrain.getSharding().value_or(nullptr) : nullptr;
  bool takes = false;
  for (Axis axis : dataAxes) {
    auto split = stored.findSplit(axis);
    if (!split)
      continue;
    if (!sharding || sharding.findDim(StringAttr::get(context, mesh.getName(axis))) != split->first)
      return false;
    takes = true;
  }
  return takes;
}

/// Gives the optimizer, and what takes stored parts, a read of their own in the storage placement; all other reads stay
/// in the compute placement.
void StorageAnnotator::splitReads(Parameter &parameter, bool keepsParameter) {
  StringAttr name = parameter.variable.getSymNameAttr();
  auto place = [&](net::ReadOp read, const Placement &placement) {
    kResultsAttr.set(read, ArrayAttr::get(context, toAttr(placement, parameter.variable)));
  };
  for (net::ReadOp read : llvm::to_vector(reads.lookup(name))) {
    net::ReadOp update, parts;
    auto add = [&](const Placement &placement) {
      OpBuilder builder(read);
      auto made = net::ReadOp::create(builder, read.getLoc(), read.getType(), read.getVariable());
      place(made, placement);
      return made;
    };
    for (OpOperand &use : llvm::make_early_inc_range(read.getResult().getUses())) {
      // Where no roles are known the update is what works element by element.
      Operation *user = use.getOwner();
      bool isUpdate = parameter.variable.getKind() == net::VariableKind::Parameter
                          ? parameter.gradient && net::getRole(user) == net::Role::Optimize
                          : user->hasTrait<OpTrait::Elementwise>();
      if (!isUpdate && takesParts(user, parameter.own)) {
        parts = parts ? parts : add(parameter.own);
        use.set(parts.getResult());
      }
      if (!isUpdate)
        continue;
      if (!update) {
        update = add(parameter.kept);
        net::setRole(update, net::Role::Optimize);
      }
      use.set(update.getResult());
    }
    if (keepsParameter)
      place(read, parameter.compute);
    if (read.getResult().use_empty())
      read.erase();
  }
}

void StorageAnnotator::apply(Parameter &parameter) {
  MappingAttr kept = toAttr(parameter.kept, parameter.variable);
  ArrayRef<int64_t> shape = parameter.variable.getTensorType().getShape();
  // The state of a parameter that is stored already is in place.
  for (net::VariableOp state : parameter.state)
    if (!parameter.isStored)
      state->setAttr(kMappingAttr,
                     toAttr(annotate::placeLike(parameter.kept, state.getTensorType().getShape(), shape), state));
  if (parameter.gradient)
    kResultsAttr.set(parameter.gradient, ArrayAttr::get(context, kept));
  if (!parameter.isStored && !isPersistent(parameter))
    parameter.own = parameter.kept;
  splitReads(parameter, parameter.own != parameter.compute);
  if (parameter.own != parameter.compute)
    kMappingAttr.set(parameter.variable, toAttr(parameter.own, parameter.variable));
}

/// If gradients are reduced in every step, they are accumulated in the storage placement. Otherwise accumulators follow
/// the unreduced gradients.
void StorageAnnotator::placeAccumulators() {
  if (file.get().train().gradient_accumulation().reduce() != strategy::GradientAccumulation::EVERY_STEP)
    return;
  for (auto variable : module.getOps<net::VariableOp>()) {
    if (variable.getKind() != net::VariableKind::Accumulator || kMappingAttr.isOn(variable) || !variable.getLike())
      continue;
    auto parameter = parameters.find(StringAttr::get(context, *variable.getLike()));
    if (parameter != parameters.end())
      kMappingAttr.set(variable, toAttr(parameter->second.kept, variable));
  }
}

/// The states from which products of the update are computed: such an update is one of whole matrices.
static llvm::DenseSet<StringRef> findMultipliedStates(ModuleOp module) {
  auto isOfUpdate = [](Operation *op) { return net::getRole(op) == net::Role::Optimize; };
  SmallVector<Operation *> next;
  module.walk([&](net::DotOp dot) {
    if (isOfUpdate(dot))
      next.push_back(dot);
  });
  llvm::DenseSet<Operation *> visited(next.begin(), next.end());
  llvm::DenseSet<StringRef> states;
  while (!next.empty()) {
    Operation *op = next.pop_back_val();
    if (auto read = dyn_cast<net::ReadOp>(op))
      states.insert(read.getVariable());
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && isOfUpdate(maker) && visited.insert(maker).second)
        next.push_back(maker);
  }
  return states;
}

/// Warns about the traffic of slices under an optimizer of whole matrices.
void StorageAnnotator::warnOfMatrices() const {
  int64_t bytes = 0, count = 0;
  llvm::DenseSet<StringRef> multiplied = findMultipliedStates(module);
  for (const auto &[name, parameter] : parameters)
    if (llvm::any_of(parameter.state, [&](net::VariableOp state) { return multiplied.contains(state.getSymName()); })) {
      bytes += parameter.bytes;
      ++count;
    }
  if (count > 0)
    emitWarning(file.getLoc(context, "zero.ownership"))
        << "the optimizer multiplies whole matrices, but " << count << " of " << bytes
        << " bytes are kept in slices, and their products exchange more than that in every step; ownership: WHOLE "
           "avoids that";
}

/// Warns if there is nothing to shard, except for programs that evaluate, which have no state.
void StorageAnnotator::warnOfNothing() const {
  if (!file.matchesAll())
    return;
  int64_t sharded = 0, states = 0;
  bool hasGradients = false;
  for (const auto &[name, parameter] : parameters) {
    if (parameter.kept == parameter.compute)
      continue;
    ++sharded;
    states += static_cast<int64_t>(parameter.state.size());
    hasGradients |= parameter.gradient != nullptr;
  }
  auto warn = [&] { return emitWarning(file.getLoc(context, "zero")) << "zero has no effect: "; };
  if (parameters.empty())
    warn() << "there are no parameters; list them in model.parameters";
  else if (sharded == 0)
    warn() << "none of " << parameters.size()
           << " parameters can be divided over its axes: each has one element, or is split into parts of unequal size";
  else if (zero.stage() == 1 && states == 0)
    warn() << "stage 1 shards the state of the optimizer, and none of " << parameters.size() << " parameters has any";
  else if (zero.stage() == 2 && states == 0 && !hasGradients)
    warn() << "stage 2 shards gradients and the state of the optimizer, and none of " << parameters.size()
           << " parameters has either";
}

LogicalResult StorageAnnotator::run() {
  for (const std::string &name : file.get().data().axes())
    if (Axis axis = *mesh.find(name); mesh.getSize(axis) > 1)
      dataAxes.push_back(axis);
  for (const std::string &name : zero.axes())
    if (Axis axis = *mesh.find(name); mesh.getSize(axis) > 1)
      axes.push_back(axis);
  if (dataAxes.empty())
    return success();
  if (failed(collect()))
    return failure();
  if (axes.empty()) {
    // The graph or `place` may store variables.
  } else if (zero.ownership() == Zero::WHOLE) {
    chooseOwners();
  } else {
    slice();
    warnOfMatrices();
  }
  if (!axes.empty())
    warnOfNothing();
  for (auto &[name, parameter] : parameters)
    if (parameter.kept != parameter.compute)
      apply(parameter);
  if (!axes.empty() || llvm::any_of(parameters, [](const auto &entry) { return entry.second.isStored; }))
    placeAccumulators();
  return success();
}

LogicalResult annotate::annotateStorage(ModuleOp module, const StrategyFile &file) {
  return StorageAnnotator(module, file).run();
}
