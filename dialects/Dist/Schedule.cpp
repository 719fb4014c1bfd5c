//===- Schedule.cpp - verifiers of a scheduled rank program ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of kernels, collectives, copies, waits, schedules, views and GEMMs. Collectives have two forms: in the
// program of all ranks every part has an operand and a result; in the program of a single rank the parts in
// `elsewhere`, and one side of every send, are missing. `getPartInput` and `getPartResult` hide the difference.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

static int64_t countElements(Value value) { return getTensorType(value.getType()).getNumElements(); }

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  // kernel_c1
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "has a body with " << block.getNumArguments() << " arguments for " << getInputs().size()
                         << " inputs, or of other types";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "yields not the " << getNumResults() << " results that it has";
  // kernel_c3
  if (std::optional<ScoresAttr> scores = getScores()) {
    ArrayRef<int64_t> visible = scores->getVisible();
    bool areOrdered = visible.size() % 2 == 0 && llvm::all_of(visible, [](int64_t column) { return column >= 0; });
    for (size_t next = 0; areOrdered && next != visible.size(); next += 2)
      areOrdered = visible[next] <= visible[next + 1];
    if (scores->getRows() < 0 || scores->getColumns() < 0 || scores->getRows() == scores->getColumns() || !areOrdered)
      return emitOpError() << "has scores with one dimension for both axes, or columns that are no pairs in order";
  }
  // kernel_c2
  auto inPlace = getInPlace();
  if (!inPlace)
    return success();
  if (inPlace->size() != getNumResults())
    return emitOpError() << "says of " << inPlace->size() << " results where they go but has " << getNumResults();
  for (auto [index, input] : llvm::enumerate(*inPlace)) {
    if (input == -1)
      continue;
    if (input < -1 || input >= static_cast<int64_t>(getInputs().size()))
      return emitOpError() << "writes result " << index << " to input " << input << " of " << getInputs().size();
    if (getInputs()[input].getType() != getResult(index).getType())
      return emitOpError() << "writes result " << index << " of " << getResult(index).getType() << " to an input of "
                           << getInputs()[input].getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

unsigned CollectiveOp::getNumParts() {
  const CollectiveTraits &traits = getTraits(getKind());
  if (traits.isPair())
    return getRoots() ? getRoots()->size() : 0;
  return traits.hasSource() ? getNumResults() : getInputs().size();
}

bool CollectiveOp::isElsewhere(unsigned part) {
  return getElsewhere() && llvm::is_contained(*getElsewhere(), static_cast<int64_t>(part));
}

/// The index of `part` in a list without the parts in `elsewhere`.
static unsigned countBefore(CollectiveOp op, unsigned part) {
  unsigned number = part;
  ArrayRef<int64_t> others = op.getElsewhere().value_or(ArrayRef<int64_t>());
  for (int64_t other : others)
    number -= other < static_cast<int64_t>(part);
  return number;
}

/// True if this rank gets no result from the started collective `op`, whose only result is then a handle to wait for.
static bool hasToken(CollectiveOp op) {
  const CollectiveTraits &traits = getTraits(op.getKind());
  bool isGiven = traits.isPair() ||
                 (traits.hasTarget() && op.getElsewhere() && op.getElsewhere()->size() == op.getInputs().size());
  return isGiven && op.getNumResults() == 1 && op.isStart() && countElements(op.getResult(0)) == 0;
}

Value CollectiveOp::getPartInput(unsigned part) {
  if (getTraits(getKind()).isPair())
    return getInputs().empty() ? Value() : getInputs()[part];
  if (!getTraits(getKind()).hasSource())
    return getInputs()[part];
  return isElsewhere(part) ? Value() : getInputs()[countBefore(*this, part)];
}

Value CollectiveOp::getPartResult(unsigned part) {
  if (getTraits(getKind()).isPair())
    return getNumResults() == 0 || hasToken(*this) ? Value() : getResult(part);
  if (!getTraits(getKind()).hasTarget())
    return getResult(part);
  return isElsewhere(part) ? Value() : getResult(countBefore(*this, part));
}

Type CollectiveOp::getElementType() {
  Type type = getInputs().empty() ? getResult(0).getType() : getInputs().front().getType();
  return getTensorType(type).getElementType();
}

bool CollectiveOp::isStart() { return getNumResults() > 0 && isa<HandleType>(getResult(0).getType()); }

/// Checks C3 for a send.
static LogicalResult verifySend(CollectiveOp op, int64_t members) {
  size_t parts = op.getNumParts(), inputs = op.getInputs().size(), results = hasToken(op) ? 0 : op.getNumResults();
  if (op.getElsewhere() || !op.getTo() || parts == 0)
    return op.emitOpError() << "sends nothing, not to anybody, or parts elsewhere";
  if ((inputs != parts && inputs != 0) || (results != parts && results != 0) || inputs + results == 0)
    return op.emitOpError() << "has " << inputs << " inputs and " << results << " results for " << parts << " parts";
  ArrayRef<int64_t> roots = *op.getRoots();
  int64_t root = roots.front(), to = *op.getTo();
  for (int64_t other : roots)
    if (other != root || root < 0 || root >= members || to < 0 || to >= members || root == to)
      return op.emitOpError() << "sends from member " << other << " to member " << to << " of " << members
                              << ", and another part from member " << root;
  return success();
}

/// Checks C3, and that the numbers of operands, results and roots fit together.
static LogicalResult verifyRoots(CollectiveOp op, int64_t members) {
  // collective_c3
  CollectiveKind kind = op.getKind();
  const CollectiveTraits &traits = getTraits(kind);
  if (traits.isPair())
    return verifySend(op, members);
  if (op.getTo())
    return op.emitOpError() << "goes to one member, which " << stringifyCollectiveKind(kind) << " does not";
  size_t elsewhere = op.getElsewhere() ? op.getElsewhere()->size() : 0;
  if ((op.getRoots() || elsewhere > 0) && !traits.hasRoot())
    return op.emitOpError() << "has roots, which " << stringifyCollectiveKind(kind) << " has not";
  size_t parts = op.getNumParts(), inputs = op.getInputs().size(), results = hasToken(op) ? 0 : op.getNumResults();
  if (parts == 0)
    return op.emitOpError() << "moves nothing";
  if (inputs + (traits.hasSource() ? elsewhere : 0) != parts || results + (traits.hasTarget() ? elsewhere : 0) != parts)
    return op.emitOpError() << "has " << inputs << " inputs and " << results << " results, and " << elsewhere
                            << " parts elsewhere";
  if (!traits.hasRoot())
    return success();
  ArrayRef<int64_t> roots = op.getRoots().value_or(ArrayRef<int64_t>());
  if (roots.size() != parts)
    return op.emitOpError() << "has " << roots.size() << " roots for " << parts << " parts";
  for (int64_t root : roots)
    if (root < 0 || root >= members)
      return op.emitOpError() << "has root " << root << " in a group of " << members;
  int64_t last = -1;
  ArrayRef<int64_t> others = op.getElsewhere().value_or(ArrayRef<int64_t>());
  for (int64_t part : others) {
    if (part <= last || part >= static_cast<int64_t>(parts))
      return op.emitOpError() << "has part " << part << " elsewhere, of " << parts << " parts, after part " << last;
    last = part;
  }
  return success();
}

/// Checks C2 for one part.
static LogicalResult verifyPart(CollectiveOp op, unsigned part, int64_t members) {
  Value input = op.getPartInput(part), result = op.getPartResult(part);
  for (Value value : {input, result})
    if (value && getTensorType(value.getType()).getElementType() != op.getElementType())
      return op.emitOpError() << "moves elements of " << op.getElementType() << " and of "
                              << getTensorType(value.getType()).getElementType();
  if (!input || !result)
    return success();
  const CollectiveTraits &traits = getTraits(op.getKind());
  int64_t from = countElements(input), to = countElements(result);
  bool isWhole = !traits.hasOperandPerMember() || from % members == 0;
  int64_t piece = traits.hasOperandPerMember() ? from / members : from;
  if (!isWhole || to != (traits.hasResultPerMember() ? piece * members : piece))
    return op.emitOpError() << "makes " << to << " elements of " << from << " in a group of " << members;
  return success();
}

LogicalResult CollectiveOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  if (!mesh)
    return emitOpError() << "stands in a module without mesh";
  // collective_c1
  int64_t members = 1;
  for (StringRef name : getAxes().getAsValueRange<StringAttr>()) {
    std::optional<Axis> axis = mesh.getMesh().find(name);
    if (!axis)
      return emitOpError() << "names axis \"" << name << "\", which the module's mesh does not have";
    members *= mesh.getMesh().getSize(*axis);
  }
  if (failed(verifyRoots(*this, members)))
    return failure();
  // collective_c2
  for (unsigned part = 0; part < getNumParts(); ++part)
    if (failed(verifyPart(*this, part, members)))
      return failure();
  // collective_c4
  for (Value result : getResults())
    if (isa<HandleType>(result.getType()) != isStart())
      return emitOpError() << "starts some parts and finishes others";
  // collective_c5
  for (Value input : getInputs())
    if (isa<HandleType>(input.getType()) && !input.hasOneUse())
      return emitOpError() << "takes a handle that something else takes too";
  return success();
}

//===----------------------------------------------------------------------===//
// Copies and waits
//===----------------------------------------------------------------------===//

bool CopyOp::isStart() { return isa<HandleType>(getResult().getType()); }

LogicalResult CopyOp::verify() {
  // copy_c1
  if (getTensorType(getResult().getType()) != getInput().getType())
    return emitOpError() << "makes " << getResult().getType() << " of " << getInput().getType();
  return success();
}

void WaitOp::build(OpBuilder &builder, OperationState &state, ValueRange handles) {
  SmallVector<Type> types;
  for (Value handle : handles)
    types.push_back(getTensorType(handle.getType()));
  build(builder, state, types, handles);
}

LogicalResult WaitOp::verify() {
  // wait_c1
  Operation *start = getHandles().empty() ? nullptr : getHandles().front().getDefiningOp();
  if (!isa_and_nonnull<CollectiveOp, CopyOp>(start))
    return emitOpError() << "waits for nothing that was started";
  for (auto [handle, result] : llvm::zip(getHandles(), getResults())) {
    if (handle.getDefiningOp() != start || !handle.hasOneUse())
      return emitOpError() << "waits for several launches, or for what something else takes too";
    if (getTensorType(handle.getType()) != result.getType())
      return emitOpError() << "makes " << result.getType() << " of " << handle.getType();
  }
  return success();
}

ScheduleOp::Item ScheduleOp::getItem(unsigned index) {
  int32_t number = getItems()[2 * index];
  return {number < 0 ? -1 - number : number, number < 0, getItems()[2 * index + 1]};
}

LogicalResult ScheduleOp::verify() {
  // schedule_c1
  llvm::DenseSet<Attribute> known;
  for (Attribute action : getActions())
    if (!known.insert(action).second)
      return emitOpError() << "has action " << action << " twice";
  // schedule_c2
  if (getItems().size() % 2 != 0)
    return emitOpError() << "has " << getItems().size()
                         << " numbers, which are no pairs of an action and a micro-batch";
  for (unsigned index = 0; index < getNumItems(); ++index) {
    Item item = getItem(index);
    if (item.action >= static_cast<int32_t>(getActions().size()) || item.microBatch < 0)
      return emitOpError() << "has action " << item.action << " of " << getActions().size() << " in micro-batch "
                           << item.microBatch;
  }
  return success();
}

LogicalResult EitherOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  if (!mesh)
    return emitOpError() << "stands in a module without mesh";
  // either_c1
  for (NamedAttribute entry : getHolders()) {
    std::optional<Axis> axis = mesh.getMesh().find(entry.getName());
    auto coordinates = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
    if (!axis || !coordinates)
      return emitOpError() << "names axis " << entry.getName()
                           << ", which the module's mesh does not have, or no coordinates of it";
    for (int64_t coordinate : coordinates.asArrayRef())
      if (coordinate < 0 || coordinate >= mesh.getMesh().getSize(*axis))
        return emitOpError() << "names coordinate " << coordinate << " of axis " << entry.getName() << " of size "
                             << mesh.getMesh().getSize(*axis);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Views and products
//===----------------------------------------------------------------------===//

LogicalResult ViewOp::verify() {
  // view_c1
  auto from = cast<RankedTensorType>(getInput().getType()), to = cast<RankedTensorType>(getResult().getType());
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "shows " << from << " as " << to;
  int64_t offset = getOffset(), end = offset + to.getNumElements();
  if (offset < 0 || end > from.getNumElements())
    return emitOpError() << "shows elements " << offset << " to " << end << " of " << from.getNumElements();
  return success();
}

/// Checks that all elements that `sizes` and `strides` address from `offset` on lie inside `value`.
static LogicalResult verifyReach(MatmulOp op, Value value, int64_t offset, ArrayRef<int64_t> strides,
                                 ArrayRef<int64_t> sizes, StringRef what) {
  // matmul_c1
  if (strides.size() != sizes.size())
    return op.emitOpError() << "has " << strides.size() << " strides for the " << sizes.size() << " dimensions of "
                            << what;
  // matmul_c2
  int64_t least = offset, greatest = offset;
  for (auto [stride, size] : llvm::zip(strides, sizes)) {
    if (size <= 0)
      return success();
    (stride > 0 ? greatest : least) += stride * (size - 1);
  }
  if (least < 0 || greatest >= countElements(value))
    return op.emitOpError() << "reaches elements " << least << " to " << greatest << " of " << countElements(value)
                            << " in " << what;
  return success();
}

LogicalResult MatmulOp::verify() {
  SmallVector<int64_t> lhs(getBatch()), rhs(getBatch()), out(getBatch());
  lhs.append({static_cast<int64_t>(getM()), static_cast<int64_t>(getK())});
  rhs.append({static_cast<int64_t>(getK()), static_cast<int64_t>(getN())});
  out.append({static_cast<int64_t>(getM()), static_cast<int64_t>(getN())});
  return success(succeeded(verifyReach(*this, getLhs(), getLhsOffset(), getLhsStrides(), lhs, "lhs")) &&
                 succeeded(verifyReach(*this, getRhs(), getRhsOffset(), getRhsStrides(), rhs, "rhs")) &&
                 succeeded(verifyReach(*this, getResult(), 0, getOutStrides(), out, "the result")));
}
