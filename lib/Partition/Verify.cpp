//===- Verify.cpp - the gate of Partition ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only reads. Every conversion is checked by its own verifier; what is left are the places where two of them, or one
// and the boundary of the program, meet.
//
//===----------------------------------------------------------------------===//

#include "PlacementTable.h"
#include "dialects/Dist/Conversions.h"
#include "meshwright/Partition/Passes.h"
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

/// A placement of a value whose whole type is known.
struct Known {
  MappingAttr mapping;
  SmallVector<int64_t> shape;
  bool operator==(const Known &) const = default;
};

class Verifier {
public:
  Verifier(ModuleOp module, PlacementTable &table, const Mesh &mesh) : module(module), table(table), mesh(mesh) {}

  LogicalResult run();

private:
  FailureOr<Known> verifyBoundary(Type local, Attribute globalType, Attribute mapping, Operation *op,
                                  const Twine &what);
  LogicalResult verifyFunction(func::FuncOp func);
  LogicalResult verifyOperation(Operation *op);
  LogicalResult verifyConversion(ConversionOpInterface op);
  LogicalResult verifyUse(Operation *op, Value value, const Known &wanted);

  ModuleOp module;
  PlacementTable &table;
  const Mesh &mesh;
  llvm::StringMap<Known> variables;
  DenseMap<Value, Known> known;
};

} // namespace

/// Checks that `local` is the local type of the whole type and the placement that stand beside it.
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

/// Checks that `value`, where its placement is known, is as `wanted`.
LogicalResult Verifier::verifyUse(Operation *op, Value value, const Known &wanted) {
  auto it = known.find(value);
  if (it == known.end() || it->second == wanted)
    return success();
  auto diagnostic = op->emitOpError() << "takes a value in " << wanted.mapping << " but it is in "
                                      << it->second.mapping;
  diagnostic.attachNote(value.getLoc()) << "the value is made here";
  return diagnostic;
}

LogicalResult Verifier::verifyConversion(ConversionOpInterface op) {
  auto element = getElementTypeOrSelf(op.getInput());
  auto global = RankedTensorType::get(op.getShape(), element);
  FailureOr<MappingAttr> from = table.normalize(op.getFrom(), global, op), to = table.normalize(op.getTo(), global, op);
  if (failed(from) || failed(to))
    return failure();
  known[op->getResult(0)] = {*to, llvm::to_vector(op.getShape())};
  Known wanted{*from, llvm::to_vector(op.getShape())};
  // To read a replicated value as partial of an idempotent kind takes no operation.
  auto it = known.find(op.getInput());
  if (it != known.end() && it->second.shape == wanted.shape) {
    const Placement &actual = table.resolve(it->second.mapping, global);
    Placement expected = table.resolve(*from, global);
    bool sameKind = actual.partialAxes.empty() || actual.partialKind == expected.partialKind;
    if (isIdempotent(expected.partialKind) && sameKind) {
      llvm::erase_if(expected.partialAxes, [&](Axis axis) { return !actual.isPartial(axis); });
      if (normalize(expected, mesh) == actual)
        return success();
    }
  }
  return verifyUse(op, op.getInput(), wanted);
}

LogicalResult Verifier::verifyOperation(Operation *op) {
  if (isa<ReshardOp>(op))
    return op->emitOpError() << "is left, though every conversion should be a collective or local by now";
  for (StringRef name : {kResultsAttr, kOperandsAttr, kComputesAttr})
    if (op->hasAttr(name))
      return op->emitOpError() << "still has the placements of global values in " << name;
  if (auto conversion = dyn_cast<ConversionOpInterface>(op))
    return verifyConversion(conversion);
  if (auto read = dyn_cast<net::ReadOp>(op)) {
    auto it = variables.find(read.getVariable());
    if (it != variables.end())
      known[read.getResult()] = it->second;
    return success();
  }
  if (auto assign = dyn_cast<net::AssignOp>(op)) {
    auto it = variables.find(assign.getVariable());
    return it == variables.end() ? success() : verifyUse(op, assign.getValue(), it->second);
  }
  return success();
}

LogicalResult Verifier::verifyFunction(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    FailureOr<Known> placed = verifyBoundary(argument.getType(), func.getArgAttr(index, kGlobalTypeAttr),
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
    FailureOr<Known> placed = verifyBoundary(type, func.getResultAttr(index, kGlobalTypeAttr),
                                             func.getResultAttr(index, kMappingAttr), func, "result " + Twine(index));
    if (failed(placed) || failed(verifyUse(terminator, terminator->getOperand(index), *placed)))
      return failure();
  }
  return success();
}

LogicalResult Verifier::run() {
  for (auto variable : module.getOps<net::VariableOp>()) {
    FailureOr<Known> placed = verifyBoundary(variable.getType(), variable->getAttr(kGlobalTypeAttr),
                                             variable->getAttr(kMappingAttr), variable, "a value");
    if (failed(placed))
      return failure();
    variables[variable.getSymName()] = *placed;
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isDeclaration() && failed(verifyFunction(func)))
      return failure();
  return success();
}

namespace {

struct VerifyPass : partition::impl::VerifyPassBase<VerifyPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp meshOp = findMesh(module);
    if (!meshOp) {
      module.emitOpError() << "has no mesh to be partitioned over";
      return signalPassFailure();
    }
    Mesh mesh = meshOp.getMesh();
    PlacementTable table(module, mesh);
    if (failed(Verifier(module, table, mesh).run()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
