//===- Verify.cpp - the gate of Partition ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads only. Every conversion is checked by its own verifier; this gate checks the places where two operations meet,
// or an operation and the boundary of the program, and then has placements inferred again from what operations compute.
//
//===----------------------------------------------------------------------===//

#include "PlacementTable.h"
#include "VerifyTimes.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Support.h"
#include "meshwright/Partition/Conditionals.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Placements/Inference.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Support/Stages.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::partition {
#define GEN_PASS_DEF_VERIFYPASS
#include "meshwright/Partition/Passes.h.inc"
} // namespace meshwright::partition

#define DEBUG_TYPE "dist-partition-verify"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::partition;

namespace {

/// A placement of a value whose global type is known.
struct Known {
  MappingAttr mapping;
  SmallVector<int64_t> shape;
  bool operator==(const Known &) const = default;
};

class Verifier {
public:
  Verifier(ModuleOp module, PlacementTable &table, const Mesh &mesh, std::optional<StageMap> stages)
      : module(module), table(table), mesh(mesh), stages(std::move(stages)) {}

  LogicalResult run();

private:
  FailureOr<Known> verifyBoundary(Type local, Attribute globalType, Attribute mapping, Operation *op,
                                  const Twine &what);
  LogicalResult verifyFunction(func::FuncOp func);
  LogicalResult verifyOperation(Operation *op);
  LogicalResult verifyStage(Operation *op);
  LogicalResult verifyConversion(ConversionOpInterface op);
  LogicalResult verifyMembers(Operation *op, DictionaryAttr expected, DictionaryAttr reads);
  LogicalResult verifyUse(Operation *op, Value value, const Known &wanted);

  ModuleOp module;
  PlacementTable &table;
  const Mesh &mesh;
  std::optional<StageMap> stages;
  llvm::StringMap<Known> variables;
  DenseMap<Value, Known> known;
};

} // namespace

/// Checks that `local` is the local type of the stated global type and placement.
FailureOr<Known> Verifier::verifyBoundary(Type local, Attribute globalType, Attribute mapping, Operation *op,
                                          const Twine &what) {
  auto global = dyn_cast_or_null<TypeAttr>(globalType);
  auto type = global ? dyn_cast<RankedTensorType>(global.getValue()) : RankedTensorType();
  if (!type)
    return op->emitOpError() << "has " << what << " without the type of its whole value";
  FailureOr<MappingAttr> normal = table.normalize(mapping, type, op);
  if (failed(normal))
    return failure();
  RankedTensorType expected = type.clone(table.resolve(*normal, type).getLocalShape(type.getShape()));
  if (expected != local)
    return op->emitOpError() << "has " << what << " of " << local << " but its placement makes it " << expected;
  return Known{*normal, llvm::to_vector(type.getShape())};
}

/// Checks that `value`, if its placement is known, is as `wanted`. Reading a replicated value as partial of an
/// idempotent kind, or on one owner alone, takes no operation.
LogicalResult Verifier::verifyUse(Operation *op, Value value, const Known &wanted) {
  auto it = known.find(value);
  if (it == known.end() || it->second == wanted)
    return success();
  if (it->second.shape == wanted.shape) {
    auto global = RankedTensorType::get(wanted.shape, getElementTypeOrSelf(value));
    const Placement &actual = table.resolve(it->second.mapping, global);
    Placement expected = table.resolve(wanted.mapping, global);
    bool sameKind = actual.partialAxes.empty() || actual.partialKind == expected.partialKind;
    if (isIdempotent(expected.partialKind) && sameKind)
      llvm::erase_if(expected.partialAxes,
                     [&](Axis axis) { return !actual.isPartial(axis) && !actual.getHolder(axis); });
    llvm::erase_if(expected.support, [&](const auto &entry) { return !actual.getHolder(entry.first); });
    if (normalize(expected, mesh) == actual)
      return success();
  }
  auto diagnostic = op->emitOpError() << "takes a value in " << wanted.mapping << " but it is in "
                                      << it->second.mapping;
  diagnostic.attachNote(value.getLoc()) << "the value is made here";
  return diagnostic;
}

/// Checks that `op` runs on the ranks `expected` and that its operands exist on the ranks `reads`.
LogicalResult Verifier::verifyMembers(Operation *op, DictionaryAttr expected, DictionaryAttr reads) {
  auto print = [&](DictionaryAttr on) { return on ? on : DictionaryAttr::get(op->getContext()); };
  DictionaryAttr on = getOn(op);
  if (!covers(on, expected) || !covers(expected, on))
    return op->emitOpError() << "runs on " << print(on) << ", not on " << print(expected);
  for (Value operand : op->getOperands()) {
    if (isa_and_nonnull<CoordinateOp>(operand.getDefiningOp()) || covers(getOn(operand), reads))
      continue;
    auto diagnostic = op->emitOpError() << "reads on " << print(reads) << " a value that only " << getOn(operand)
                                        << " has";
    diagnostic.attachNote(operand.getLoc()) << "the value is made here";
    return diagnostic;
  }
  return success();
}

LogicalResult Verifier::verifyConversion(ConversionOpInterface op) {
  auto element = getElementTypeOrSelf(op.getInput());
  auto global = RankedTensorType::get(op.getShape(), element);
  FailureOr<MappingAttr> from = table.normalize(op.getFrom(), global, op), to = table.normalize(op.getTo(), global, op);
  if (failed(from) || failed(to))
    return failure();
  known[op->getResult(0)] = {*to, llvm::to_vector(op.getShape())};
  // Only owners on other axes than the conversion's own take part; on its own axes, senders and receivers do.
  NamedAttrList members((*from).getSupport());
  for (StringRef axis : op.getAxes().getAsValueRange<StringAttr>()) {
    if (!isa<SendOp>(op)) {
      members.erase(axis);
      continue;
    }
    SmallVector<int64_t> both(cast<DenseI64ArrayAttr>(members.get(axis)).asArrayRef());
    llvm::append_range(both, (*to).getSupport().getAs<DenseI64ArrayAttr>(axis).asArrayRef());
    llvm::sort(both);
    members.set(axis, DenseI64ArrayAttr::get(op->getContext(), both));
  }
  DictionaryAttr expected = members.getDictionary(op->getContext()), on = getOn(op.getOperation());
  // A local conversion may belong to an operation that fewer ranks run.
  if (!op.isCollective() && covers(expected, on))
    expected = on;
  if (failed(verifyMembers(op, expected, join(on, (*from).getSupport()))))
    return failure();
  return verifyUse(op, op.getInput(), {*from, llvm::to_vector(op.getShape())});
}

/// Checks that `op` runs exactly where its stage does. A send or reduction by ranks of several stages has the stage of
/// its reader; a variable is read where it is kept.
LogicalResult Verifier::verifyStage(Operation *op) {
  if (!stages || isa<net::ReadOp>(op))
    return success();
  FailureOr<std::optional<int64_t>> coordinate = stages->getCoordinate(op);
  if (failed(coordinate) || !*coordinate)
    return success(succeeded(coordinate));
  StringRef axis = mesh.getName(stages->getAxis());
  DictionaryAttr on = getOn(op);
  auto list = on ? on.getAs<DenseI64ArrayAttr>(axis) : DenseI64ArrayAttr();
  auto conversion = dyn_cast<ConversionOpInterface>(op);
  bool isBetween = conversion && llvm::is_contained(conversion.getAxes().getAsValueRange<StringAttr>(), axis);
  bool isAlone = (list ? list.size() : mesh.getSize(stages->getAxis())) == 1;
  if (covers(on, axis, **coordinate) && (isBetween || isAlone))
    return success();
  return op->emitOpError() << "is of stage " << *getStage(op) << ", which coordinate " << **coordinate << " of axis \""
                           << axis << "\" computes, but runs on " << (on ? on : DictionaryAttr::get(op->getContext()));
}

LogicalResult Verifier::verifyOperation(Operation *op) {
  if (failed(verifyStage(op)))
    return failure();
  if (isa<ReshardOp>(op))
    return op->emitOpError() << "is left, though every conversion should be a collective or local by now";
  for (const AttributeName<ArrayAttr> &name : {kResultsAttr, kOperandsAttr, kComputesAttr})
    if (name.isOn(op))
      return op->emitOpError() << "still has the placements of global values in " << name;
  if (auto conversion = dyn_cast<ConversionOpInterface>(op))
    return verifyConversion(conversion);
  if (auto read = dyn_cast<net::ReadOp>(op)) {
    auto it = variables.find(read.getVariable());
    if (it == variables.end())
      return success();
    known[read.getResult()] = it->second;
    return verifyMembers(op, it->second.mapping.getSupport(), getOn(op));
  }
  if (auto assign = dyn_cast<net::AssignOp>(op)) {
    auto it = variables.find(assign.getVariable());
    if (it == variables.end())
      return success();
    DictionaryAttr holders = it->second.mapping.getSupport();
    return success(succeeded(verifyMembers(op, holders, holders)) &&
                   succeeded(verifyUse(op, assign.getValue(), it->second)));
  }
  return isa<func::ReturnOp>(op) ? success() : verifyMembers(op, getOn(op), getOn(op));
}

LogicalResult Verifier::verifyFunction(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    FailureOr<Known> placed = verifyBoundary(argument.getType(), func.getArgAttr(index, net::kGlobalTypeAttr),
                                             func.getArgAttr(index, kMappingAttr), func, "argument " + Twine(index));
    if (failed(placed))
      return failure();
    known[argument] = *placed;
  }
  for (Operation &op : func.getBody().getOps())
    if (failed(verifyOperation(&op)))
      return failure();
  auto *terminator = func.getBody().front().getTerminator();
  for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
    FailureOr<Known> placed = verifyBoundary(type, func.getResultAttr(index, net::kGlobalTypeAttr),
                                             func.getResultAttr(index, kMappingAttr), func, "result " + Twine(index));
    Value value = terminator->getOperand(index);
    if (failed(placed) || failed(verifyUse(terminator, value, *placed)))
      return failure();
    if (!covers(getOn(value), placed->mapping.getSupport()))
      return terminator->emitOpError() << "returns for " << placed->mapping << " what only " << getOn(value) << " has";
  }
  return success();
}

LogicalResult Verifier::run() {
  for (auto variable : module.getOps<net::VariableOp>()) {
    FailureOr<Known> placed = verifyBoundary(variable.getType(), net::kGlobalTypeAttr.get(variable),
                                             kMappingAttr.get(variable), variable, "a value");
    if (failed(placed))
      return failure();
    variables[variable.getSymName()] = *placed;
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isDeclaration() && (failed(verifyFunction(func)) || failed(verifyTimes(func, mesh))))
      return failure();
  return success();
}

namespace {

struct VerifyPass : partition::impl::VerifyPassBase<VerifyPass> {
  void runOnOperation() override {
    if (failed(verify(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  static LogicalResult verify(ModuleOp original) {
    OwningOpRef<ModuleOp> copy;
    FailureOr<ModuleOp> module = getWithoutConditionals(original, copy);
    if (failed(module))
      return failure();
    FailureOr<MeshOp> meshOp = requireMesh(*module);
    if (failed(meshOp))
      return failure();
    Mesh mesh = meshOp->getMesh();
    PlacementTable table(*module, mesh);
    FailureOr<std::optional<StageMap>> stages = StageMap::read(*meshOp);
    return success(succeeded(stages) && succeeded(Verifier(*module, table, mesh, *stages).run()) &&
                   succeeded(placements::verifyPlacements(*module)) && succeeded(verifyPrograms(*module)));
  }
};

} // namespace
