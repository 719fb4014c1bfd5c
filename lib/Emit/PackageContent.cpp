//===- PackageContent.cpp - writes the programs of a package's message ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes the values of a module (type, global shape, placement) and writes one program for each set of ranks that
// run the same, and the serial one. Equal programs are stored once.
//
//===----------------------------------------------------------------------===//

#include "PackageContent.h"
#include "Enumerations.h"
#include "Names.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "meshwright/runtime/MostRanks.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

ContentWriter::ContentWriter(ModuleOp module, ModuleOp serial, Tables &tables, Package &package)
    : module(module), serial(serial), tables(tables), package(package) {
  if (dist::MeshOp op = dist::findMesh(module))
    mesh = op.getMesh();
}

/// The step: one function, or one for each set of ranks that run the same, each in as many variants as there are times
/// that differ.
static FailureOr<SmallVector<SmallVector<func::FuncOp>>> findStep(ModuleOp module) {
  auto steps = dist::getVariants(module);
  for (ArrayRef<func::FuncOp> other : ArrayRef(steps).drop_front(steps.empty() ? 0 : 1)) {
    func::FuncOp first = steps.front().front(), func = other.front();
    if (!dist::getOn(func.getOperation()) || !dist::getOn(first.getOperation()))
      return func.emitError() << "module has a second function @" << func.getSymName() << "; a package holds one step";
  }
  if (steps.empty())
    return emitError(module.getLoc()) << "module has no function to make a package of";
  return steps;
}

/// States type, global shape and placement of a value that a rank holds as `local`.
LogicalResult ContentWriter::describeValue(Location location, Type local, Attribute global, Attribute mapping,
                                           DType &dtype, google::protobuf::RepeatedField<int64_t> &shape,
                                           meshwright::Placement &placement) {
  auto type = cast<RankedTensorType>(global ? cast<TypeAttr>(global).getValue() : local);
  dtype = getDType(type.getElementType());
  if (dtype == DTYPE_INVALID)
    return emitError(location) << "element type " << type.getElementType() << " has no place in a package";
  shape.Add(type.getShape().begin(), type.getShape().end());
  auto attr = dyn_cast_or_null<dist::MappingAttr>(mapping);
  std::optional<dist::Placement> resolved;
  if (attr && mesh) {
    FailureOr<dist::Placement> found =
        dist::Placement::resolve(attr, *mesh, type.getShape(), [&] { return emitError(location); });
    if (failed(found))
      return failure();
    resolved = *found;
  }
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    DimSplits &splits = *placement.add_dims();
    if (!resolved)
      continue;
    for (const dist::Split &split : resolved->dims[dim]) {
      Split &entry = *splits.add_splits();
      entry.set_axis(split.axis);
      entry.set_extent(split.extent);
      entry.set_stride(split.stride);
    }
  }
  if (resolved)
    placement.mutable_partial()->Add(resolved->partialAxes.begin(), resolved->partialAxes.end());
  if (resolved)
    for (const auto &[axis, coordinates] : resolved->support) {
      if (static_cast<int64_t>(coordinates.size()) == mesh->getSize(axis))
        continue;
      Support &entry = *placement.add_support();
      entry.set_axis(axis);
      entry.mutable_coordinates()->Add(coordinates.begin(), coordinates.end());
    }
  return success();
}

LogicalResult ContentWriter::describeVariables() {
  for (auto op : module.getOps<net::VariableOp>()) {
    if (dist::kWithinStepAttr.isOn(op))
      continue;
    Variable &variable = *package.add_variables();
    variable.set_name(op.getSymName().str());
    variable.set_kind(translate(op.getKind()));
    DType dtype;
    if (failed(describeValue(op.getLoc(), op.getTensorType(), net::kGlobalTypeAttr.get(op), dist::kMappingAttr.get(op),
                             dtype, *variable.mutable_shape(), *variable.mutable_placement())))
      return failure();
    variable.set_dtype(dtype);
    variable.set_location(getLocationText(op.getLoc()));
    if (net::InitializerAttr init = op.getInitAttr()) {
      variable.mutable_init()->set_kind(translate(init.getKind()));
      variable.mutable_init()->set_a(init.getA().getValueAsDouble());
      variable.mutable_init()->set_b(init.getB().getValueAsDouble());
    }
  }
  return success();
}

LogicalResult ContentWriter::describePorts(func::FuncOp func) {
  auto describe = [&](Port &port, Location location, Type type, StringRef fallback, auto getAttr) -> LogicalResult {
    auto name = dyn_cast_or_null<StringAttr>(getAttr(net::kNameAttr));
    port.set_name(name ? name.str() : fallback.str());
    DType dtype;
    if (failed(describeValue(location, type, getAttr(net::kGlobalTypeAttr), getAttr(dist::kMappingAttr), dtype,
                             *port.mutable_shape(), *port.mutable_placement())))
      return failure();
    port.set_dtype(dtype);
    return success();
  };
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    Port &port = *package.add_inputs();
    auto getAttr = [&](StringRef name) { return func.getArgAttr(index, name); };
    if (failed(describe(port, argument.getLoc(), argument.getType(), "arg" + std::to_string(index), getAttr)))
      return failure();
    auto batch = dyn_cast_or_null<IntegerAttr>(getAttr(net::kBatchDimAttr));
    port.set_batch_dim(batch ? batch.getInt() : -1);
    if (auto least = dyn_cast_or_null<FloatAttr>(getAttr(net::kMinAttr)))
      port.set_min(least.getValueAsDouble());
    if (auto most = dyn_cast_or_null<FloatAttr>(getAttr(net::kMaxAttr)))
      port.set_max(most.getValueAsDouble());
  }
  for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
    Port &port = *package.add_outputs();
    auto getAttr = [&](StringRef name) { return func.getResultAttr(index, name); };
    if (failed(describe(port, func.getLoc(), type, "out" + std::to_string(index), getAttr)))
      return failure();
    port.set_batch_dim(-1);
    port.set_result(true);
    auto during = dyn_cast_or_null<DictionaryAttr>(getAttr(dist::kDuringAttr));
    port.set_at_update(during && during.contains(dist::kAccumulationAxis));
  }
  return success();
}

void ContentWriter::describeMetrics(const ProgramMetrics &described) {
  if (described.arithmetic)
    package.set_arithmetic(getDType(described.arithmetic));
  Metrics &metrics = *package.mutable_metrics();
  metrics.set_loss(described.loss);
  metrics.set_grad_norm(described.gradNorm);
  metrics.set_loss_scale(described.lossScale);
  metrics.set_found_inf(described.foundInf);
  metrics.set_skipped_steps(described.skippedSteps);
  metrics.set_learning_rate(described.learningRate);
  metrics.set_model_flops_per_step(described.modelFlopsPerStep);
  metrics.set_tokens_per_step(described.tokensPerStep);
}

LogicalResult ContentWriter::describe() {
  std::optional<dist::Axis> steps = mesh ? mesh->find(dist::AxisKind::Steps) : std::nullopt;
  package.set_accumulation_steps(steps ? mesh->getSize(*steps) : 1);
  std::optional<dist::Axis> slices = mesh ? mesh->find(dist::AxisKind::Slices) : std::nullopt;
  package.set_micro_batches(slices ? mesh->getSize(*slices) : 1);
  if (mesh)
    for (dist::Axis axis = 0; axis < mesh->getNumRankAxes(); ++axis) {
      Axis &entry = *package.add_axes();
      entry.set_name(mesh->getName(axis).str());
      entry.set_size(mesh->getSize(axis));
    }
  auto functions = findStep(module);
  if (failed(functions) || failed(describeVariables()) ||
      failed(describePorts(dist::getResultFunction(functions->front()))))
    return failure();
  return success();
}

LogicalResult ContentWriter::writeProgram(ArrayRef<func::FuncOp> variants, Program &program) {
  func::FuncOp first = variants.front();
  auto source = first->getParentOfType<ModuleOp>();
  // The variables in the order of the package, whatever theirs is.
  SmallVector<net::VariableOp> variables;
  for (const Variable &variable : package.variables()) {
    auto op = source.lookupSymbol<net::VariableOp>(variable.name());
    if (!op)
      return emitError(source.getLoc()) << "the serial program has no variable \"" << variable.name() << "\"";
    variables.push_back(op);
  }
  return emit::writeProgram(variants, variables, tables, program);
}

/// Programs that come out equal are one.
LogicalResult ContentWriter::writePrograms() {
  auto steps = findStep(module);
  if (failed(steps))
    return failure();
  llvm::StringMap<unsigned> known;
  SmallVector<unsigned> programOf;
  for (ArrayRef<func::FuncOp> step : *steps) {
    Program program;
    if (failed(writeProgram(step, program)))
      return failure();
    auto [entry, isNew] = known.try_emplace(program.SerializeAsString(), package.programs_size());
    if (isNew)
      package.add_programs()->Swap(&program);
    programOf.push_back(entry->second);
  }
  int64_t ranks = mesh ? mesh->getNumRanks() : 1;
  if (ranks > runtime::mostRanks)
    return emitError(module.getLoc()) << "the mesh has " << ranks << " ranks; a package has at most "
                                      << runtime::mostRanks;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    // The first variant is that of the first times, which are 0 among the coordinates of a rank.
    auto *step = llvm::find_if(*steps, [&](ArrayRef<func::FuncOp> variants) {
      func::FuncOp first = variants.front();
      return !mesh || dist::covers(dist::getOn(first.getOperation()), *mesh, dist::getCoordinates(*mesh, rank));
    });
    if (step == steps->end())
      return emitError(module.getLoc()) << "no function of the module is the program of rank " << rank;
    package.add_program_of_rank(programOf[step - steps->begin()]);
  }
  if (!serial) {
    if (!mesh)
      *package.mutable_serial() = package.programs(0);
    return success();
  }
  auto whole = findStep(serial);
  return failed(whole) ? failure() : writeProgram(whole->front(), *package.mutable_serial());
}

LogicalResult ContentWriter::write(const ProgramMetrics &metrics) {
  describeMetrics(metrics);
  return success(succeeded(describe()) && succeeded(writePrograms()));
}
