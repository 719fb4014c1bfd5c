//===- Timeline.cpp - starts and waits of collectives, in order -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Memory/Storage.h"
#include "meshwright/Overlap/Traffic.h"
#include "meshwright/Schedule/Report.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

static Event describeLaunch(dist::CollectiveOp op) {
  Event event;
  event.kind = op.isStart() ? Event::Start : Event::Blocking;
  event.collective = dist::stringifyCollectiveKind(op.getKind()).str();
  for (StringRef axis : op.getAxes().getAsValueRange<StringAttr>())
    event.axes.push_back(axis.str());
  if (auto names = dist::kPartsAttr.get(op))
    for (StringRef name : names.getAsValueRange<StringAttr>())
      event.parts.push_back(name.str());
  else
    event.parts.push_back(Traffic::getName(op).str());
  for (unsigned part = 0; part < op.getNumParts(); ++part) {
    Value input = op.getPartInput(part), result = op.getPartResult(part);
    event.bytes +=
        std::max(input ? Storage::getBytes(input.getType()) : 0, result ? Storage::getBytes(result.getType()) : 0);
  }
  if (std::optional<net::Role> role = net::getRole(op))
    event.role = net::stringifyRole(*role).str();
  if (auto segment = dist::kSegmentAttr.get(op); segment && dist::kFetchAtAttr.isOn(op))
    event.segment = segment.getInt();
  return event;
}

static Event describeCopy(dist::CopyOp op) {
  Event event;
  event.kind = op.isStart() ? Event::Start : Event::Blocking;
  event.collective = op.getMemory() == dist::MemoryKind::Host ? "write_back" : "fetch";
  event.isCopy = true;
  event.parts.push_back(net::getUserName(op).str());
  event.bytes = Storage::getBytes(op.getInput().getType());
  return event;
}

std::vector<Event> schedule::getTimeline(func::FuncOp func) {
  std::vector<Event> timeline;
  llvm::DenseMap<Operation *, size_t> starts;
  Storage storage(func);
  int64_t position = 0, launches = 0;
  for (Operation &op : func.getBody().front()) {
    auto collective = dyn_cast<dist::CollectiveOp>(op);
    auto copy = dyn_cast<dist::CopyOp>(op);
    if (collective || copy) {
      starts[&op] = timeline.size();
      timeline.push_back(collective ? describeLaunch(collective) : describeCopy(copy));
      timeline.back().launch = launches++;
      timeline.back().position = position;
      timeline.back().iterations = storage.getNest().getIterations(&op);
    } else if (auto wait = dyn_cast<dist::WaitOp>(op)) {
      Event event = timeline[starts.lookup(wait.getHandles().front().getDefiningOp())];
      event.kind = Event::Wait;
      event.position = position;
      timeline.push_back(event);
    }
    position += isComputation(&op) || isa<dist::CollectiveOp, dist::CopyOp, dist::WaitOp>(op);
  }
  return timeline;
}
