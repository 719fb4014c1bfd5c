//===- Propagate.cpp - placements of all values, axis by axis -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates between the IR and the solvers: numbers the program once, decides axis by axis, and writes the decisions
// as attributes. The axis of slices comes first, since it leaves no choice; then the axes of the batch
// (`dist.data_axes` of the mesh); then all others in mesh order. Priorities that the graph states come before all that
// (`given.sharding`).
//
//===----------------------------------------------------------------------===//

#include "Advice.h"
#include "AxisSolver.h"
#include "Owners.h"
#include "SliceSolver.h"
#include "dialects/Dist/PortAttributes.h"
#include "dialects/Given/Given.h"
#include "dialects/Net/Net.h"
#include "meshwright/Complete/Passes.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Support/Stages.h"
#include <map>

namespace meshwright::complete {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "meshwright/Complete/Passes.h.inc"
} // namespace meshwright::complete

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

namespace {

using AxisPlans = SmallVector<std::pair<Axis, AxisPlan>>;

/// Writes plans as attributes.
class PlanWriter {
public:
  PlanWriter(func::FuncOp func, const Graph &graph, const Mesh &mesh, const AxisPlans &plans)
      : func(func), graph(graph), mesh(mesh), plans(plans) {}

  LogicalResult write();
  /// Writes the placements of unplaced accumulators and of the function's results, as they are read.
  void writeBoundary();

  int64_t numConversions = 0;
  int64_t numReductions = 0;

private:
  /// The mapping of a value with this `shape` whose state on each axis is `getState(plan)`.
  FailureOr<MappingAttr> getMapping(Operation *op, ArrayRef<int64_t> shape,
                                    llvm::function_ref<State(const AxisPlan &)> getState);
  LogicalResult writeOp(OpIndex index);
  void writeAccumulator(net::ReadOp read, SymbolTableCollection &symbols);
  LogicalResult writeArguments();
  void writeResults();
  void count();

  func::FuncOp func;
  const Graph &graph;
  const Mesh &mesh;
  const AxisPlans &plans;
  /// Mappings created so far: most values share a few.
  std::map<SmallVector<int64_t>, MappingAttr> cache;
};

} // namespace

FailureOr<MappingAttr> PlanWriter::getMapping(Operation *op, ArrayRef<int64_t> shape,
                                              llvm::function_ref<State(const AxisPlan &)> getState) {
  SmallVector<int64_t> key(shape);
  for (const auto &[axis, plan] : plans) {
    State state = getState(plan);
    key.append({static_cast<int64_t>(state.kind), static_cast<int64_t>(state.reduction), state.dim, state.extent,
                state.stride});
  }
  MappingAttr &mapping = cache[key];
  if (mapping)
    return mapping;
  Placement placement = Placement::replicated(shape.size());
  for (const auto &[axis, plan] : plans) {
    State state = getState(plan);
    if (state.isPartial()) {
      placement.partialAxes.push_back(axis);
      placement.partialKind = state.reduction;
    } else if (state.isSplit() && !placement.insert(state.dim, {axis, state.extent, state.stride})) {
      return op->emitError() << "axis \"" << mesh.getName(axis) << "\" splits dimension " << state.dim << " of size "
                             << shape[state.dim] << " into parts of " << state.stride
                             << " that do not nest with another axis";
    }
  }
  llvm::sort(placement.partialAxes);
  return mapping = placement.toAttr(func.getContext(), mesh, shape);
}

LogicalResult PlanWriter::writeOp(OpIndex index) {
  const GraphOp &entry = graph.ops[index];
  SmallVector<Attribute> operands, results, computes;
  for (auto [number, operand] : llvm::enumerate(entry.operands)) {
    auto mapping = getMapping(entry.op, graph.values[operand].shape,
                              [&, number = number](const AxisPlan &plan) { return plan.operands[index][number]; });
    if (failed(mapping))
      return failure();
    operands.push_back(*mapping);
  }
  for (auto [number, result] : llvm::enumerate(entry.results)) {
    ArrayRef<int64_t> shape = graph.values[result].shape;
    auto kept = getMapping(entry.op, shape, [&, result = result](const AxisPlan &plan) { return plan.values[result]; });
    auto computed = getMapping(entry.op, shape,
                               [&, number = number](const AxisPlan &plan) { return plan.computes[index][number]; });
    if (failed(kept) || failed(computed))
      return failure();
    results.push_back(*kept);
    computes.push_back(*computed);
  }
  MLIRContext *context = func.getContext();
  if (!operands.empty())
    kOperandsAttr.set(entry.op, ArrayAttr::get(context, operands));
  if (!results.empty())
    kResultsAttr.set(entry.op, ArrayAttr::get(context, results));
  kComputesAttr.remove(entry.op);
  if (results != computes)
    kComputesAttr.set(entry.op, ArrayAttr::get(context, computes));
  return success();
}

/// An unplaced accumulator is kept as it is read.
void PlanWriter::writeAccumulator(net::ReadOp read, SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<net::VariableOp>(read, read.getVariableAttr());
  if (followsAddend(variable))
    kMappingAttr.set(variable, dist::getMapping(read.getResult()));
}

/// The function's results are placed as its terminator reads them.
void PlanWriter::writeResults() {
  Operation *terminator = func.getBody().front().getTerminator();
  PortAttributes ports;
  if (auto mappings = kOperandsAttr.get(terminator))
    for (auto [index, mapping] : llvm::enumerate(mappings))
      ports.setResult(func, index, kMappingAttr, mapping);
  ports.write();
}

/// Counts one conversion for every value and every placement other than its own in which it is read.
void PlanWriter::count() {
  for (const GraphValue &value : graph.values) {
    MappingAttr kept = dist::getMapping(value.value);
    if (value.def >= 0)
      if (auto computes = kComputesAttr.get(graph.ops[value.def].op))
        if (computes[value.result] != kept) {
          ++numConversions;
          ++numReductions;
        }
    SmallVector<Attribute> seen;
    for (const Use &use : value.uses) {
      Attribute target = kOperandsAttr.get(graph.ops[use.op].op)[use.operand];
      if (target == kept || llvm::is_contained(seen, target))
        continue;
      seen.push_back(target);
      ++numConversions;
      numReductions += kept && !kept.getPartialAxes().empty();
    }
  }
}

/// Arguments keep their placements, or are replicated; along an axis of slices they are kept whole and read in slices.
LogicalResult PlanWriter::writeArguments() {
  bool hasTimes = llvm::any_of(plans, [&](const auto &plan) { return mesh.isTime(plan.first); });
  PortAttributes ports;
  for (auto [index, value] : llvm::enumerate(graph.values)) {
    if (value.def >= 0)
      continue;
    auto argument = cast<BlockArgument>(value.value);
    if (!dist::getMapping(argument))
      ports.set(argument, kMappingAttr, MappingAttr::getReplicated(func.getContext(), value.shape.size()));
    if (!hasTimes)
      continue;
    FailureOr<MappingAttr> kept =
        getMapping(func, value.shape, [&, index = index](const AxisPlan &plan) { return plan.values[index]; });
    if (failed(kept))
      return failure();
    ports.set(argument, kMappingAttr, *kept);
  }
  ports.write();
  return success();
}

LogicalResult PlanWriter::write() {
  if (failed(writeArguments()))
    return failure();
  for (OpIndex op = 0; op < static_cast<OpIndex>(graph.ops.size()); ++op)
    if (failed(writeOp(op)))
      return failure();
  count();
  return success();
}

void PlanWriter::writeBoundary() {
  SymbolTableCollection symbols;
  for (auto read : func.getOps<net::ReadOp>())
    writeAccumulator(read, symbols);
  writeResults();
}

namespace {

struct PropagatePass : complete::impl::PropagatePassBase<PropagatePass> {
  void runOnOperation() override {
    MeshOp meshOp = findMesh(getOperation());
    if (!meshOp)
      return;
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    Mesh mesh = meshOp.getMesh();
    // Variables without a placement are replicated; accumulators follow the gradients.
    llvm::DenseSet<Attribute> accumulators = findAccumulators();
    for (auto variable : getOperation().getOps<net::VariableOp>())
      if (!kMappingAttr.isOn(variable) && !accumulators.contains(variable.getSymNameAttr()))
        kMappingAttr.set(variable, MappingAttr::getReplicated(&getContext(), variable.getTensorType().getRank()));
    FailureOr<std::optional<StageMap>> stages = StageMap::read(meshOp);
    if (failed(stages))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(propagate(func, mesh, getOrder(meshOp, mesh, *stages), *stages)))
        return signalPassFailure();
    given::forgetShardings(getOperation());
  }

  /// The names of accumulators whose only use is one accumulation.
  llvm::DenseSet<Attribute> findAccumulators() {
    llvm::DenseSet<Attribute> names;
    getOperation().walk([&](dist::AccumulateOp op) {
      auto read = op.getBefore().getDefiningOp<net::ReadOp>();
      if (read && read->hasOneUse())
        names.insert(read.getVariableAttr().getAttr());
    });
    return names;
  }

  /// The axes of ranks to decide, with a flag for axes of the batch. Axes of size 1 split nothing, and neither does the
  /// axis of a pipeline.
  SmallVector<std::pair<Axis, bool>> getOrder(MeshOp meshOp, const Mesh &mesh, const std::optional<StageMap> &stages) {
    SmallVector<std::pair<Axis, bool>> order;
    auto isData = [&](Axis axis) {
      auto names = kDataAxesAttr.get(meshOp);
      return names && llvm::is_contained(names, StringAttr::get(&getContext(), mesh.getName(axis)));
    };
    for (bool data : {true, false})
      for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis)
        if (mesh.getSize(axis) > 1 && isData(axis) == data && !(stages && stages->getAxis() == axis))
          order.push_back({axis, data});
    if (SmallVector<Attribute> names = given::orderByPriority(getOperation()); !names.empty()) {
      auto getPosition = [&](const std::pair<Axis, bool> &entry) {
        return llvm::find(names, StringAttr::get(&getContext(), mesh.getName(entry.first))) - names.begin();
      };
      llvm::stable_sort(order, [&](const auto &a, const auto &b) { return getPosition(a) < getPosition(b); });
    }
    return order;
  }

  /// Decides the axis of slices, if there is one.
  LogicalResult slice(Graph &graph, const Mesh &mesh, AxisPlans &plans) {
    std::optional<Axis> axis = mesh.find(AxisKind::Slices);
    if (!axis || mesh.getSize(*axis) == 1)
      return success();
    SliceSolver solver(graph, mesh, *axis);
    FailureOr<AxisPlan> plan = solver.solve();
    if (failed(plan))
      return failure();
    plans.push_back({*axis, std::move(*plan)});
    // The accumulator has the wider type, so the reduction over ranks takes that type too.
    return success(
        llvm::all_of(solver.getWidened(), [&](OpIndex op) { return succeeded(graph.ops[op].setDefersReduction()); }));
  }

  /// The coordinates of all operations with a stage. No given placement may be split over the axis of stages.
  FailureOr<StageCoordinates> placeStages(const Graph &graph, const Mesh &mesh, const StageMap &stages) {
    for (auto [value, state] : llvm::zip(graph.values, graph.given[stages.getAxis()]))
      if (state && !state->isReplicated())
        return emitError(value.value.getLoc())
               << "a value is " << (state->isSplit() ? "split" : "partial") << " over axis \""
               << mesh.getName(stages.getAxis()) << "\", the axis of the pipeline's stages";
    StageCoordinates coordinates;
    for (const GraphOp &op : graph.ops) {
      FailureOr<std::optional<int64_t>> coordinate = stages.getCoordinate(op.op);
      if (failed(coordinate))
        return failure();
      coordinates.push_back(*coordinate);
    }
    return coordinates;
  }

  /// Restricts values with owners to them, on each axis of ranks separately.
  LogicalResult spread(const Graph &graph, const Mesh &mesh, const std::optional<StageMap> &stages) {
    StageCoordinates coordinates;
    if (stages) {
      FailureOr<StageCoordinates> placed = placeStages(graph, mesh, *stages);
      if (failed(placed))
        return failure();
      coordinates = std::move(*placed);
    }
    for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis)
      spreadOwners(graph, mesh, axis, stages && stages->getAxis() == axis ? coordinates : StageCoordinates());
    return success();
  }

  LogicalResult propagate(func::FuncOp func, const Mesh &mesh, ArrayRef<std::pair<Axis, bool>> order,
                          const std::optional<StageMap> &stages) {
    FailureOr<Graph> graph = Graph::build(func, mesh);
    if (failed(graph))
      return failure();
    AxisPlans plans;
    if (failed(slice(*graph, mesh, plans)))
      return failure();
    // Warnings concern axes of ranks, which follow the axis of slices in `plans`.
    size_t numTimes = plans.size();
    for (auto [axis, data] : order)
      plans.push_back({axis, solveAxis(AxisProblem(*graph, mesh, axis, data, plans))});
    for (auto [index, entry] : llvm::enumerate(order))
      if (!entry.second)
        warnAboutCosts(*graph, mesh, plans, numTimes + index);
    PlanWriter writer(func, *graph, mesh, plans);
    if (failed(writer.write()))
      return failure();
    // The solvers do not know of owners, so owners and stages restrict the attributes afterwards.
    if (failed(spread(*graph, mesh, stages)))
      return failure();
    writer.writeBoundary();
    numConversions += writer.numConversions;
    numReductions += writer.numReductions;
    return success();
  }
};

} // namespace
