//===- StageFlow.cpp - a minimum cut per border of stages -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations before a border between two stages are a minimum cut of the network. Cuts of successive borders are
// nested: a later border only adds operations. So every border is decided by itself, among the operations that may be
// on either side, usually the few between two blocks.
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

/// The values that each operation computes and reads.
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

/// The ranges of all operations that read results of `op`.
static SmallVector<StageRange> getReaders(const StageFlow &flow, const ValuesOfOps &valuesOf, unsigned op) {
  SmallVector<StageRange> ranges;
  for (unsigned value : valuesOf.made[op])
    for (unsigned reader : flow.values[value].readers)
      ranges.push_back(flow.ops[reader].range);
  return ranges;
}

/// Moves operations without other readers of their operands as late as their readers, unless their range is narrower:
/// an earlier place would only send more. They are mostly reads of parameters and operations on these alone.
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
  // The operation that determines the earliest stage of each operation.
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

/// Decides one border: which operations are in `border` or an earlier stage.
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
  /// The weight of a byte, which exceeds all preferences together.
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

/// A value crosses the border if its producer is before it and any reader is after it. A value that is already
/// available on one side crosses to readers on the other; one that is available on both sides never crosses.
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
    // A reader before the border requires the producer before it too.
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
