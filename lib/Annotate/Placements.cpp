//===- Placements.cpp - placements given by the strategy ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies the shardings of the graph, then the sections of a strategy in a fixed order: mesh, batch, tensor splits,
// `place`, pipeline stages, placements of state like that of its parameter, sequence parallelism, sharded storage
// (ZeRO), offload. Later sections add digits to the placements of earlier ones; errors are located at the strategy's
// line.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "Sequence.h"
#include "Shardings.h"
#include "Stages.h"
#include "Storage.h"
#include "dialects/Dist/Dims.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Dist/PortAttributes.h"
#include "dialects/Dist/Times.h"
#include "dialects/Given/Given.h"
#include "dialects/Net/Net.h"
#include "meshwright/Annotate/Passes.h"
#include "meshwright/Support/Glob.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

namespace meshwright::annotate {
#define GEN_PASS_DEF_PLACEMENTSPASS
#include "meshwright/Annotate/Passes.h.inc"
} // namespace meshwright::annotate

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using strategy::StrategyFile;

namespace {

/// A value that can be placed: a variable, an argument or a named result.
struct Target {
  std::string name;
  Operation *variable = nullptr;
  Value value;
  RankedTensorType type;
  /// The sharding that the graph states; null if there is none.
  given::ShardingAttr sharding = nullptr;

  Location getLoc() const { return variable ? variable->getLoc() : value.getLoc(); }
};

/// Applies one strategy to one module.
class Annotator {
public:
  Annotator(ModuleOp module, const StrategyFile &file, annotate::StageBound *bound)
      : module(module), context(module.getContext()), file(file), mesh(file.getMesh()), bound(bound) {}

  LogicalResult run();

private:
  LogicalResult addMesh();
  void collectTargets();
  LogicalResult placeStated();
  LogicalResult placeBatches();
  LogicalResult placeBatch(const Target &input, int64_t dim, Location loc);
  LogicalResult checkSlices(const Target &input, int64_t size);
  LogicalResult placeSplits();
  LogicalResult placeByHand();
  LogicalResult placeSequence();
  LogicalResult placeLike();
  MappingAttr getMapping(const Target &target) const;
  /// Adds the digits in `dims`, one list per dimension, to the placement of `target`.
  LogicalResult place(const Target &target, ArrayRef<DigitsAttr> dims, Location loc);
  DigitsAttr keepParts(DigitsAttr digits, int64_t size) const;
  FailureOr<SmallVector<DigitsAttr>> parseDims(StringRef text, Location loc);
  void warnOfEmptyParts(const Target &target, const Placement &placement, Location loc);
  Location getLoc(const Twine &path) { return file.getLoc(context, path.str()); }
  DigitAttr axisDigit(StringRef axis) { return DigitAttr::getAxis(StringAttr::get(context, axis)); }

  ModuleOp module;
  MLIRContext *context;
  const StrategyFile &file;
  Mesh mesh;
  annotate::StageBound *bound;
  SmallVector<Target> variables, inputs, results;
  /// Axes and fields for which empty parts have been reported.
  llvm::DenseSet<std::pair<Axis, Attribute>> saidEmpty;
  /// The placements of arguments.
  PortAttributes ports;
};

} // namespace

/// Creates the mesh: the axes of the strategy, the slices of its batch, then axes of times that the step already has.
LogicalResult Annotator::addMesh() {
  int64_t slices = file.getSlices();
  if (slices > 1)
    mesh = joinAxes(mesh, Mesh({kSlicesAxis.str()}, {slices}, {AxisKind::Slices}));
  if (MeshOp times = findMesh(module)) {
    if (times.getMesh().getNumRankAxes() > 0)
      return emitError(getLoc("mesh")) << "the module has a mesh already";
    mesh = joinAxes(mesh, times.getMesh());
    times.erase();
  }
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto op = MeshOp::create(builder, getLoc("mesh"), "mesh", mesh);
  SmallVector<StringRef> data(file.get().data().axes().begin(), file.get().data().axes().end());
  if (!data.empty())
    kDataAxesAttr.set(op, builder.getStrArrayAttr(data));
  if (int64_t ranks = file.get().topology().ranks_per_node())
    kRanksPerNodeAttr.set(op, builder.getI64IntegerAttr(ranks));
  return success();
}

/// Places what the graph says of variables, inputs and values inside.
LogicalResult Annotator::placeStated() {
  if (failed(given::verifyShardings(module)))
    return failure();
  auto resolve = [&](given::ShardingAttr sharding, RankedTensorType type, Location loc) -> FailureOr<MappingAttr> {
    MappingAttr mapping = annotate::toMapping(sharding);
    for (auto axis : sharding.getUnreduced().getAsRange<StringAttr>())
      if (!mesh.find(axis.getValue()))
        return emitError(loc) << "the mesh has no axis " << axis;
    if (failed(Placement::resolve(mapping, mesh, type.getShape(),
                                  [&] { return emitError(loc) << "a sharding of " << type << ": "; })))
      return failure();
    return mapping;
  };
  for (ArrayRef<Target> targets : {ArrayRef(variables), ArrayRef(inputs)})
    for (const Target &target : targets) {
      if (!target.sharding)
        continue;
      if (!target.sharding.getUnreduced().empty())
        return emitError(target.getLoc())
               << "\"" << target.name << "\" is a sum that is still to be reduced over axis "
               << target.sharding.getUnreduced()[0] << "; values that come from outside are whole or split";
      FailureOr<MappingAttr> mapping = resolve(target.sharding, target.type, target.getLoc());
      if (failed(mapping))
        return failure();
      if (target.variable)
        kMappingAttr.set(target.variable, *mapping);
      else
        ports.set(cast<BlockArgument>(target.value), kMappingAttr, *mapping);
    }
  WalkResult result = module.walk([&](given::ConstrainOp op) {
    if (!op.getSharding())
      return WalkResult::advance();
    FailureOr<MappingAttr> mapping = resolve(*op.getSharding(), op.getType(), op.getLoc());
    if (succeeded(mapping))
      kResultsAttr.set(op, ArrayAttr::get(context, *mapping));
    return WalkResult(success(succeeded(mapping)));
  });
  return failure(result.wasInterrupted());
}

void Annotator::collectTargets() {
  for (auto variable : module.getOps<net::VariableOp>())
    variables.push_back(
        {variable.getSymName().str(), variable, {}, variable.getTensorType(), given::kShardingAttr.get(variable)});
  for (auto func : module.getOps<func::FuncOp>()) {
    for (BlockArgument argument : func.getArguments())
      if (auto name = net::kNameAttr.getOfArgument(func, argument.getArgNumber()))
        inputs.push_back({name.str(), nullptr, argument, cast<RankedTensorType>(argument.getType()),
                          given::kShardingAttr.getOfArgument(func, argument.getArgNumber())});
    func.walk([&](Operation *op) {
      auto name = net::kNameAttr.get(op);
      if (name && op->getNumResults() > 0)
        results.push_back({name.str(), nullptr, op->getResult(0), cast<RankedTensorType>(op->getResult(0).getType())});
    });
  }
}

/// Warns about ranks without any index of a dimension, once per axis and field of the strategy.
void Annotator::warnOfEmptyParts(const Target &target, const Placement &placement, Location loc) {
  for (auto [dim, splits] : llvm::enumerate(placement.dims))
    for (const Split &split : splits) {
      int64_t parts = split.stride > 0 ? llvm::divideCeil(split.extent, split.stride) : 0;
      if (mesh.isTime(split.axis) || parts >= mesh.getSize(split.axis) || !file.matchesAll() ||
          !saidEmpty.insert({split.axis, LocationAttr(loc)}).second)
        continue;
      emitWarning(loc) << "dimension " << dim << " of \"" << target.name << "\" has " << split.extent
                       << " indices for the " << mesh.getSize(split.axis) << " ranks of axis \""
                       << mesh.getName(split.axis) << "\", in parts of " << split.stride << "; "
                       << mesh.getSize(split.axis) - parts << " of them have nothing to do";
    }
}

/// The placement of the target so far; null if it has none.
MappingAttr Annotator::getMapping(const Target &target) const {
  if (target.variable)
    return kMappingAttr.get(target.variable);
  if (auto argument = dyn_cast<BlockArgument>(target.value))
    return dyn_cast_or_null<MappingAttr>(ports.get(argument, kMappingAttr));
  return dist::getMapping(target.value);
}

/// Lets the axes of `digits` split a dimension of `size` into the whole parts in which `reproducible` sums over it,
/// where these have different sizes: two ranks have 4 of 8 parts of 7 of 50 indices, 28 and 22, not 25 each.
DigitsAttr Annotator::keepParts(DigitsAttr digits, int64_t size) const {
  int64_t parts = file.get().has_reproducible() ? file.get().reproducible().parts() : 1;
  auto part = static_cast<int64_t>(llvm::divideCeil(size, parts));
  if (size % parts == 0 || part * (parts - 1) >= size)
    return digits;
  SmallVector<DigitAttr> kept(digits.begin(), digits.end());
  for (DigitAttr &digit : kept) {
    // A mesh without this axis is an error elsewhere.
    std::optional<Axis> axis = digit.isPlain() || digit.getSize() ? std::nullopt : mesh.find(digit.getAxis());
    if (!axis || parts % mesh.getSize(*axis) != 0)
      break;
    parts /= mesh.getSize(*axis);
    if (parts * part != static_cast<int64_t>(llvm::divideCeil(size, mesh.getSize(*axis))))
      digit = DigitAttr::getAxis(digit.getAxis(), parts * part);
    size = parts * part;
  }
  return DigitsAttr::get(context, kept);
}

LogicalResult Annotator::place(const Target &target, ArrayRef<DigitsAttr> dims, Location loc) {
  if (static_cast<int64_t>(dims.size()) != target.type.getRank())
    return emitError(loc) << "the placement has " << dims.size() << " dimensions but \"" << target.name << "\" has "
                          << target.type.getRank();
  SmallVector<DigitsAttr> rest(dims);
  if (target.sharding) {
    rest.clear();
    if (StringAttr axis = annotate::findDisagreement(target.sharding, given::kMeshAttr.get(module), dims, rest)) {
      auto diagnostic = emitError(loc) << "this splits \"" << target.name << "\" over axis " << axis
                                       << " otherwise than the graph does; leave it to one of the two";
      diagnostic.attachNote(target.getLoc()) << "the graph keeps it as " << target.sharding;
      return diagnostic;
    }
    dims = rest;
  }
  MappingAttr existing = getMapping(target);
  // New digits follow existing ones.
  SmallVector<DigitsAttr> joined;
  for (auto [dim, digits] : llvm::enumerate(dims)) {
    SmallVector<DigitAttr> all;
    if (existing)
      llvm::append_range(all, existing.getDims()[dim]);
    llvm::append_range(all, digits);
    joined.push_back(keepParts(DigitsAttr::get(context, all), target.type.getDimSize(dim)));
  }
  auto error = [&] { return emitError(loc) << "\"" << target.name << "\" of " << target.type << ": "; };
  auto mapping = MappingAttr::getChecked(error, context, ArrayRef<DigitsAttr>(joined), ReduceKind::Sum,
                                         ArrayAttr::get(context, {}), DictionaryAttr::get(context, {}));
  if (!mapping)
    return failure();
  auto placement = Placement::resolve(mapping, mesh, target.type.getShape(), error);
  if (failed(placement))
    return failure();
  warnOfEmptyParts(target, *placement, loc);
  if (target.variable)
    kMappingAttr.set(target.variable, mapping);
  else if (auto argument = dyn_cast<BlockArgument>(target.value))
    ports.set(argument, kMappingAttr, mapping);
  else
    setMapping(target.value, mapping);
  return success();
}

//===----------------------------------------------------------------------===//
// Data and tensor parallelism
//===----------------------------------------------------------------------===//

/// Checks that a batch of `size` can be split into equal slices.
LogicalResult Annotator::checkSlices(const Target &input, int64_t size) {
  std::optional<Axis> axis = mesh.find(AxisKind::Slices);
  int64_t ranks = 1, slices = axis ? mesh.getSize(*axis) : 1;
  for (const std::string &data : file.get().data().axes())
    ranks *= mesh.getSize(*mesh.find(data));
  if (slices == 1 || size % (ranks * slices) == 0)
    return success();
  bool pipeline = file.get().has_pipeline();
  return emitError(getLoc(pipeline ? "pipeline.micro_batches" : "train.gradient_accumulation.slices"))
         << slices << (pipeline ? " micro-batches" : " slices") << " on each of " << ranks
         << " ranks do not divide the " << size << " samples of \"" << input.name << "\"";
}

/// Splits dimension `dim` of `input` over the data axes, and the part of a rank over the slices.
LogicalResult Annotator::placeBatch(const Target &input, int64_t dim, Location loc) {
  if (dim < 0 || dim >= input.type.getRank())
    return emitError(loc) << "the batch is dimension " << dim << " but \"" << input.name << "\" has rank "
                          << input.type.getRank();
  if (failed(checkSlices(input, input.type.getDimSize(dim))))
    return failure();
  SmallVector<DigitAttr> digits;
  for (const std::string &axis : file.getOwnDataAxes())
    digits.push_back(axisDigit(axis));
  if (std::optional<Axis> slices = mesh.find(AxisKind::Slices))
    digits.push_back(axisDigit(mesh.getName(*slices)));
  SmallVector<DigitsAttr> dims(input.type.getRank(), DigitsAttr::get(context, {}));
  dims[dim] = DigitsAttr::get(context, digits);
  return place(input, dims, loc);
}

LogicalResult Annotator::placeBatches() {
  if (file.getOwnDataAxes().empty() && !mesh.find(AxisKind::Slices))
    return success();
  const auto &model = file.get().model();
  if (model.batch().empty())
    return emitError(getLoc("data"))
           << "data.axes splits a batch; model.batch names the inputs and their batch dimension";
  llvm::StringMap<int64_t> placed;
  for (int index = 0; index < model.batch_size(); ++index) {
    const auto &batch = model.batch(index);
    for (int glob = 0; glob < batch.inputs_size(); ++glob) {
      Location loc = getLoc("model.batch[" + Twine(index) + "].inputs[" + Twine(glob) + "]");
      bool any = false;
      for (const Target &input : inputs) {
        if (!matchGlob(batch.inputs(glob), input.name))
          continue;
        any = true;
        auto [known, isNew] = placed.try_emplace(input.name, batch.dim());
        if (known->second != batch.dim())
          return emitError(loc) << "the batch of \"" << input.name << "\" is dimension " << batch.dim()
                                << " here but dimension " << known->second << " of an earlier glob";
        if (isNew && failed(placeBatch(input, batch.dim(), loc)))
          return failure();
      }
      if (!any && file.matchesAll())
        return emitError(loc) << "no input matches \"" << batch.inputs(glob) << "\"";
    }
  }
  return success();
}

LogicalResult Annotator::placeSplits() {
  const auto &tensor = file.get().tensor();
  // The first rule that matches applies.
  llvm::StringSet<> split;
  for (int index = 0; index < tensor.split_size(); ++index) {
    const auto &rule = tensor.split(index);
    Location loc = getLoc("tensor.split[" + Twine(index) + "]");
    bool any = false, decides = false;
    for (const Target &variable : variables) {
      // State that is not like a parameter has other dimensions.
      auto op = cast<net::VariableOp>(variable.variable);
      if (op.getLike() || op.getKind() == net::VariableKind::OptimizerState || !matchGlob(rule.match(), variable.name))
        continue;
      any = true;
      if (!split.insert(variable.name).second)
        continue;
      decides = true;
      if (rule.dim() < 0 || rule.dim() >= variable.type.getRank())
        return emitError(loc) << "splits dimension " << rule.dim() << " of \"" << variable.name << "\", which has rank "
                              << variable.type.getRank();
      SmallVector<DigitAttr> digits;
      if (rule.groups() > 1)
        digits.push_back(DigitAttr::getPlain(context, rule.groups()));
      digits.push_back(axisDigit(tensor.axis()));
      SmallVector<DigitsAttr> dims(variable.type.getRank(), DigitsAttr::get(context, {}));
      dims[rule.dim()] = DigitsAttr::get(context, digits);
      if (failed(place(variable, dims, loc)))
        return failure();
    }
    if (!any && file.matchesAll())
      return emitError(loc) << "no variable matches \"" << rule.match() << "\"";
    if (any && !decides && file.matchesAll())
      emitWarning(loc)
          << "tensor.split[" << index
          << "] has no effect: earlier rules decide about all that it matches; the first that matches counts";
  }
  return success();
}

LogicalResult Annotator::placeSequence() {
  const auto &tensor = file.get().tensor();
  std::optional<Axis> axis = mesh.find(tensor.axis());
  if (!tensor.sequence() || mesh.getSize(*axis) == 1)
    return success();
  for (auto func : module.getOps<func::FuncOp>()) {
    auto found = annotate::findBlockInput(func, tensor.axis());
    if (!found)
      return emitError(getLoc("tensor.sequence"))
             << "no sum of three or more dimensions precedes the first product with a split parameter; split the "
                "sequence by hand with place";
    auto [value, dim] = *found;
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<DigitsAttr> dims(type.getRank(), DigitsAttr::get(context, {}));
    dims[dim] = DigitsAttr::get(context, axisDigit(tensor.axis()));
    if (failed(place({"the input of the first block", nullptr, value, type}, dims, getLoc("tensor.sequence"))))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// By hand
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<DigitsAttr>> Annotator::parseDims(StringRef text, Location loc) {
  FailureOr<SmallVector<DigitsAttr>> dims =
      dist::parseDims(text, file.getMesh(), context, [&] { return emitError(loc); });
  if (failed(dims) || !file.get().has_pipeline())
    return dims;
  for (DigitsAttr digits : *dims)
    for (DigitAttr digit : digits)
      if (!digit.isPlain() && digit.getAxis().getValue() == file.get().pipeline().axis())
        return emitError(loc) << "axis " << digit.getAxis()
                              << " is the axis of the pipeline; no value can be split over it";
  return dims;
}

LogicalResult Annotator::placeByHand() {
  for (int index = 0; index < file.get().place_size(); ++index) {
    const auto &rule = file.get().place(index);
    Location loc = getLoc("place[" + Twine(index) + "]");
    FailureOr<SmallVector<DigitsAttr>> dims = parseDims(rule.dims(), loc);
    if (failed(dims))
      return failure();
    bool any = false, changes = false;
    for (ArrayRef<Target> targets : {ArrayRef(variables), ArrayRef(inputs), ArrayRef(results)})
      for (const Target &target : targets) {
        if (!matchGlob(rule.match(), target.name))
          continue;
        any = true;
        MappingAttr before = getMapping(target);
        if (failed(place(target, *dims, loc)))
          return failure();
        changes |= getMapping(target) != before;
      }
    if (!any && file.matchesAll())
      return emitError(loc) << "no value matches \"" << rule.match() << "\"";
    if (any && !changes && file.matchesAll())
      emitWarning(loc) << "place[" << index << "] has no effect: it adds no axis to what places all that it matches";
  }
  return success();
}

/// Variables like a parameter take its placement unless they have one of their own. Accumulators get theirs in
/// Complete, from the values that they accumulate.
LogicalResult Annotator::placeLike() {
  SymbolTable symbols(module);
  for (const Target &target : variables) {
    auto variable = cast<net::VariableOp>(target.variable);
    if (!variable.getLike() || kMappingAttr.isOn(variable) || variable.getKind() == net::VariableKind::Accumulator)
      continue;
    auto like = symbols.lookup<net::VariableOp>(*variable.getLike());
    auto mapping = like ? kMappingAttr.get(like) : MappingAttr();
    if (!mapping)
      continue;
    ArrayRef<int64_t> shape = variable.getTensorType().getShape(), likeShape = like.getTensorType().getShape();
    auto placement = Placement::resolve(mapping, mesh, likeShape, [&] { return like.emitError(); });
    if (failed(placement))
      return failure();
    Placement placed = annotate::placeLike(*placement, shape, likeShape);
    kMappingAttr.set(variable, shape == likeShape ? mapping : placed.toAttr(context, mesh, shape));
  }
  return success();
}

LogicalResult Annotator::run() {
  if (failed(addMesh()))
    return failure();
  collectTargets();
  if (failed(placeStated()))
    return failure();
  // State takes the placement of its parameter after all sections that may place the parameter, stages included.
  if (failed(placeBatches()) || failed(placeSplits()) || failed(placeByHand()) ||
      failed(annotate::annotateStages(module, file, bound)) || failed(placeLike()))
    return failure();
  // The first block begins before the first product with a split parameter, so splits are placed already.
  if (failed(placeSequence()))
    return failure();
  ports.write();
  return success(succeeded(annotate::annotateStorage(module, file)) &&
                 succeeded(annotate::annotateMemory(module, file)));
}

LogicalResult annotate::annotate(ModuleOp module, const StrategyFile &strategy, StageBound *bound) {
  return Annotator(module, strategy, bound).run();
}

namespace {

struct PlacementsPass : annotate::impl::PlacementsPassBase<PlacementsPass> {
  using PlacementsPassBase::PlacementsPassBase;
  void runOnOperation() override {
    FailureOr<StrategyFile> file = StrategyFile::read(strategy, &getContext());
    if (failed(file) || failed(file->check(ranks, &getContext())) ||
        failed(annotate::adoptShardings(getOperation(), *file)) || failed(annotate::annotate(getOperation(), *file)))
      signalPassFailure();
  }
};

} // namespace
