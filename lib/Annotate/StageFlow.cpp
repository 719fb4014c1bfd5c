//===- StageFlow.cpp - which stage operations are of ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is on this side of a border between two stages is a minimum cut of the network, and the cuts of one border after
// the other are nested: a later border only adds to what is before it. So every border is decided by itself, and only
// operations that may be on either side of it take part. Usually these are the few between two blocks.
//
//===----------------------------------------------------------------------===//

#include "StageFlow.h"
#include "MinimumCut.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::annotate;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

namespace {

/// Which values operations make and read.
struct ValuesOfOps {
  explicit ValuesOfOps(const StageFlow &flow) : made(flow.ops.size()), read(flow.ops.size()) {
    for (unsigned index = 0; index < flow.values.size(); ++index) {
      const StageFlow::Value &value = flow.values[index];
      if (value.producer)
        made[*value.producer].push_back(index);
      for (unsigned reader : value.readers)
        read[reader].push_back(index);
    }
  }

  SmallVector<SmallVector<unsigned, 2>, 0> made, read;
};

} // namespace

/// The ranges of everything that reads what `op` makes.
static SmallVector<StageRange> getReaders(const StageFlow &flow, const ValuesOfOps &valuesOf, unsigned op) {
  SmallVector<StageRange> ranges;
  for (unsigned value : valuesOf.made[op])
    for (unsigned reader : flow.values[value].readers)
      ranges.push_back(flow.ops[reader].range);
  return ranges;
}

/// Operations on nothing that others read too are as late as their readers, unless something holds them back: being
/// earlier only sends more. Parameters and what is made of them alone, mostly.
static void postponeSources(StageFlow &flow, const ValuesOfOps &valuesOf) {
  SmallVector<bool, 0> free(flow.ops.size(), false);
  for (unsigned op = 0; op < flow.ops.size(); ++op) {
    int64_t last = flow.numStages - 1;
    for (StageRange reader : getReaders(flow, valuesOf, op))
      last = std::min(last, reader.last);
    free[op] = flow.ops[op].range.last == last && llvm::all_of(valuesOf.read[op], [&](unsigned value) {
                 const StageFlow::Value &operand = flow.values[value];
                 return operand.producer && free[*operand.producer] && operand.readers.size() == 1;
               });
  }
  for (unsigned op = flow.ops.size(); op-- > 0;) {
    SmallVector<StageRange> readers = getReaders(flow, valuesOf, op);
    if (!free[op] || readers.empty())
      continue;
    int64_t first = flow.numStages - 1;
    for (StageRange reader : readers)
      first = std::min(first, reader.first);
    flow.ops[op].range.first = std::max(flow.ops[op].range.first, first);
  }
}

std::optional<StageConflict> annotate::narrowRanges(StageFlow &flow) {
  ValuesOfOps valuesOf(flow);
  // Which operation makes another one as late as it is.
  SmallVector<unsigned, 0> cause;
  for (unsigned op = 0; op < flow.ops.size(); ++op) {
    StageRange &range = flow.ops[op].range;
    cause.push_back(op);
    for (unsigned value : valuesOf.read[op])
      if (std::optional<unsigned> producer = flow.values[value].producer)
        if (int64_t first = flow.ops[*producer].range.first; first > range.first) {
          range.first = first;
          cause[op] = cause[*producer];
        }
    if (range.first > range.last)
      return StageConflict{cause[op], op, range.first, range.last};
  }
  for (unsigned op = flow.ops.size(); op-- > 0;)
    for (StageRange reader : getReaders(flow, valuesOf, op))
      flow.ops[op].range.last = std::min(flow.ops[op].range.last, reader.last);
  postponeSources(flow, valuesOf);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {

/// Decides one border: what is of `border` or an earlier stage.
class BorderCut {
public:
  BorderCut(StageFlow &flow, const ValuesOfOps &valuesOf, int64_t border)
      : flow(flow), valuesOf(valuesOf), border(border) {}

  /// Narrows the ranges of all operations to one side.
  void run();

private:
  bool isOpen(unsigned op) const { return flow.ops[op].range.first <= border && border < flow.ops[op].range.last; }
  int getNode(unsigned op) const;
  void addPreference(unsigned op);
  void addValue(const StageFlow::Value &value);

  StageFlow &flow;
  const ValuesOfOps &valuesOf;
  int64_t border;
  /// A byte counts more than all preferences.
  int64_t scale = 1;
  MinimumCut cut;
  /// The operations that may be on either side, and their nodes.
  SmallVector<unsigned, 0> open;
  llvm::DenseMap<unsigned, int> nodes;
};

} // namespace

int BorderCut::getNode(unsigned op) const {
  if (auto node = nodes.find(op); node != nodes.end())
    return node->second;
  return flow.ops[op].range.last <= border ? MinimumCut::kSource : MinimumCut::kSink;
}

void BorderCut::addPreference(unsigned op) {
  bool early =
      flow.ops[op].preferred
          ? *flow.ops[op].preferred <= border
          : llvm::all_of(valuesOf.made[op], [&](unsigned value) { return flow.values[value].readers.empty(); });
  if (early)
    cut.addEdge(MinimumCut::kSource, nodes[op], 1);
  else
    cut.addEdge(nodes[op], MinimumCut::kSink, 1);
}

/// A value crosses the border where what makes it is before, and any reader behind. One that is there already, on one
/// side, crosses to readers on the other; on both sides, to none.
void BorderCut::addValue(const StageFlow::Value &value) {
  int64_t capacity = value.bytes * scale;
  if (!value.producer && value.range.first > border) {
    int late = cut.addNode();
    cut.addEdge(late, MinimumCut::kSink, capacity);
    for (unsigned reader : value.readers)
      cut.addEdge(getNode(reader), late, MinimumCut::kUnbounded);
    return;
  }
  if (!value.producer && value.range.last > border)
    return;
  int producer = value.producer ? getNode(*value.producer) : MinimumCut::kSource;
  int crossing = cut.addNode();
  cut.addEdge(producer, crossing, capacity);
  for (unsigned reader : value.readers) {
    cut.addEdge(crossing, getNode(reader), MinimumCut::kUnbounded);
    // What is read here is made here.
    if (value.producer)
      cut.addEdge(getNode(reader), producer, MinimumCut::kUnbounded);
  }
}

void BorderCut::run() {
  for (unsigned op = 0; op < flow.ops.size(); ++op)
    if (isOpen(op)) {
      open.push_back(op);
      nodes[op] = cut.addNode();
    }
  if (open.empty())
    return;
  scale = static_cast<int64_t>(open.size()) + 1;
  llvm::SmallSetVector<unsigned, 16> values;
  for (unsigned op : open) {
    addPreference(op);
    values.insert(valuesOf.made[op].begin(), valuesOf.made[op].end());
    values.insert(valuesOf.read[op].begin(), valuesOf.read[op].end());
  }
  for (unsigned value : values)
    addValue(flow.values[value]);
  SmallVector<bool, 0> early = cut.solve();
  for (unsigned op : open) {
    StageRange &range = flow.ops[op].range;
    if (early[nodes[op]])
      range.last = border;
    else
      range.first = border + 1;
  }
}

SmallVector<int64_t, 0> annotate::assignStages(StageFlow flow) {
  ValuesOfOps valuesOf(flow);
  for (int64_t border = 0; border + 1 < flow.numStages; ++border)
    BorderCut(flow, valuesOf, border).run();
  SmallVector<int64_t, 0> stages;
  for (const StageFlow::Op &op : flow.ops)
    stages.push_back(op.range.first);
  return stages;
}

int64_t annotate::countBytes(const StageFlow &flow, ArrayRef<int64_t> stages) {
  int64_t bytes = 0;
  for (const StageFlow::Value &value : flow.values) {
    StageRange range = value.producer ? StageRange{stages[*value.producer], stages[*value.producer]} : value.range;
    StageRange reach = range;
    for (unsigned reader : value.readers) {
      reach.first = std::min(reach.first, stages[reader]);
      reach.last = std::max(reach.last, stages[reader]);
    }
    bytes += value.bytes * (range.first - reach.first + reach.last - range.last);
  }
  return bytes;
}
