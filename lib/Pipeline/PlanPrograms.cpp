//===- PlanPrograms.cpp - reads a step's plan off its programs ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every number is read off the compiled module at the stage where it becomes known: FLOPs before Partition, conversions
// after Optimize, memory and launches after Schedule. Counts are per step; operations that run at some times only are
// weighted by their number of times.
//
//===----------------------------------------------------------------------===//

#include "PlanPrograms.h"
#include "Nodes.h"
#include "PlanBlocks.h"
#include "PlanTimeline.h"
#include "dialects/Dist/Collectives.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Locations.h"
#include "meshwright/Support/NeededTimes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

namespace {

/// The number of executions of a module's operations per step: times of the mesh, multiplied by loop iterations.
class TimesOfModule {
public:
  explicit TimesOfModule(ModuleOp module) {
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isExternal())
        if (auto nest = net::LoopNest::find(func.getBody().front()); succeeded(nest) && !nest->empty())
          loops.try_emplace(func, std::move(*nest));
    MeshOp meshOp = findMesh(module);
    if (!meshOp)
      return;
    Mesh mesh = meshOp.getMesh();
    total = NeededTimes::count(mesh);
    if (std::optional<Axis> axis = mesh.find(AxisKind::Steps))
      steps = mesh.getSize(*axis);
    auto stageAxis = kStageAxisAttr.get(meshOp);
    std::optional<Axis> axis = mesh.find(AxisKind::Slices);
    if (stageAxis && axis && mesh.find(stageAxis.getValue())) {
      stages = *mesh.find(stageAxis.getValue());
      slicesAxis = *axis;
      slices = mesh.getSize(slicesAxis);
    }
    for (auto func : module.getOps<func::FuncOp>())
      if (total > 1 && !func.isExternal())
        if (auto found = NeededTimes::find(func, meshOp.getMesh()); succeeded(found))
          times.try_emplace(func, std::move(*found));
  }

  int64_t getTotal() const { return total; }
  int64_t count(Operation *op) const {
    auto found = times.find(op->getParentOp());
    return countIterations(op) * (found == times.end() ? total : found->second.count(op));
  }
  /// The same of a conversion. What does not differ between the micro-batches of a pipeline is sent with the first.
  int64_t count(ConversionOpInterface op) const {
    int64_t all = count(op.getOperation());
    auto found = times.find(op->getParentOp());
    if (!isa<SendOp>(op) || slices == 1 || found == times.end())
      return all;
    // A value needed only after the last micro-batch is counted once anyway.
    if (DictionaryAttr when = found->second.get(op); !when || when.contains(kSlicesAxis))
      return all;
    FailureOr<Conversion> conversion = resolveConversion(op);
    bool isEarly = succeeded(conversion) && conversion->axes == ArrayRef<Axis>(stages) &&
                   !conversion->from.isPartial(slicesAxis) && !conversion->from.findSplit(slicesAxis);
    return isEarly ? all / slices : all;
  }
  /// The floating-point operations of `op` in a step, all slices of its batch together; the mean over the steps of an
  /// accumulation.
  double getFlops(CostOpInterface op) const {
    return static_cast<double>(op.getFlops()) * static_cast<double>(count(op)) / static_cast<double>(steps);
  }

private:
  int64_t countIterations(Operation *op) const {
    auto found = loops.find(op->getParentOp());
    return found == loops.end() ? 1 : found->second.getIterations(op);
  }

  llvm::DenseMap<Operation *, net::LoopNest> loops;
  int64_t total = 1, steps = 1;
  /// The axes of the stages and the micro-batches of a pipeline; without a pipeline, one micro-batch.
  Axis stages = 0, slicesAxis = 0;
  int64_t slices = 1;
  llvm::DenseMap<Operation *, NeededTimes> times;
};

} // namespace

/// The floating-point operations of one step at the shapes that the program has now.
static double countFlops(ModuleOp module) {
  TimesOfModule times(module);
  double flops = 0;
  module.walk([&](Operation *op) {
    if (auto costed = dyn_cast<CostOpInterface>(op))
      flops += times.getFlops(costed);
  });
  return flops;
}

/// The number of values alive at the peak that are named.
static constexpr size_t kShownLive = 20;

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string toText(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  attribute.print(stream, /*elideType=*/true);
  return text;
}

/// The user's name of a value, or the scope of what made it.
static std::string describeValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = func ? net::kNameAttr.getOfArgument(func, argument.getArgNumber()) : StringAttr();
    return name ? name.str() : "argument " + std::to_string(argument.getArgNumber());
  }
  if (auto name = net::kNameAttr.get(op))
    return name.str();
  if (auto conversion = dyn_cast<ConversionOpInterface>(op))
    return describeValue(conversion.getInput());
  if (auto read = dyn_cast<net::ReadOp>(op))
    return read.getVariable().str();
  if (auto take = dyn_cast<net::TakeOp>(op))
    return "one iteration's part of " + describeValue(take.getStack());
  auto scope = net::kScopeAttr.get(op);
  return (scope ? scope.str() + "/" : std::string()) + op->getName().stripDialect().str();
}

static std::string describeRole(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (std::optional<net::Role> role = net::getRole(op))
      return net::stringifyRole(*role).str();
    auto conversion = dyn_cast<ConversionOpInterface>(op);
    if (!conversion)
      break;
    value = conversion.getInput();
  }
  return "";
}

static PlannedConversion describeConversion(ConversionOpInterface op, const Mesh &mesh) {
  PlannedConversion planned;
  CollectiveKind kind = *getCollectiveKind(op);
  planned.kind = op->getName().stripDialect().str();
  for (StringRef axis : op.getAxes().getAsValueRange<StringAttr>()) {
    planned.axes.push_back(axis.str());
    planned.group *= mesh.getSize(*mesh.find(axis));
  }
  auto type = cast<RankedTensorType>(op.getInput().getType());
  FailureOr<Conversion> conversion = resolveConversion(op);
  assert(succeeded(conversion) && "the verifier has resolved it");
  planned.dtype = toText(type.getElementType());
  planned.elements = countElements(kind, conversion->from, conversion->to, conversion->axes, conversion->shape, mesh);
  planned.bytes =
      getSentBytes(kind, static_cast<double>(planned.elements * getElementBytes(type.getElementType())), planned.group);
  planned.participants = countParticipants(kind, planned.group);
  planned.value = describeValue(op.getInput());
  planned.location = describeLocation(op->getLoc());
  planned.role = describeRole(op.getInput());
  planned.reason = toText(op.getFrom()) + " -> " + toText(op.getTo());
  return planned;
}

static PlannedVariable describeVariable(net::VariableOp op, const Mesh &mesh) {
  PlannedVariable planned;
  auto global = net::kGlobalTypeAttr.get(op);
  auto type = global ? cast<RankedTensorType>(global.getValue()) : op.getTensorType();
  auto mapping = kMappingAttr.get(op);
  planned.name = op.getSymName().str();
  planned.kind = net::stringifyVariableKind(op.getKind()).str();
  planned.dtype = toText(type.getElementType());
  planned.shape.assign(type.getShape().begin(), type.getShape().end());
  planned.placement = mapping ? toText(mapping) : "replicated";
  planned.bytesPerRank = getBytes(op.getTensorType());
  if (!mapping)
    return planned;
  auto placement = Placement::resolve(mapping, mesh, type.getShape(), [&] { return op.emitError(); });
  int64_t parts = 1;
  if (succeeded(placement))
    for (const auto &splits : placement->dims)
      for (const Split &split : splits)
        parts *= mesh.getSize(split.axis);
  planned.paddingBytes = planned.bytesPerRank - getBytes(type) / parts;
  return planned;
}

void meshwright::addSerial(Plan &plan, ModuleOp module) { plan.serialFlops = countFlops(module); }

/// The ranks that `op` names are where the program, or the variable, is.
static DictionaryAttr getMembers(Operation *op) {
  auto kept = isa<net::VariableOp>(op) ? kMappingAttr.get(op) : MappingAttr();
  return kept ? kept.getSupport() : getOn(op);
}

/// Ranks that run the same operations and keep the same variables have the same program.
static void addPrograms(Plan &plan, ModuleOp module) {
  struct Share {
    double flops = 0;
    int64_t bytes = 0, parameterBytes = 0, stateBytes = 0, accumulatorBytes = 0;
    std::vector<unsigned> conversions;
    SmallVector<std::pair<Operation *, double>, 0> costs;
  };
  llvm::MapVector<Attribute, Share> shares;
  TimesOfModule times(module);
  unsigned numConversions = 0;
  module.walk([&](Operation *op) {
    Share &share = shares[getMembers(op)];
    if (auto variable = dyn_cast<net::VariableOp>(op)) {
      int64_t bytes = getBytes(variable.getTensorType());
      share.bytes += bytes;
      share.parameterBytes += variable.getKind() == net::VariableKind::Parameter ? bytes : 0;
      share.stateBytes += variable.getKind() == net::VariableKind::OptimizerState ? bytes : 0;
      share.accumulatorBytes += variable.getKind() == net::VariableKind::Accumulator ? bytes : 0;
    }
    if (auto costed = dyn_cast<CostOpInterface>(op)) {
      share.costs.push_back({op, times.getFlops(costed)});
      share.flops += share.costs.back().second;
    }
    if (auto conversion = dyn_cast<ConversionOpInterface>(op); conversion && conversion.isCollective())
      share.conversions.push_back(numConversions++);
  });
  std::map<std::vector<bool>, unsigned> known;
  for (int64_t rank = 0; rank < plan.mesh.getNumRanks(); ++rank) {
    SmallVector<int64_t> coordinates = getCoordinates(plan.mesh, rank);
    std::vector<bool> takesPart;
    for (auto &[members, share] : shares)
      takesPart.push_back(covers(cast_or_null<DictionaryAttr>(members), plan.mesh, coordinates));
    auto [entry, isNew] = known.try_emplace(takesPart, plan.programs.size());
    if (isNew) {
      PlannedProgram &program = plan.programs.emplace_back();
      program.firstRank = rank;
      for (auto [index, pair] : llvm::enumerate(shares)) {
        if (!takesPart[index])
          continue;
        program.flops += pair.second.flops;
        program.variableBytes += pair.second.bytes;
        program.parameterBytes += pair.second.parameterBytes;
        program.stateBytes += pair.second.stateBytes;
        program.accumulatorBytes += pair.second.accumulatorBytes;
        llvm::append_range(program.conversions, pair.second.conversions);
        for (auto [op, flops] : pair.second.costs)
          addFlops(program.blocks, op, flops);
      }
      llvm::sort(program.conversions);
    }
    ++plan.programs[entry->second].numRanks;
  }
  for (const PlannedProgram &program : plan.programs)
    for (unsigned conversion : program.conversions)
      plan.conversions[conversion].ranks += program.numRanks;
}

void meshwright::addProgram(Plan &plan, ModuleOp module) {
  if (MeshOp op = findMesh(module))
    plan.mesh = op.getMesh();
  for (auto variable : module.getOps<net::VariableOp>())
    plan.variables.push_back(describeVariable(variable, plan.mesh));
  TimesOfModule times(module);
  Nodes nodes(module);
  module.walk([&](ConversionOpInterface op) {
    if (!op.isCollective())
      return;
    plan.conversions.push_back(describeConversion(op, plan.mesh));
    plan.conversions.back().times = times.count(op);
    plan.conversions.back().nodes = nodes.areKnown() ? nodes.count(op) : 0;
  });
  addPrograms(plan, module);
  plan.pipeline = PlannedPipeline::find(module);
}

/// Describes `func`, a program for some of the times.
static PlannedVariant describeVariant(func::FuncOp func, const Mesh &mesh, const schedule::Report &report,
                                      ArrayRef<schedule::Event> timeline) {
  PlannedVariant variant;
  auto setTimes = [&](AxisKind kind, int64_t &first, int64_t &last) {
    std::optional<Axis> axis = mesh.find(kind);
    auto times = axis ? getOn(func.getOperation()).getAs<DenseI64ArrayAttr>(mesh.getName(*axis)) : DenseI64ArrayAttr();
    if (!times)
      return;
    first = times.asArrayRef().front();
    last = times.asArrayRef().back();
  };
  setTimes(AxisKind::Steps, variant.firstStep, variant.lastStep);
  setTimes(AxisKind::Slices, variant.firstSlice, variant.lastSlice);
  if (auto action = kActionAttr.get(func))
    variant.action = action.str();
  variant.numKernels = report.numKernels;
  variant.numProducts = report.numProducts;
  variant.numLaunches = countLaunches(timeline);
  variant.trafficBytes = report.trafficBytes;
  return variant;
}

/// Notes what `func` runs: of several functions for the same ranks at different times that of the last, but of the
/// actions of a pipeline all.
static void addAction(PlannedProgram &program, func::FuncOp func, const schedule::Report &report) {
  auto action = kActionAttr.get(func);
  // Variants of an action are adjacent, in order of their times.
  bool isOfLast = action && !program.variants.empty() && program.variants.back().action == action.getValue();
  if (!action)
    program.numKernels = program.numProducts = program.trafficBytes = 0;
  if (isOfLast) {
    program.numKernels -= program.variants.back().numKernels;
    program.numProducts -= program.variants.back().numProducts;
    program.trafficBytes -= program.variants.back().trafficBytes;
  }
  program.numKernels += report.numKernels;
  program.numProducts += report.numProducts;
  program.trafficBytes += report.trafficBytes;
}

/// Notes what is kept for backward: by all actions of a pipeline together, by that of several variants that keeps most.
static void noteKept(PlannedProgram &program, func::FuncOp func, const schedule::Report &report) {
  auto action = kActionAttr.get(func);
  if (!action)
    setKept(program.blocks, report);
  else if (program.variants.empty() || program.variants.back().action != action.getValue())
    addKept(program.blocks, report);
}

void meshwright::addMemory(Plan &plan, ModuleOp module) {
  if (plan.pipeline)
    plan.pipeline->addBetween(module);
  for (auto func : module.getOps<func::FuncOp>()) {
    auto arena = dist::kArenaBytesAttr.get(func);
    auto persistent = dist::kPersistentBytesAttr.get(func);
    if (!arena || !persistent)
      continue;
    if (plan.programs.empty())
      plan.programs.emplace_back().numRanks = plan.mesh.getNumRanks();
    schedule::Report report = schedule::describe(func);
    DictionaryAttr ranks = getRanks(getOn(func.getOperation()), plan.mesh);
    for (PlannedProgram &program : plan.programs) {
      if (!covers(ranks, plan.mesh, getCoordinates(plan.mesh, program.firstRank)))
        continue;
      program.peakBytes = arena.getInt();
      program.persistentBytes = persistent.getInt();
      // Times come in their order: what is said of the program is so of the last step of an accumulation and its last
      // slice.
      addAction(program, func, report);
      program.gradientBytes = std::max(program.gradientBytes, report.gradientBytes);
      program.fetchedBytes = std::max(program.fetchedBytes, report.fetchedBytes);
      program.offloadedBytes = std::max(program.offloadedBytes, report.offloadedBytes);
      program.copiedFromHost = std::max(program.copiedFromHost, report.copiedFromHost);
      program.copiedToHost = std::max(program.copiedToHost, report.copiedToHost);
      if (auto host = dist::kHostArenaBytesAttr.get(func))
        program.hostBytes = host.getInt();
      noteKept(program, func, report);
      program.timeline = schedule::getTimeline(func);
      if (hasTimes(func) || kActionAttr.isOn(func))
        program.variants.push_back(describeVariant(func, plan.mesh, report, program.timeline));
      if (!program.liveAtPeak.empty() && report.liveBytes <= program.liveBytes)
        continue;
      program.liveBytes = report.liveBytes;
      program.liveAtPeak.clear();
      for (auto [value, bytes] : ArrayRef(report.liveAtPeak).take_front(kShownLive))
        program.liveAtPeak.push_back({describeValue(value), bytes});
    }
  }
}

void meshwright::addEvaluation(Plan &plan, ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (auto arena = dist::kArenaBytesAttr.get(func))
      plan.evaluationBytes = std::max(plan.evaluationBytes.value_or(0), arena.getInt());
}
