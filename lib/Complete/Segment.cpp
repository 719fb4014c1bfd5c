//===- Segment.cpp - fetches of parameters by segment ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives every segment of forward and backward its own reads of the parameters that are stored in another placement.
// Partition turns every such read into a conversion, the fetch; attributes state when it starts. Translates between the
// IR and SegmentPlanner.
//
//===----------------------------------------------------------------------===//

#include "Anchors.h"
#include "Graph.h"
#include "SegmentPlanner.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Loops.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Uses.h"
#include "meshwright/Complete/Passes.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Support/Stages.h"
#include "meshwright/Support/Units.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::complete {
#define GEN_PASS_DEF_SEGMENTPASS
#include "meshwright/Complete/Passes.h.inc"
} // namespace meshwright::complete

#define DEBUG_TYPE "dist-complete-segment"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

namespace {

/// Rewrites one function.
class Segmenter {
public:
  Segmenter(func::FuncOp func, const Mesh &mesh, const std::optional<StageMap> &stages,
            const SegmentPassOptions &options, const SegmentLocations &locations)
      : func(func), loops(net::LoopNest::findBodies(func.getBody().front())), mesh(mesh), stages(stages),
        options(options), locations(locations), builder(func.getContext()) {}

  LogicalResult run();
  const SegmentPlan &getPlan() const { return plan; }

private:
  /// A parameter whose storage placement differs from its compute placement.
  struct Parameter {
    Placement kept, compute;
    SmallVector<int64_t> shape;
    /// The element type of the computation and of the fetch.
    Type element;
    /// With axes of backward: the placement in which the value waits for backward, the last operation of forward that
    /// uses the value, and the waiting value once it exists.
    std::optional<Placement> slice;
    Operation *lastForward = nullptr;
    Value held;
  };

  // Reading the program.
  LogicalResult addRead(net::ReadOp read);
  void addOp(Operation *op);
  LogicalResult collect();
  std::optional<Placement> getSlice(const Parameter &parameter) const;
  void chooseSlices();

  // Planning.
  LogicalResult findCuts();
  LogicalResult checkLive();
  void setBounds();

  // Writing.
  void writeSegment(unsigned number);
  Value getValue(Value value, std::optional<unsigned> segment, Operation *user);
  bool isFetched(Value value) const;
  Value cloneFetched(Value value);
  Value getFetched(Value value, std::optional<unsigned> segment, Operation *user);
  Value createFetch(Value value, unsigned fetch, Operation *user);
  Value createReshard(Value value, const Placement &from, const Placement &to, const Parameter &parameter);
  void holdSlices(Operation *op, unsigned segment);
  void setPlace(Operation *op, unsigned segment, Operation *user);
  void eraseDead();

  func::FuncOp func;
  /// Fetches for an operation in a loop are placed before the loop.
  net::LoopNest loops;
  const Mesh &mesh;
  const std::optional<StageMap> &stages;
  const SegmentPassOptions &options;
  const SegmentLocations &locations;
  OpBuilder builder;

  SmallVector<Parameter, 0> parameters;
  llvm::MapVector<std::tuple<Attribute, Attribute, Type>, unsigned> numbers;
  llvm::MapVector<Type, unsigned> types;
  /// The parameter of each value derived from one by layout alone.
  DenseMap<Value, unsigned> source;
  /// The operations of forward and backward, except layouts of parameters.
  SmallVector<Operation *, 0> items;
  /// Layout operations and reads that are replaced, and users outside forward and backward.
  SmallVector<Operation *, 0> replaced, outside;

  SymbolTableCollection symbols;
  SegmentProblem problem;
  SegmentPlan plan;
  /// Values created so far: of fetches, and of layout operations by segment.
  DenseMap<unsigned, Value> fetched;
  DenseMap<std::pair<unsigned, Value>, Value> clones;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading the program
//===----------------------------------------------------------------------===//

LogicalResult Segmenter::addRead(net::ReadOp read) {
  auto variable = symbols.lookupNearestSymbolFrom<net::VariableOp>(read, read.getVariableAttr());
  auto kept = kMappingAttr.get(variable);
  auto compute = getMapping(read.getResult());
  if (net::getRole(read) == net::Role::Optimize || !kept || !compute || kept == compute)
    return success();
  Parameter parameter;
  parameter.shape = llvm::to_vector(variable.getTensorType().getShape());
  auto emit = [&] { return read.emitOpError(); };
  FailureOr<Placement> from = Placement::resolve(kept, mesh, parameter.shape, emit),
                       to = Placement::resolve(compute, mesh, parameter.shape, emit);
  if (failed(from) || failed(to))
    return failure();
  parameter.kept = normalize(*from, mesh);
  parameter.compute = normalize(*to, mesh);
  if (parameter.kept == parameter.compute)
    return success();
  Type element = parameter.element = net::getUsedType(read.getResult());
  auto [known, isNew] =
      numbers.insert({{read.getVariableAttr(), compute, element}, static_cast<unsigned>(parameters.size())});
  source[read.getResult()] = known->second;
  replaced.push_back(read);
  if (!isNew)
    return success();
  int64_t elements = 1;
  for (int64_t size : parameter.compute.getLocalShape(parameter.shape))
    elements *= size;
  unsigned type = types.insert({element, static_cast<unsigned>(types.size())}).first->second;
  problem.parameters.push_back({elements * getElementBytes(element), type});
  parameters.push_back(std::move(parameter));
  return success();
}

void Segmenter::addOp(Operation *op) {
  bool isOutside = net::getRole(op) == net::Role::Optimize || net::isOutput(op);
  if (!isOutside && op->getNumOperands() == 1 && op->getNumResults() == 1 && source.contains(op->getOperand(0)))
    if (auto sharded = dyn_cast<ShardingOpInterface>(op); sharded && isLayout(op, sharded.getShardingRule())) {
      source[op->getResult(0)] = source.lookup(op->getOperand(0));
      replaced.push_back(op);
      return;
    }
  llvm::SmallSetVector<unsigned, 2> used;
  for (Value operand : op->getOperands())
    if (auto found = source.find(operand); found != source.end())
      used.insert(found->second);
  if (isOutside) {
    if (!used.empty())
      outside.push_back(op);
    return;
  }
  bool backward = net::getRole(op) == net::Role::Backward;
  for (unsigned parameter : used)
    if (!backward)
      parameters[parameter].lastForward = op;
  items.push_back(op);
  problem.items.push_back({backward, {used.begin(), used.end()}});
}

LogicalResult Segmenter::collect() {
  for (Operation &op : func.getBody().front())
    if (auto read = dyn_cast<net::ReadOp>(op)) {
      if (failed(addRead(read)))
        return failure();
    } else {
      addOp(&op);
    }
  return success();
}

/// The placement in which the fetched value of `parameter` waits for backward: split over the axes of backward alone,
/// in the dimensions that storage splits. Empty if backward gathers from storage.
std::optional<Placement> Segmenter::getSlice(const Parameter &parameter) const {
  Placement slice = parameter.compute;
  bool leavesOut = false, any = false;
  for (auto [dim, splits] : llvm::enumerate(parameter.kept.dims)) {
    int64_t extent = slice.dims[dim].empty() ? parameter.shape[dim] : slice.dims[dim].back().stride;
    for (const Split &split : splits) {
      if (parameter.compute.findSplit(split.axis))
        continue;
      if (!llvm::is_contained(options.backwardAxes, mesh.getName(split.axis))) {
        leavesOut = true;
        continue;
      }
      int64_t stride = std::max<int64_t>(llvm::divideCeil(extent, mesh.getSize(split.axis)), 1);
      slice.dims[dim].push_back({split.axis, extent, stride});
      extent = stride;
      any = true;
    }
  }
  if (!any || !leavesOut || !isNested(slice, parameter.shape))
    return std::nullopt;
  return slice;
}

void Segmenter::chooseSlices() {
  if (!options.backwardAxes.empty())
    for (Parameter &parameter : parameters)
      if (parameter.lastForward)
        parameter.slice = getSlice(parameter);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

LogicalResult Segmenter::findCuts() {
  AnchorFinder finder;
  auto locate = [&](size_t index) {
    return index < locations.anchors.size() ? locations.anchors[index] : func.getLoc();
  };
  for (auto [index, anchor] : llvm::enumerate(options.anchors))
    if (!finder.add(anchor))
      return emitError(locate(index)) << "anchor \"" << anchor << "\" ends in neither \".in\" nor \".out\"";
  for (auto [op, item] : llvm::zip(items, problem.items)) {
    auto scope = net::kScopeAttr.get(op);
    finder.visit(scope ? scope.getValue() : StringRef(), item.backward, /*passive=*/op->getNumOperands() == 0);
  }
  const AnchorFinder::Anchor *first = nullptr;
  size_t firstIndex = 0;
  std::string rest;
  for (auto [index, anchor] : llvm::enumerate(finder.getAnchors())) {
    if (anchor.isMetOnce())
      continue;
    rest += (rest.empty() ? "\"" : ", \"") + anchor.text + "\"";
    if (!first)
      std::tie(first, firstIndex) = std::tuple(&anchor, index);
  }
  if (first)
    return emitError(locate(firstIndex)) << "the block of anchor \"" << first->text << "\" is entered "
                                         << first->entered[0] << " times forward and " << first->entered[1]
                                         << " times backward, not once each; what remains is " << rest;
  problem.cuts = finder.getCuts();
  return success();
}

void Segmenter::setBounds() {
  problem.segmentBytes = options.anchors.empty() ? options.segmentSize.getBytes() : SegmentProblem::kUnbounded;
  problem.prefetch = options.prefetch;
  problem.keepBytes = options.keepWithin.getBytes() > 0 ? options.keepWithin.getBytes() : -1;
  problem.maxLive = options.maxLive.getBytes() > 0 ? options.maxLive.getBytes() : SegmentProblem::kUnbounded;
  problem.maxInFlight = options.maxInFlight;
}

LogicalResult Segmenter::checkLive() {
  std::optional<unsigned> number = plan.findTooLarge(problem.maxLive);
  if (!number)
    return success();
  const Segment &segment = plan.segments[*number];
  auto diagnostic = emitError(locations.maxLive ? *locations.maxLive : func.getLoc())
                    << "segment " << *number << " (" << (segment.backward ? "backward" : "forward") << ") uses "
                    << formatBytes(segment.volume) << " of parameters by itself but at most "
                    << formatBytes(problem.maxLive) << " may be alive";
  diagnostic.attachNote(items[segment.begin]->getLoc()) << "the segment begins here";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Puts `op` into `segment`, and into the stage of `user` if both are at the same coordinate.
void Segmenter::setPlace(Operation *op, unsigned segment, Operation *user) {
  kSegmentAttr.set(op, builder.getI64IntegerAttr(segment));
  net::setRole(op, plan.segments[segment].backward ? net::Role::Backward : net::Role::Forward);
  if (stages && stages->areTogether(op, user))
    kStageAttr.set(op, kStageAttr.get(user));
}

/// True if `value` is the value to fetch of a parameter: its read, or the conversion of the read to the smaller type of
/// the fetch.
bool Segmenter::isFetched(Value value) const {
  if (auto convert = value.getDefiningOp<net::ConvertOp>())
    return convert.getOperand().getDefiningOp<net::ReadOp>() &&
           parameters[source.lookup(value)].element == net::elementTypeOf(value);
  return value.getDefiningOp<net::ReadOp>();
}

/// Clones the operations that compute `value`, which is a value to fetch.
Value Segmenter::cloneFetched(Value value) {
  auto convert = value.getDefiningOp<net::ConvertOp>();
  if (!convert)
    return builder.clone(*value.getDefiningOp())->getResult(0);
  IRMapping mapping;
  builder.clone(*convert.getOperand().getDefiningOp(), mapping);
  return builder.clone(*convert, mapping)->getResult(0);
}

Value Segmenter::createReshard(Value value, const Placement &from, const Placement &to, const Parameter &parameter) {
  MappingAttr before = from.toAttr(builder.getContext(), mesh, parameter.shape),
              after = to.toAttr(builder.getContext(), mesh, parameter.shape);
  auto reshard = ReshardOp::create(builder, value.getLoc(), value.getType(), value, before, after);
  kOperandsAttr.set(reshard, builder.getArrayAttr(before));
  kResultsAttr.set(reshard, builder.getArrayAttr(after));
  return reshard.getResult();
}

/// Fetches `value` before `user`.
Value Segmenter::createFetch(Value value, unsigned index, Operation *user) {
  const ParameterFetch &fetch = plan.fetches[index];
  const Parameter &parameter = parameters[fetch.parameter];
  builder.setInsertionPoint(loops.hoist(user, {}));
  Value result = parameter.held && plan.segments[fetch.segment].backward
                     ? createReshard(parameter.held, *parameter.slice, parameter.compute, parameter)
                     : cloneFetched(value);
  Operation *op = result.getDefiningOp();
  setPlace(op, fetch.segment, user);
  // The fetch starts with the read, before the conversion.
  if (auto convert = dyn_cast<net::ConvertOp>(op)) {
    op = convert.getOperand().getDefiningOp();
    setPlace(op, fetch.segment, user);
  }
  kFetchAtAttr.set(op, builder.getI64IntegerAttr(fetch.start));
  kReasonAttr.set(op, builder.getStringAttr(describe(problem, plan, index)));
  return result;
}

/// The fetched `value` for `user` in `segment`; fetches it on first use.
Value Segmenter::getFetched(Value value, std::optional<unsigned> segment, Operation *user) {
  if (!segment) {
    builder.setInsertionPoint(loops.hoist(user, {}));
    return cloneFetched(value);
  }
  unsigned index = plan.fetchOf.lookup({*segment, source.lookup(value)});
  Value &result = fetched[index];
  if (!result)
    result = createFetch(value, index, user);
  return result;
}

/// `value`, a layout of a parameter, for `user` in `segment`.
Value Segmenter::getValue(Value value, std::optional<unsigned> segment, Operation *user) {
  auto getKnown = [&](Value layout) { return segment ? clones.lookup({*segment, layout}) : Value(); };
  // Walks from the value back to an existing one, then clones forward.
  SmallVector<Operation *> chain;
  Value current = value;
  while (!isFetched(current) && !getKnown(current)) {
    chain.push_back(current.getDefiningOp());
    current = chain.back()->getOperand(0);
  }
  current = isFetched(current) ? getFetched(current, segment, user) : getKnown(current);
  builder.setInsertionPoint(loops.hoist(user, {}));
  for (Operation *op : llvm::reverse(chain)) {
    Operation *clone = builder.clone(*op);
    clone->setOperand(0, current);
    current = clone->getResult(0);
    if (segment) {
      setPlace(clone, *segment, user);
      clones[{*segment, op->getResult(0)}] = current;
    }
  }
  return current;
}

/// Splits the values of parameters whose last use in forward is `op`, to wait for backward.
void Segmenter::holdSlices(Operation *op, unsigned segment) {
  for (unsigned number : plan.segments[segment].parameters) {
    Parameter &parameter = parameters[number];
    if (!parameter.slice || parameter.lastForward != op)
      continue;
    net::LoopOp loop = loops.getOutermost(op);
    builder.setInsertionPointAfter(loop ? loops.getEnd(loop).getOperation() : op);
    unsigned fetch = plan.fetchOf.lookup({segment, number});
    Value held = createReshard(fetched.lookup(fetch), parameter.compute, *parameter.slice, parameter);
    setPlace(held.getDefiningOp(), segment, op);
    parameter.held = held;
  }
}

void Segmenter::writeSegment(unsigned number) {
  const Segment &segment = plan.segments[number];
  for (int64_t item = segment.begin; item < segment.end; ++item) {
    Operation *op = items[item];
    kSegmentAttr.set(op, builder.getI64IntegerAttr(number));
    if (problem.items[item].parameters.empty())
      continue;
    for (OpOperand &operand : op->getOpOperands())
      if (source.contains(operand.get()))
        operand.set(getValue(operand.get(), number, op));
    if (!segment.backward)
      holdSlices(op, number);
  }
}

/// Erases replaced reads and layout operations, and waiting values without uses.
void Segmenter::eraseDead() {
  for (Parameter &parameter : parameters)
    if (parameter.held && parameter.held.use_empty())
      parameter.held.getDefiningOp()->erase();
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

LogicalResult Segmenter::run() {
  if (failed(collect()))
    return failure();
  if (parameters.empty())
    return success();
  if (!options.anchors.empty() && failed(findCuts()))
    return failure();
  setBounds();
  chooseSlices();
  plan = SegmentPlanner(problem).solve();
  if (failed(checkLive()))
    return failure();
  for (unsigned number = 0; number < plan.segments.size(); ++number)
    writeSegment(number);
  for (Operation *op : outside)
    for (OpOperand &operand : op->getOpOperands())
      if (source.contains(operand.get()))
        operand.set(getValue(operand.get(), std::nullopt, op));
  eraseDead();
  return success();
}

namespace {

struct SegmentPass : complete::impl::SegmentPassBase<SegmentPass> {
  using SegmentPassBase::SegmentPassBase;
#define GEN_PASS_OPTIONS_SEGMENTPASS
#include "meshwright/Complete/PassOptions.h.inc"
  SegmentPass(SegmentPassOptions options, SegmentLocations locations)
      : SegmentPassBase(std::move(options)), locations(std::move(locations)) {}

  void runOnOperation() override {
    MeshOp meshOp = findMesh(getOperation());
    if (!meshOp)
      return;
    Mesh mesh = meshOp.getMesh();
    FailureOr<std::optional<StageMap>> stages = StageMap::read(meshOp);
    if (failed(stages) || failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    SegmentPassOptions options = getOptions();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      Segmenter segmenter(func, mesh, *stages, options, locations);
      if (failed(segmenter.run()))
        return signalPassFailure();
      const SegmentPlan &plan = segmenter.getPlan();
      numSegments += plan.segments.size();
      numFetches += plan.fetches.size();
      for (const ParameterFetch &fetch : plan.fetches)
        numKept += fetch.kept.size();
    }
  }

  SegmentLocations locations;
};

} // namespace

std::unique_ptr<Pass> complete::createSegmentPass(SegmentPassOptions options, SegmentLocations locations) {
  return std::make_unique<SegmentPass>(std::move(options), std::move(locations));
}
