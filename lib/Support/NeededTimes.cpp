//===- NeededTimes.cpp - the times at which operations run ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk from the last operation to the first: the set of an operation is the union of its users' sets. Unions and
// other results are memoized by attribute, since a function has few distinct sets.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/NeededTimes.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Times.h"
#include <algorithm>

using namespace mlir;
using namespace meshwright;
using dist::Axis;

using Coordinates = SmallVector<int64_t>;

static ArrayRef<int64_t> getList(Attribute attribute) { return cast<DenseI64ArrayAttr>(attribute).asArrayRef(); }

FailureOr<DictionaryAttr> NeededTimes::getDuring(DictionaryAttr during, Operation *op) const {
  if (!during)
    return DictionaryAttr::get(context);
  for (NamedAttribute entry : during) {
    StringRef name = entry.getName();
    std::optional<Axis> axis = mesh.find(name);
    auto list = cast<DenseI64ArrayAttr>(entry.getValue());
    if (!axis || !mesh.isTime(*axis) || list.empty())
      return op->emitOpError() << "takes place during " << entry.getValue() << " of \"" << name
                               << "\", which are no coordinates of an axis of times of the mesh";
    int64_t last = -1;
    for (int64_t coordinate : list.asArrayRef()) {
      if (coordinate <= last || coordinate >= mesh.getSize(*axis))
        return op->emitOpError() << "takes place at coordinate " << coordinate << " after " << last << " of axis \""
                                 << name << "\" of size " << mesh.getSize(*axis);
      last = coordinate;
    }
  }
  return during;
}

DictionaryAttr NeededTimes::unite(DictionaryAttr left, DictionaryAttr right) {
  if (left == right)
    return left;
  DictionaryAttr &known = unions[{left, right}];
  if (known)
    return known;
  NamedAttrList both;
  for (NamedAttribute entry : left) {
    Attribute other = right.get(entry.getName());
    if (!other)
      continue;
    Coordinates list;
    ArrayRef<int64_t> mine = getList(entry.getValue()), theirs = getList(other);
    std::set_union(mine.begin(), mine.end(), theirs.begin(), theirs.end(), std::back_inserter(list));
    if (static_cast<int64_t>(list.size()) < mesh.getSize(*mesh.find(entry.getName())))
      both.set(entry.getName(), DenseI64ArrayAttr::get(context, list));
  }
  return known = both.getDictionary(context);
}

DictionaryAttr NeededTimes::atSums(DictionaryAttr times, dist::AccumulateOp op) {
  Axis axis = *mesh.find(op.getAxis());
  auto [known, isNew] = sums.try_emplace({times, axis, op.getSumsAttr()});
  if (!isNew)
    return known->second;
  StringRef name = mesh.getName(axis);
  auto afterFirst = llvm::to_vector(llvm::seq<int64_t>(1, mesh.getSize(axis)));
  ArrayRef<int64_t> adding = op.getSums().value_or(afterFirst);
  Coordinates list;
  if (auto own = times.getAs<DenseI64ArrayAttr>(name))
    std::set_intersection(adding.begin(), adding.end(), own.asArrayRef().begin(), own.asArrayRef().end(),
                          std::back_inserter(list));
  else
    list.assign(adding.begin(), adding.end());
  if (list.empty())
    return {};
  NamedAttrList rest(times);
  rest.set(name, DenseI64ArrayAttr::get(context, list));
  return known->second = rest.getDictionary(context);
}

DictionaryAttr NeededTimes::onlyFirst(DictionaryAttr times, Axis axis) const {
  StringRef name = mesh.getName(axis);
  auto own = times.getAs<DenseI64ArrayAttr>(name);
  NamedAttrList first(times);
  first.set(name, DenseI64ArrayAttr::get(context, {own ? own[0] : 0}));
  return first.getDictionary(context);
}

DictionaryAttr NeededTimes::getOfUsers(Value value, llvm::function_ref<bool(Operation *)> isMeant) {
  DictionaryAttr all;
  for (Operation *user : value.getUsers()) {
    if (!isMeant(user))
      continue;
    DictionaryAttr times = get(user);
    // A result of the function has times of its own.
    if (!times || isa<func::ReturnOp>(user))
      return {};
    all = all ? unite(all, times) : times;
  }
  return all;
}

/// True if two ascending lists have no common element.
static bool areDisjoint(ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  while (!left.empty() && !right.empty() && left.front() != right.front())
    (left.front() < right.front() ? left : right) = (left.front() < right.front() ? left : right).drop_front();
  return left.empty() || right.empty();
}

bool NeededTimes::areApart(DictionaryAttr left, DictionaryAttr right) {
  return llvm::any_of(left, [&](NamedAttribute entry) {
    Attribute other = right.get(entry.getName());
    return other && areDisjoint(getList(entry.getValue()), getList(other));
  });
}

void NeededTimes::need(Value value, DictionaryAttr times) {
  Operation *op = value.getDefiningOp();
  if (!op || !times)
    return;
  DictionaryAttr &known = needs[op];
  known = known ? unite(known, times) : times;
}

/// True if `op` makes in one slice a value that the other slices read, too. Layout operations after it carry the mark
/// for tasks of pipelines, but cost nothing and stay with their readers.
static bool isOnce(Operation *op) {
  return dist::kOnceAttr.isOn(op) && isa<dist::CollectiveOp, dist::ConversionOpInterface>(op);
}

/// All users of `op` come before.
LogicalResult NeededTimes::visit(Operation *op) {
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    auto func = ret->getParentOfType<func::FuncOp>();
    for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
      auto during = getDuring(dist::kDuringAttr.getOfResult(func, index), func);
      if (failed(during))
        return failure();
      need(value, *during);
    }
    needs[op] = DictionaryAttr::get(context);
    return success();
  }
  if (isa<dist::WhenOp>(op))
    return op->emitOpError() << "stands where operations are to be in one line; run "
                                "dist-partition-inline-conditionals first";
  if (isa<net::AssignOp>(op)) {
    auto during = getDuring(dist::kDuringAttr.get(op), op);
    if (failed(during))
      return failure();
    needs[op] = *during;
  }
  std::optional<Axis> slices = mesh.find(dist::AxisKind::Slices);
  if (auto known = needs.find(op); slices && mesh.getSize(*slices) > 1 && known != needs.end() && isOnce(op))
    known->second = onlyFirst(known->second, *slices);
  DictionaryAttr times = needs.lookup(op);
  auto accumulate = dyn_cast<dist::AccumulateOp>(op);
  for (Value operand : op->getOperands())
    need(operand, times && accumulate && operand == accumulate.getBefore() ? atSums(times, accumulate) : times);
  return success();
}

/// All of a loop takes place at the times at which anything that leaves it is needed; users come before.
void NeededTimes::needLoop(net::LoopOp loop, const net::LoopNest &nest) {
  DictionaryAttr times;
  Operation *end = nest.getEnd(loop)->getNextNode();
  for (Operation *op = loop; op != end; op = op->getNextNode())
    if (DictionaryAttr needed = needs.lookup(op); needed && net::leavesLoop(op))
      times = times ? unite(times, needed) : needed;
  for (Operation *op = loop; times && op != end; op = op->getNextNode())
    needs[op] = times;
}

FailureOr<NeededTimes> NeededTimes::find(func::FuncOp func, const dist::Mesh &mesh) {
  NeededTimes times(func.getContext(), mesh);
  Block &block = func.getBody().front();
  FailureOr<net::LoopNest> nest = net::LoopNest::find(block);
  if (failed(nest))
    return failure();
  for (Operation &op : llvm::reverse(block)) {
    if (isa<net::EndLoopOp>(op))
      if (net::LoopOp loop = nest->getLoop(&op); !nest->getParent(loop))
        times.needLoop(loop, *nest);
    if (failed(times.visit(&op)))
      return failure();
  }
  return times;
}

int64_t NeededTimes::count(const dist::Mesh &mesh) {
  int64_t times = 1;
  for (Axis axis = mesh.getNumRankAxes(); axis < mesh.getNumAxes(); ++axis)
    times *= mesh.getSize(axis);
  return times;
}

int64_t NeededTimes::count(Operation *op) const {
  int64_t times = count(mesh);
  if (DictionaryAttr own = get(op))
    for (NamedAttribute entry : own)
      times =
          times / mesh.getSize(*mesh.find(entry.getName())) * static_cast<int64_t>(getList(entry.getValue()).size());
  return times;
}
