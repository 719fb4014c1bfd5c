//===- Support.cpp - sets of ranks, by coordinates ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Support.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

DictionaryAttr dist::getOn(Operation *op) { return kOnAttr.get(op); }

void dist::setOn(Operation *op, DictionaryAttr on) {
  if (on && !on.empty())
    kOnAttr.set(op, on);
  else
    kOnAttr.remove(op);
}

/// Among the ranks that run `op`, those that are member `number` of their group. `number` is a mixed-radix number of
/// the coordinates on the axes of `op`, the last axis varying fastest.
static DictionaryAttr getMember(CollectiveOp op, int64_t number) {
  Mesh mesh = findMesh(op->getParentOfType<ModuleOp>()).getMesh();
  Builder builder(op->getContext());
  NamedAttrList on(getOn(op.getOperation()));
  // `axes` has to be a variable: a range-based for does not extend the life of the temporary inside `llvm::reverse`.
  SmallVector<StringRef> axes = llvm::to_vector(op.getAxes().getAsValueRange<StringAttr>());
  for (StringRef name : llvm::reverse(axes)) {
    int64_t size = mesh.getSize(*mesh.find(name));
    if (size > 1)
      on.set(name, builder.getDenseI64ArrayAttr(number % size));
    number /= size;
  }
  return on.getDictionary(op->getContext());
}

DictionaryAttr dist::getOn(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto mapping = func ? kMappingAttr.getOfArgument(func, argument.getArgNumber()) : MappingAttr();
    return mapping ? mapping.getSupport() : DictionaryAttr();
  }
  Operation *op = value.getDefiningOp();
  if (auto conversion = dyn_cast<ConversionOpInterface>(op))
    return join(getOn(op), conversion.getTo().getSupport());
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto wait = dyn_cast<WaitOp>(op))
    return getOn(wait.getHandles()[number]);
  auto collective = dyn_cast<CollectiveOp>(op);
  // In the program of a single rank, the operand or the result of a send is missing.
  if (collective && collective.getKind() == CollectiveKind::Send && collective.getPartInput(number) &&
      collective.getPartResult(number))
    return getMember(collective, *collective.getTo());
  if (!collective || collective.getKind() != CollectiveKind::Reduce || collective.getElsewhere())
    return getOn(op);
  return getMember(collective, (*collective.getRoots())[number]);
}

DictionaryAttr dist::join(DictionaryAttr on, DictionaryAttr support) {
  if (!on || on.empty())
    return support;
  NamedAttrList list(on);
  for (NamedAttribute entry : support)
    list.set(entry.getName(), entry.getValue());
  return list.getDictionary(on.getContext());
}

bool dist::covers(DictionaryAttr outer, DictionaryAttr inner) {
  if (!outer)
    return true;
  return llvm::all_of(outer, [&](NamedAttribute entry) {
    auto narrower = inner ? inner.getAs<DenseI64ArrayAttr>(entry.getName()) : DenseI64ArrayAttr();
    ArrayRef<int64_t> wide = cast<DenseI64ArrayAttr>(entry.getValue()).asArrayRef();
    return narrower && llvm::all_of(narrower.asArrayRef(),
                                    [&](int64_t coordinate) { return llvm::is_contained(wide, coordinate); });
  });
}

bool dist::holds(func::FuncOp func, DictionaryAttr support) { return covers(support, getOn(func.getOperation())); }

bool dist::covers(DictionaryAttr on, const Mesh &mesh, ArrayRef<int64_t> coordinates) {
  if (!on)
    return true;
  return llvm::all_of(on, [&](NamedAttribute entry) {
    std::optional<Axis> axis = mesh.find(entry.getName().getValue());
    return axis && llvm::is_contained(cast<DenseI64ArrayAttr>(entry.getValue()).asArrayRef(), coordinates[*axis]);
  });
}

bool dist::covers(DictionaryAttr on, StringRef axis, int64_t coordinate) {
  auto list = on ? on.getAs<DenseI64ArrayAttr>(axis) : DenseI64ArrayAttr();
  return !list || llvm::is_contained(list.asArrayRef(), coordinate);
}

Value dist::getCoordinate(StringAttr axis, Operation *user) {
  Block *block = user->getBlock();
  for (auto known : block->getOps<CoordinateOp>())
    if (known.getAxisAttr() == axis && known->isBeforeInBlock(user))
      return known.getResult();
  auto builder = OpBuilder::atBlockBegin(block);
  return CoordinateOp::create(builder, user->getLoc(), RankedTensorType::get({}, builder.getI32Type()), axis);
}

SmallVector<int64_t> dist::getCoordinates(const Mesh &mesh, int64_t rank) {
  SmallVector<int64_t> coordinates;
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
    coordinates.push_back(mesh.getCoordinate(rank, axis));
  return coordinates;
}
