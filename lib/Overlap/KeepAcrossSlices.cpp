//===- KeepAcrossSlices.cpp - keeps fetches for later slices --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective that is done once in a step (`dist.once`) runs in the first slice that needs it. A variable holds its
// results for the slices after it. Communication is ordered before, on the fetches themselves, so that the first slice
// overlaps them with computation like any other.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Placement.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/Net.h"
#include "meshwright/Memory/Storage.h"
#include "meshwright/Overlap/Passes.h"
#include "meshwright/Overlap/Traffic.h"
#include "mlir/IR/SymbolTable.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_KEEPACROSSSLICESPASS
#include "meshwright/Overlap/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// Keeps the results of the collectives of one module.
class Keeper {
public:
  Keeper(ModuleOp module, const dist::Mesh &mesh, dist::Axis slices)
      : symbols(module), slices(StringAttr::get(module.getContext(), mesh.getName(slices))), mesh(mesh),
        builder(module.getContext()) {}

  /// Keeps what `op` makes in the first slice and others read, in variables before `func`. Returns how many it took.
  int64_t keep(dist::CollectiveOp op, func::FuncOp func, const net::LoopNest &nest);

private:
  bool isReadElsewhere(Value value, Attribute holders) const;
  net::VariableOp createVariable(dist::CollectiveOp op, unsigned part, Value value, func::FuncOp func);
  void keep(Value value, net::VariableOp variable, DictionaryAttr on);

  SymbolTable symbols;
  /// The name of the axis.
  StringAttr slices;
  const dist::Mesh &mesh;
  OpBuilder builder;
};

} // namespace

/// True if a slice outside `holders` reads `value`. A view counts as its memory in another shape.
bool Keeper::isReadElsewhere(Value value, Attribute holders) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<dist::ViewOp>(user))
      return isReadElsewhere(user->getResult(0), holders);
    DictionaryAttr on = dist::getOn(user);
    return !on || on.get(slices) != holders;
  });
}

/// The name of the part of a launch, or of the one value that `op` moves.
static StringRef getPartName(dist::CollectiveOp op, unsigned part) {
  auto names = dist::kPartsAttr.get(op);
  return names ? cast<StringAttr>(names[part]).getValue() : Traffic::getName(op).getValue();
}

/// The kernel that alone reads `value` and only puts its elements elsewhere, outside of loops; null where there is
/// none.
static dist::KernelOp findCopy(Value value, const net::LoopNest &nest) {
  while (value.hasOneUse() && isa<dist::ViewOp>(*value.user_begin()))
    value = (*value.user_begin())->getResult(0);
  auto kernel = value.hasOneUse() ? dyn_cast<dist::KernelOp>(*value.user_begin()) : dist::KernelOp();
  bool isCopy = kernel && Traffic::isLayout(kernel) && kernel->getNumOperands() == 1 && kernel->getNumResults() == 1 &&
                !nest.getLoop(kernel) &&
                Storage::getBytes(kernel.getOperand(0).getType()) == Storage::getBytes(kernel.getResult(0).getType());
  return isCopy ? kernel : dist::KernelOp();
}

/// If `value`, made `on` some ranks in one slice, is only copied into another layout, makes the copy there too and
/// returns it: the copy is then kept, and later slices do not repeat it.
static Value followCopies(Value value, DictionaryAttr on, const net::LoopNest &nest) {
  for (dist::KernelOp copy = findCopy(value, nest); copy; copy = findCopy(value, nest)) {
    // Fewer ranks than have the value may copy it.
    if (dist::join(dist::getOn(copy.getOperation()), on) != on)
      break;
    dist::setOn(copy, on);
    value = copy.getResult(0);
  }
  return value;
}

net::VariableOp Keeper::createVariable(dist::CollectiveOp op, unsigned part, Value value, func::FuncOp func) {
  auto type = cast<RankedTensorType>(value.getType());
  dist::Placement placement = dist::Placement::replicated(type.getRank());
  StringRef name = getPartName(op, part);
  OpBuilder outside(op.getContext());
  auto variable = net::VariableOp::create(outside, value.getLoc(), net::VariableKind::Accumulator,
                                          ("kept/" + (name.empty() ? "value" : name)).str(), type,
                                          net::InitializerAttr(), FlatSymbolRefAttr());
  dist::kWithinStepAttr.set(variable, outside.getUnitAttr());
  dist::kOnceAttr.set(variable, outside.getUnitAttr());
  dist::kMappingAttr.set(variable, placement.toAttr(op.getContext(), mesh, type.getShape()));
  symbols.insert(variable, func->getIterator());
  return variable;
}

/// Assigns `value`, which is made `on` some ranks in one slice, and lets its users read it there in other slices.
void Keeper::keep(Value value, net::VariableOp variable, DictionaryAttr on) {
  builder.setInsertionPointAfterValue(value);
  Location loc = value.getLoc();
  auto symbol = FlatSymbolRefAttr::get(variable);
  auto assign = net::AssignOp::create(builder, loc, symbol, value);
  dist::setOn(assign, on);
  auto read = net::ReadOp::create(builder, loc, value.getType(), symbol);
  auto holders = builder.getDictionaryAttr(builder.getNamedAttr(slices, on.get(slices)));
  auto either = dist::EitherOp::create(builder, loc, value.getType(), value, holders, read.getResult());
  NamedAttrList elsewhere(on);
  elsewhere.erase(slices);
  dist::setOn(either, elsewhere.getDictionary(builder.getContext()));
  value.replaceUsesWithIf(either.getResult(),
                          [&](OpOperand &use) { return use.getOwner() != assign && use.getOwner() != either; });
}

int64_t Keeper::keep(dist::CollectiveOp op, func::FuncOp func, const net::LoopNest &nest) {
  DictionaryAttr on = dist::getOn(op.getOperation());
  Attribute holders = on ? on.get(slices) : Attribute();
  if (!holders)
    return 0;
  Operation *maker = op;
  if (op.isStart()) {
    maker = *op->user_begin();
    dist::setOn(maker, on);
  }
  int64_t kept = 0;
  // Assignments stand in the order of the parts.
  for (unsigned part = maker->getNumResults(); part-- > 0;) {
    Value result = maker->getResult(part);
    if (!isReadElsewhere(result, holders))
      continue;
    Value value = followCopies(result, on, nest);
    keep(value, createVariable(op, part, value, func), on);
    ++kept;
  }
  return kept;
}

namespace {

struct KeepAcrossSlicesPass : schedule::impl::KeepAcrossSlicesPassBase<KeepAcrossSlicesPass> {
  void runOnOperation() override {
    dist::MeshOp meshOp = dist::findMesh(getOperation());
    if (!meshOp)
      return;
    dist::Mesh mesh = meshOp.getMesh();
    std::optional<dist::Axis> slices = mesh.find(dist::AxisKind::Slices);
    if (!slices)
      return;
    Keeper keeper(getOperation(), mesh, *slices);
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (func.isExternal())
        continue;
      auto collectives = llvm::to_vector(llvm::make_filter_range(
          func.getOps<dist::CollectiveOp>(), [](dist::CollectiveOp op) { return dist::kOnceAttr.isOn(op); }));
      if (collectives.empty())
        continue;
      FailureOr<net::LoopNest> nest = net::LoopNest::find(func.getBody().front());
      if (failed(nest))
        return signalPassFailure();
      for (dist::CollectiveOp collective : collectives)
        numKept += keeper.keep(collective, func, *nest);
    }
  }
};

} // namespace
