//===- PlanSegments.cpp - the part of a plan about fetched parameters -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the completed program, in which a fetch is still one operation.
//
//===----------------------------------------------------------------------===//

#include "PlanSegments.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"
#include "dialects/Net/Uses.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Locations.h"
#include "meshwright/Support/Units.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

/// The variable that is fetched, directly or from what forward left of it.
static net::ReadOp findRead(Operation *op) {
  auto read = dyn_cast<net::ReadOp>(op);
  while (op && !read) {
    op = op->getNumOperands() == 1 ? op->getOperand(0).getDefiningOp() : nullptr;
    read = dyn_cast_or_null<net::ReadOp>(op);
  }
  return read;
}

/// The value that `fetch` brings: its result, or the cast of it that is sent.
static Value findFetched(Operation *fetch) {
  Value value = fetch->getResult(0);
  if (isa<net::ReadOp>(fetch) && net::getUsedType(value) != getElementTypeOrSelf(value))
    return (*fetch->user_begin())->getResult(0);
  return value;
}

/// The segments in which a fetched value is used, by itself or by what is made of it for a segment.
static std::set<int64_t> findUses(Value fetched) {
  std::set<int64_t> uses;
  for (Operation *user : fetched.getUsers())
    if (auto segment = kSegmentAttr.get(user))
      uses.insert(segment.getInt());
  return uses;
}

static void addFetch(Plan &plan, Operation *op, bool isKept) {
  net::ReadOp read = findRead(op);
  MappingAttr mapping = getMapping(op->getResult(0));
  Value fetched = findFetched(op);
  auto type = cast<RankedTensorType>(fetched.getType());
  if (!read || !mapping)
    return;
  auto placement = Placement::resolve(mapping, plan.mesh, type.getShape(), [&] { return op->emitError(); });
  if (failed(placement))
    return;
  PlannedFetch fetch;
  fetch.variable = read.getVariable().str();
  llvm::raw_string_ostream(fetch.dtype) << type.getElementType();
  fetch.segment = fetch.last = kSegmentAttr.get(op).getInt();
  fetch.start = kFetchAtAttr.get(op).getInt();
  fetch.bytes = getBytes(type.clone(placement->getLocalShape(type.getShape())));
  if (auto reason = kReasonAttr.get(op))
    fetch.reason = reason.str();
  for (int64_t segment : findUses(fetched)) {
    fetch.last = std::max(fetch.last, segment);
    plan.segments[segment].volume += fetch.bytes;
  }
  for (auto [number, segment] : llvm::enumerate(plan.segments))
    if (int64_t index = number; isKept || (fetch.start <= index && index <= fetch.last))
      segment.liveBytes += fetch.bytes;
  plan.fetches.push_back(std::move(fetch));
}

void meshwright::addSegments(Plan &plan, ModuleOp module, bool keepsFetches) {
  MeshOp meshOp = findMesh(module);
  if (!meshOp)
    return;
  plan.mesh = meshOp.getMesh();
  std::optional<Axis> slices = plan.mesh.find(AxisKind::Slices);
  bool isKept = keepsFetches && !kStageAxisAttr.isOn(meshOp) && slices && plan.mesh.getSize(*slices) > 1;
  SmallVector<Operation *> found;
  for (auto func : module.getOps<func::FuncOp>())
    func.walk([&](Operation *op) {
      auto number = kSegmentAttr.get(op);
      if (!number)
        return;
      plan.segments.resize(std::max<size_t>(plan.segments.size(), number.getInt() + 1));
      if (kFetchAtAttr.isOn(op)) {
        found.push_back(op);
        return;
      }
      PlannedSegment &segment = plan.segments[number.getInt()];
      if (std::optional<net::Role> role = net::getRole(op))
        segment.role = net::stringifyRole(*role).str();
      segment.last = describeLocation(op->getLoc());
      if (segment.first.empty())
        segment.first = segment.last;
    });
  for (Operation *op : found)
    addFetch(plan, op, isKept);
}

static int64_t getFetchedPeak(const Plan &plan) {
  int64_t peak = 0;
  for (const PlannedSegment &segment : plan.segments)
    peak = std::max(peak, segment.liveBytes);
  return peak;
}

void meshwright::printSegments(llvm::json::OStream &json, const Plan &plan) {
  json.attribute("fetched_peak_bytes", getFetchedPeak(plan));
  json.attributeArray("fetches", [&] {
    for (const PlannedFetch &fetch : plan.fetches)
      json.object([&] {
        json.attribute("bytes", fetch.bytes);
        json.attribute("dtype", fetch.dtype);
        json.attribute("last", fetch.last);
        json.attribute("reason", fetch.reason);
        json.attribute("segment", fetch.segment);
        json.attribute("start", fetch.start);
        json.attribute("variable", fetch.variable);
      });
  });
}

void meshwright::printSegments(llvm::raw_ostream &out, const Plan &plan) {
  if (plan.segments.empty())
    return;
  out << plan.segments.size() << " segments, " << plan.fetches.size() << " fetches, at most "
      << formatBytes(getFetchedPeak(plan)) << " of fetched parameters alive\n";
  auto fetch = plan.fetches.begin();
  for (size_t number = 0; number < plan.segments.size(); ++number) {
    const PlannedSegment &segment = plan.segments[number];
    out << "segment " << number << " (" << segment.role << ") from " << segment.first << " to " << segment.last
        << ": uses " << formatBytes(segment.volume) << ", " << formatBytes(segment.liveBytes) << " alive\n";
    for (; fetch != plan.fetches.end() && fetch->segment == static_cast<int64_t>(number); ++fetch)
      out << "    " << formatBytes(fetch->bytes) << ": " << fetch->variable << "\n        " << fetch->reason << "\n";
  }
  out << "\n";
}
