//===- CollectiveOrder.cpp - checks that ranks agree on collectives -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs differ by their coordinates on some axes. Ranks that agree on all of these except the axes of a collective
// form its group; for a send, sender and receiver are a group of their own. An *event* is the i-th collective of a
// group: its members have to agree on its meaning. Every program orders its events. If the union of these orders has no
// cycle, all events have a common order, and every rank that waits at an event waits for a rank at an earlier one: no
// deadlock.
//
//===----------------------------------------------------------------------===//

#include "CollectiveOrder.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Schedule/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;

namespace {

struct Event {
  dist::CollectiveOp first;
  /// The collective without what its members have of their own.
  SmallVector<Attribute> meaning;
  unsigned members = 0, before = 0;
  SmallVector<unsigned> after = {};
};

/// The collectives that the ranks which agree on all other axes issue over these axes.
struct Group {
  SmallVector<unsigned> events;
  unsigned members = 0;
};

class OrderChecker {
public:
  explicit OrderChecker(ArrayRef<func::FuncOp> funcs) : funcs(funcs) {}
  LogicalResult run();

private:
  LogicalResult addProgram(func::FuncOp func);
  LogicalResult checkCounts();
  LogicalResult checkCycles();

  ArrayRef<func::FuncOp> funcs;
  SmallVector<Event> events;
  llvm::SetVector<Attribute> kinds;
  /// By the kind of group and the coordinates that the members agree on.
  llvm::MapVector<std::pair<Attribute, Attribute>, Group> groups;
};

} // namespace

/// The meaning of a collective, which has to be equal for all members of its group, together with that of the loops
/// around it.
static SmallVector<Attribute> getMeaning(dist::CollectiveOp op, const net::LoopNest &nest) {
  Builder builder(op.getContext());
  SmallVector<Attribute> meaning{op.getKindAttr(), op.getReductionAttr(), TypeAttr::get(op.getElementType()),
                                 op.getRootsAttr() ? Attribute(op.getRootsAttr()) : builder.getUnitAttr()};
  for (unsigned part = 0; part < op.getNumParts(); ++part) {
    Value value = op.getPartInput(part) ? op.getPartInput(part) : op.getPartResult(part);
    meaning.push_back(builder.getI64IntegerAttr(dist::getTensorType(value.getType()).getNumElements()));
  }
  for (net::LoopOp loop = nest.getLoop(op); loop; loop = nest.getParent(loop))
    meaning.append({loop.getCountAttr(), dist::kTagAttr.get(loop)});
  return meaning;
}

/// The part of a collective that defines its kind of group: its axes, and for a send its two ends.
static Attribute getGroupKind(dist::CollectiveOp op) {
  if (!op.getTo())
    return op.getAxesAttr();
  Builder builder(op.getContext());
  return builder.getArrayAttr({op.getAxesAttr(), builder.getI64IntegerAttr(op.getRoots()->front()), op.getToAttr()});
}

static ArrayAttr getAxes(Attribute kind) {
  auto list = cast<ArrayAttr>(kind);
  auto axes = list.empty() ? ArrayAttr() : dyn_cast<ArrayAttr>(list[0]);
  return axes ? axes : list;
}

/// True if `func` is in a group of that kind; for a send, if it is one of the two members.
static bool isMember(func::FuncOp func, Attribute kind) {
  ArrayAttr axes = getAxes(kind);
  if (axes == kind)
    return true;
  auto pair = cast<ArrayAttr>(kind);
  auto own = dist::getOn(func.getOperation()).getAs<DenseI64ArrayAttr>(cast<StringAttr>(axes[0]));
  return own && own.size() == 1 && llvm::any_of(pair.getValue().drop_front(), [&](Attribute member) {
           return cast<IntegerAttr>(member).getInt() == own[0];
         });
}

/// The coordinates on which `func` agrees with its group, and the action that it is of: those of a pipeline have an
/// order of their own.
static DictionaryAttr getAgreed(func::FuncOp func, Attribute kind) {
  ArrayAttr axes = getAxes(kind);
  NamedAttrList list(dist::getOn(func.getOperation()));
  for (StringRef axis : axes.getAsValueRange<StringAttr>())
    list.erase(axis);
  if (Attribute action = dist::kActionAttr.get(func))
    list.set(dist::kActionAttr, action);
  return list.getDictionary(func.getContext());
}

LogicalResult OrderChecker::addProgram(func::FuncOp func) {
  llvm::DenseMap<Attribute, std::pair<Group *, unsigned>> next;
  for (Attribute kind : kinds)
    if (isMember(func, kind)) {
      next[kind] = {&groups[{kind, getAgreed(func, kind)}], 0};
      ++next[kind].first->members;
    }
  FailureOr<net::LoopNest> nest = net::LoopNest::find(func.getBody().front());
  if (failed(nest))
    return failure();
  int last = -1;
  for (auto op : func.getBody().front().getOps<dist::CollectiveOp>()) {
    auto found = next.find(getGroupKind(op));
    if (found == next.end())
      return op.emitOpError() << "is issued in @" << func.getSymName() << ", which neither sends nor receives there";
    auto &[group, number] = found->second;
    unsigned index = number++;
    if (index == group->events.size()) {
      group->events.push_back(events.size());
      events.push_back({op, getMeaning(op, *nest)});
    }
    Event &event = events[group->events[index]];
    ++event.members;
    if (getMeaning(op, *nest) != event.meaning) {
      InFlightDiagnostic error = op.emitOpError()
                                 << "is number " << index << " over " << op.getAxes() << " in @" << func.getSymName()
                                 << ", but another member of the group moves something else there";
      error.attachNote(event.first.getLoc()) << "the other member issues this";
      return error;
    }
    int current = group->events[index];
    if (last >= 0) {
      events[last].after.push_back(current);
      ++events[current].before;
    }
    last = current;
  }
  return success();
}

LogicalResult OrderChecker::checkCounts() {
  for (auto &[key, group] : groups) {
    for (unsigned index : group.events)
      if (events[index].members != group.members)
        return events[index].first.emitOpError() << "is issued by " << events[index].members << " of the "
                                                 << group.members << " programs that are members of its group";
  }
  return success();
}

LogicalResult OrderChecker::checkCycles() {
  SmallVector<unsigned> ready;
  for (auto [index, event] : llvm::enumerate(events))
    if (event.before == 0)
      ready.push_back(index);
  size_t done = 0;
  for (; done < ready.size(); ++done)
    for (unsigned after : events[ready[done]].after)
      if (--events[after].before == 0)
        ready.push_back(after);
  if (done == events.size())
    return success();
  Event *stuck = llvm::find_if(events, [](const Event &event) { return event.before > 0; });
  return stuck->first.emitOpError() << "comes before another collective on one rank and after it on another: "
                                    << events.size() - done << " wait for each other";
}

LogicalResult OrderChecker::run() {
  for (func::FuncOp func : funcs)
    for (auto op : func.getBody().front().getOps<dist::CollectiveOp>())
      kinds.insert(getGroupKind(op));
  // Nothing is added to the map after this, so that its entries stay where they are.
  for (func::FuncOp func : funcs)
    for (Attribute kind : kinds)
      if (isMember(func, kind))
        groups[{kind, getAgreed(func, kind)}];
  for (func::FuncOp func : funcs)
    if (failed(addProgram(func)))
      return failure();
  return success(succeeded(checkCounts()) && succeeded(checkCycles()));
}

LogicalResult schedule::checkOrder(ModuleOp module) {
  SmallVector<func::FuncOp> funcs;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && dist::getOn(func.getOperation()))
      funcs.push_back(func);
  return funcs.empty() ? success() : OrderChecker(funcs).run();
}
