//===- Simulator.cpp - all ranks of a partitioned program -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets a partitioned program on all ranks in lockstep: local operations by the reference evaluator, conversions
// by their definition in Ranks.h, slices of a batch one after the other. Padding is NaN or arbitrary integers, so that
// a read of it shows in a result.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Simulate/Simulator.h"
#include "dialects/Dist/Support.h"
#include "test/lib/Simulate/Ranks.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::evaluate;
using namespace meshwright::simulate;
using meshwright::test::PerRank;

//===----------------------------------------------------------------------===//
// Tensors and numbers
//===----------------------------------------------------------------------===//

/// Numbers between ranks are doubles: integers beyond 2^53 are not exact.
static std::vector<double> toNumbers(const Tensor &tensor) {
  std::vector<double> numbers;
  if (!tensor.type)
    return numbers;
  for (Element element : tensor.data)
    numbers.push_back(tensor.isFloat()      ? element.f
                      : tensor.isUnsigned() ? static_cast<double>(static_cast<uint64_t>(element.i))
                                            : static_cast<double>(element.i));
  return numbers;
}

/// The integer that `number` stands for, which may be the neutral element of a minimum: the largest there is.
static int64_t toInteger(double number, bool isUnsigned) {
  if (number < 0x1p63)
    return static_cast<int64_t>(number);
  if (!isUnsigned)
    return std::numeric_limits<int64_t>::max();
  return number >= 0x1p64 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(number));
}

static Tensor fromNumbers(RankedTensorType type, ArrayRef<double> numbers) {
  Tensor tensor(type);
  for (auto [element, number] : llvm::zip_equal(tensor.data, numbers)) {
    if (tensor.isFloat())
      element.f = number;
    else
      element.i = wrapTo(type.getElementType(), toInteger(number, tensor.isUnsigned()));
  }
  return tensor;
}

static PerRank toNumbers(const RankTensors &tensors) {
  PerRank numbers;
  for (const Tensor &tensor : tensors)
    numbers.push_back(toNumbers(tensor));
  return numbers;
}

/// Tensors of the ranks that hold them.
static RankTensors fromNumbers(
    RankedTensorType type, const PerRank &numbers,
    llvm::function_ref<bool(int64_t)> holds = [](int64_t) { return true; }) {
  RankTensors tensors;
  for (auto [rank, part] : llvm::enumerate(numbers))
    tensors.push_back(holds(rank) ? fromNumbers(type, part) : Tensor());
  return tensors;
}

static double toNumber(TypedAttr attribute) {
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  APInt integer = cast<IntegerAttr>(attribute).getValue();
  bool isUnsigned = attribute.getType().isUnsignedInteger() || integer.getBitWidth() == 1;
  return isUnsigned ? static_cast<double>(integer.getZExtValue()) : static_cast<double>(integer.getSExtValue());
}

bool Simulator::isOn(DictionaryAttr on, int64_t rank) const {
  return covers(on, mesh, test::locate(mesh, rank, slice));
}

/// NaN, or one after the other some integers that are out of every range and some that are in most.
double Simulator::getUndefined(Type element) {
  if (isa<FloatType>(element))
    return NAN;
  static constexpr int64_t kNumbers[] = {0, 1, -1, 2, 1 << 20, 3, 1, -(1 << 20)};
  return static_cast<double>(kNumbers[undefined++ % 8]);
}

RankTensors Simulator::distribute(const Tensor &whole, const Placement &placement) {
  Type element = whole.type.getElementType();
  double neutral = toNumber(getNeutralElement(placement.partialKind, element));
  PerRank parts = test::distribute(toNumbers(whole), placement, mesh, whole.shape(), neutral, getUndefined(element));
  return fromNumbers(whole.type.clone(placement.getLocalShape(whole.shape())), parts,
                     [&](int64_t rank) { return placement.holds(getCoordinates(mesh, rank)); });
}

/// Checks that the ranks that read `input` hold it.
LogicalResult Simulator::checkHeld(Operation *op, const RankTensors &input, llvm::function_ref<bool(int64_t)> reads) {
  for (auto [rank, tensor] : llvm::enumerate(input))
    if (!tensor.type && reads(rank))
      return op->emitOpError() << "reads on rank " << rank << " what that rank does not hold";
  return success();
}

FailureOr<Tensor> Simulator::collect(const RankTensors &parts, RankedTensorType global, const Placement &placement,
                                     Operation *op) {
  if (failed(checkHeld(op, parts, [&](int64_t rank) { return placement.holds(getCoordinates(mesh, rank)); })))
    return failure();
  auto whole = test::collect(toNumbers(parts), placement, mesh, global.getShape());
  if (!whole)
    return op->emitOpError() << "ends with ranks that hold the same part but not the same data";
  return fromNumbers(global, *whole);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

FailureOr<RankTensors> Simulator::convert(ConversionOpInterface op, const RankTensors &input) {
  FailureOr<Conversion> conversion = resolveConversion(op);
  if (failed(conversion))
    return failure();
  // A local conversion may be part of an operation that fewer ranks run than have its placements.
  for (NamedAttribute entry : join(getOn(op.getOperation()), DictionaryAttr::get(op.getContext())))
    for (Placement *placement : {&conversion->from, &conversion->to})
      if (Axis axis = *mesh.find(entry.getName()); !llvm::is_contained(conversion->axes, axis))
        placement->setHolder(axis, cast<DenseI64ArrayAttr>(entry.getValue())[0]);
  auto reads = [&](int64_t rank) { return conversion->from.holds(getCoordinates(mesh, rank)); };
  if (failed(checkHeld(op, input, reads)))
    return failure();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  double neutral = toNumber(getNeutralElement(conversion->to.partialKind, type.getElementType()));
  PerRank outputs = test::convert(toNumbers(input), conversion->from, conversion->to, conversion->axes, mesh,
                                  conversion->shape, neutral, getUndefined(type.getElementType()), slice);
  return fromNumbers(type, outputs, [&](int64_t rank) { return conversion->to.holds(getCoordinates(mesh, rank)); });
}

FailureOr<RankTensors> Simulator::mask(MaskOp op, const RankTensors &input) {
  FailureOr<Placement> placement =
      Placement::resolve(op.getPlacement(), mesh, op.getShape(), [&] { return op.emitOpError(); });
  if (failed(placement))
    return failure();
  // Only the masked dimensions count.
  placement->support.clear();
  SmallVector<int64_t> shape = placement->getLocalShape(op.getShape());
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
      shape[dim] = op.getShape()[dim];
    else
      placement->dims[dim].clear();
  }
  PerRank numbers = toNumbers(input);
  auto elements = test::getElements(*placement, mesh, shape, slice);
  auto runs = [&](int64_t rank) { return isOn(getOn(op.getOperation()), rank); };
  if (failed(checkHeld(op, input, runs)))
    return failure();
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
    if (runs(rank))
      for (auto [number, element] : llvm::zip_equal(numbers[rank], elements[rank]))
        if (element < 0)
          number = toNumber(op.getFill());
  return fromNumbers(cast<RankedTensorType>(op.getResult().getType()), numbers, runs);
}

FailureOr<RankTensors> Simulator::exchange(CollectiveOp op, const RankTensors &input) {
  PerRank inputs = toNumbers(input), outputs(inputs.size());
  SmallVector<Axis> axes;
  for (StringRef name : op.getAxes().getAsValueRange<StringAttr>())
    axes.push_back(*mesh.find(name));
  auto runs = [&](int64_t rank) { return isOn(getOn(op.getOperation()), rank); };
  auto isRoot = [&](int64_t rank) {
    return !op.getRoots() || test::getGroup(mesh, rank, axes)[op.getRoots()->front()] == rank;
  };
  bool isReduce = op.getKind() == CollectiveKind::Reduce;
  bool isFromRoot = op.getKind() == CollectiveKind::Broadcast || op.getKind() == CollectiveKind::Send;
  auto gets = [&](int64_t rank) {
    return op.getTo() ? test::getGroup(mesh, rank, axes)[*op.getTo()] == rank : !isReduce || isRoot(rank);
  };
  if (failed(checkHeld(op, input, [&](int64_t rank) { return runs(rank) && (!isFromRoot || isRoot(rank)); })))
    return failure();
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    if (!runs(rank))
      continue;
    std::vector<int64_t> group = test::getGroup(mesh, rank, axes);
    int64_t self = llvm::find(group, rank) - group.begin();
    // Part `index` of what `member` has, of as many parts as there are ranks.
    auto getPart = [&](int64_t member, int64_t index) {
      size_t size = inputs[member].size() / group.size();
      return ArrayRef(inputs[member]).slice(index * size, size);
    };
    std::vector<double> &output = outputs[rank];
    for (int64_t member : group) {
      if (isFromRoot && !isRoot(member))
        continue;
      ArrayRef<double> part = inputs[member];
      if (op.getKind() == CollectiveKind::ReduceScatter || op.getKind() == CollectiveKind::AllToAll)
        part = getPart(member, self);
      if (op.getKind() == CollectiveKind::AllGather || op.getKind() == CollectiveKind::AllToAll || output.empty())
        output.insert(output.end(), part.begin(), part.end());
      else
        for (auto [sum, term] : llvm::zip_equal(output, part))
          sum = test::reduce(op.getReduction(), sum, term);
    }
  }
  return fromNumbers(cast<RankedTensorType>(op.getResult(0).getType()), outputs,
                     [&](int64_t rank) { return runs(rank) && gets(rank); });
}

/// One value on the ranks of `op`, another elsewhere.
FailureOr<RankTensors> Simulator::choose(EitherOp op, const RankTensors &held, const RankTensors &other) {
  auto isHolder = [&](int64_t rank) { return isOn(op.getHolders(), rank); };
  auto runs = [&](int64_t rank) { return isOn(getOn(op.getOperation()), rank); };
  if (failed(checkHeld(op, held, [&](int64_t rank) { return runs(rank) && isHolder(rank); })) ||
      failed(checkHeld(op, other, [&](int64_t rank) { return runs(rank) && !isHolder(rank); })))
    return failure();
  RankTensors results;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
    results.push_back(!runs(rank) ? Tensor() : isHolder(rank) ? held[rank] : other[rank]);
  return results;
}

FailureOr<RankTensors> Simulator::accumulate(dist::AccumulateOp op, const RankTensors &before,
                                             const RankTensors &addend) {
  if (op.getSums() ? !llvm::is_contained(*op.getSums(), slice) : slice == 0)
    return addend;
  auto runs = [&](int64_t rank) { return isOn(getOn(op.getOperation()), rank); };
  if (failed(checkHeld(op, before, runs)) || failed(checkHeld(op, addend, runs)))
    return failure();
  PerRank sums = toNumbers(addend);
  for (auto [sum, old] : llvm::zip_equal(sums, toNumbers(before)))
    for (auto [number, term] : llvm::zip(sum, old))
      number += term;
  return fromNumbers(cast<RankedTensorType>(op.getResult().getType()), sums, runs);
}

FailureOr<RankTensors> Simulator::simulate(Operation *op, Iteration iteration, ArrayRef<const RankTensors *> operands) {
  if (auto conversion = dyn_cast<ConversionOpInterface>(op))
    return convert(conversion, *operands[0]);
  if (auto maskOp = dyn_cast<MaskOp>(op))
    return mask(maskOp, *operands[0]);
  if (auto collective = dyn_cast<CollectiveOp>(op))
    return exchange(collective, *operands[0]);
  if (auto either = dyn_cast<EitherOp>(op))
    return choose(either, *operands[0], *operands[1]);
  if (auto sum = dyn_cast<dist::AccumulateOp>(op))
    return accumulate(sum, *operands[0], *operands[1]);
  auto runs = [&](int64_t rank) { return isOn(getOn(op), rank); };
  for (const RankTensors *operand : operands)
    if (failed(checkHeld(op, *operand, runs)))
      return failure();
  RankTensors results;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    if (!runs(rank)) {
      results.resize(results.size() + op->getNumResults());
      continue;
    }
    if (auto coordinate = dyn_cast<CoordinateOp>(op)) {
      Tensor tensor(cast<RankedTensorType>(coordinate.getResult().getType()));
      tensor.data[0].i = test::locate(mesh, rank, slice)[*mesh.find(coordinate.getAxis())];
      results.push_back(tensor);
      continue;
    }
    SmallVector<const Tensor *> local =
        llvm::map_to_vector(operands, [&](const RankTensors *operand) { return &(*operand)[rank]; });
    FailureOr<Tensors> computed = compute(op, iteration, rank, local);
    if (failed(computed))
      return failure();
    llvm::append_range(results, *computed);
  }
  return results;
}

/// Computes `op` on `rank`.
FailureOr<Tensors> Simulator::compute(Operation *op, Iteration iteration, int64_t rank,
                                      ArrayRef<const Tensor *> operands) {
  auto before = values.find(getBefore(op));
  if (std::optional<Tensor> result =
          evaluateLoop(op, operands, iteration, before == values.end() ? nullptr : &before->second[rank]))
    return Tensors{std::move(*result)};
  return evaluateOperation(op, operands);
}

/// Runs an operation that is not the last and keeps what it computes.
LogicalResult Simulator::step(Operation *op, Iteration iteration) {
  if (auto read = dyn_cast<net::ReadOp>(op)) {
    auto found = variables.find(read.getVariable().str());
    if (found == variables.end())
      return op->emitOpError() << "finds no value";
    values[read.getResult()] = found->second;
    return success();
  }
  SmallVector<const RankTensors *> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) -> const RankTensors * { return &values[operand]; });
  FailureOr<RankTensors> results = simulate(op, iteration, operands);
  if (failed(results))
    return failure();
  // Several results of one operation lie rank by rank.
  unsigned count = op->getNumResults();
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    RankTensors &tensors = values[result];
    tensors.clear();
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      tensors.push_back((*results)[rank * count + index]);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

FailureOr<Simulator> Simulator::create(ModuleOp module) {
  Simulator simulator;
  simulator.module = module;
  MeshOp mesh = findMesh(module);
  if (!mesh)
    return module.emitError() << "has no mesh";
  simulator.mesh = mesh.getMesh();
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      simulator.func = func;
  if (!simulator.func)
    return module.emitError() << "has no public function";
  return simulator;
}

/// The whole type and the placement that stand beside a local type.
static FailureOr<std::pair<RankedTensorType, Placement>> getBoundary(Attribute global, Attribute mapping,
                                                                     const Mesh &mesh, Operation *op) {
  auto type = dyn_cast_or_null<TypeAttr>(global);
  if (!type || !isa_and_nonnull<MappingAttr>(mapping))
    return op->emitOpError() << "has a value without placement";
  auto tensor = cast<RankedTensorType>(type.getValue());
  FailureOr<Placement> placement =
      Placement::resolve(cast<MappingAttr>(mapping), mesh, tensor.getShape(), [&] { return op->emitOpError(); });
  if (failed(placement))
    return failure();
  return std::make_pair(tensor, *placement);
}

LogicalResult Simulator::setVariable(StringRef name, const Tensor &whole) {
  auto variable = SymbolTable(module).lookup<net::VariableOp>(name);
  auto kept = getBoundary(net::kGlobalTypeAttr.get(variable), kMappingAttr.get(variable), mesh, variable);
  if (failed(kept))
    return failure();
  variables[name.str()] = distribute(whole, kept->second);
  return success();
}

FailureOr<Tensor> Simulator::getVariable(StringRef name) {
  auto variable = SymbolTable(module).lookup<net::VariableOp>(name);
  auto kept = getBoundary(net::kGlobalTypeAttr.get(variable), kMappingAttr.get(variable), mesh, variable);
  if (failed(kept))
    return failure();
  return collect(variables[name.str()], kept->first, kept->second, variable);
}

/// Resets accumulators, whose contents before the first slice do not matter.
void Simulator::clearAccumulators() {
  for (auto variable : module.getOps<net::VariableOp>()) {
    if (variable.getKind() != net::VariableKind::Accumulator)
      continue;
    RankedTensorType type = variable.getTensorType();
    SmallVector<double> numbers(type.getNumElements(), getUndefined(type.getElementType()));
    RankTensors &tensors = variables[variable.getSymName().str()];
    tensors.assign(mesh.getNumRanks(), fromNumbers(type, numbers));
  }
}

/// Runs the program once; what is assigned now is there for the next time.
LogicalResult Simulator::runSlice(ArrayRef<Tensor> inputs) {
  values.clear();
  for (auto [index, input] : llvm::enumerate(inputs)) {
    auto placed =
        getBoundary(func.getArgAttr(index, net::kGlobalTypeAttr), func.getArgAttr(index, kMappingAttr), mesh, func);
    if (failed(placed))
      return failure();
    values[func.getArgument(index)] = distribute(input, placed->second);
  }
  std::map<std::string, RankTensors> assigned;
  auto visit = [&](Operation *op, Iteration iteration) -> LogicalResult {
    auto assign = dyn_cast<net::AssignOp>(op);
    if (!assign)
      return op->hasTrait<OpTrait::IsTerminator>() ? success() : step(op, iteration);
    if (!isOn(kDuringAttr.get(op), 0))
      return success();
    // Ranks that do not keep the variable store nothing, whatever the value is.
    RankTensors tensors = values[assign.getValue()];
    auto runs = [&](int64_t rank) { return isOn(getOn(op), rank); };
    if (failed(checkHeld(assign, tensors, runs)))
      return failure();
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      if (!runs(rank))
        tensors[rank] = Tensor();
    assigned[assign.getVariable().str()] = tensors;
    return success();
  };
  if (failed(forEachDone(func.getBody().front(), visit)))
    return failure();
  for (auto &[name, tensors] : assigned)
    variables[name] = tensors;
  return success();
}

FailureOr<Tensors> Simulator::run(ArrayRef<Tensor> inputs) {
  std::optional<Axis> slices = mesh.find(AxisKind::Slices);
  clearAccumulators();
  for (slice = 0; slice < (slices ? mesh.getSize(*slices) : 1); ++slice)
    if (failed(runSlice(inputs)))
      return failure();
  Tensors results;
  for (auto [index, operand] : llvm::enumerate(func.getBody().front().getTerminator()->getOperands())) {
    auto placed = getBoundary(func.getResultAttr(index, net::kGlobalTypeAttr), func.getResultAttr(index, kMappingAttr),
                              mesh, func);
    if (failed(placed))
      return failure();
    FailureOr<Tensor> whole = collect(values[operand], placed->first, placed->second, func);
    if (failed(whole))
      return failure();
    results.push_back(*whole);
  }
  return results;
}
