//===- Plan.h - the plan of a step: memory, FLOPs, traffic -------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data of a plan. PlanPrograms.h and PlanSegments.h note it in stages of the compilation, from the programs as they
// are then; PlanPrinter.h prints it as JSON (`--plan`) or text (`--explain`).
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_PLAN_H
#define MESHWRIGHT_LIB_PIPELINE_PLAN_H

#include "PlanPipeline.h"
#include "dialects/Dist/Mesh.h"
#include "meshwright/Schedule/Report.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <vector>

namespace meshwright {

/// One conversion of a rank program in which ranks exchange data.
struct PlannedConversion {
  /// `c_allreduce` and so on.
  std::string kind;
  std::vector<std::string> axes;
  /// The ranks of a group, and how many of them take part: two in a send.
  int64_t group = 1, participants = 1;
  std::string dtype;
  /// Elements and bytes that a rank brings in; for a gather, that it gets.
  int64_t elements = 0;
  /// Bytes that a rank sends, the mean over the whole group: `dist::getSentBytes`.
  double bytes = 0;
  /// Over how many nodes a group is spread; 0 where the strategy does not say what a node is.
  int64_t nodes = 0;
  /// The number of ranks that take part, and the number of times of the mesh.
  int64_t ranks = 0, times = 1;
  /// The user's name of the value, or the scope of the operation that made it.
  std::string value;
  std::string location;
  std::string role;
  std::string reason;
};

struct PlannedVariable {
  std::string name;
  std::string kind;
  std::string dtype;
  std::vector<int64_t> shape;
  std::string placement;
  int64_t bytesPerRank = 0;
  /// The bytes among these that hold no element of the variable on some rank.
  int64_t paddingBytes = 0;
};

/// A value that lives at the busiest moment of a step.
struct PlannedValue {
  std::string name;
  int64_t bytes = 0;
};

/// A run of operations of forward or backward that fetches its parameters together.
struct PlannedSegment {
  std::string role = "forward";
  /// Source locations of the first and the last operation.
  std::string first, last;
  /// Bytes of the parameters that it uses, and of the fetches that are alive in it.
  int64_t volume = 0;
  int64_t liveBytes = 0;
};

/// One fetch of a parameter.
struct PlannedFetch {
  std::string variable;
  std::string dtype;
  /// The segment that it is for, the one with whose beginning it starts, and the last one that uses it.
  int64_t segment = 0, start = 0, last = 0;
  int64_t bytes = 0;
  std::string reason;
};

/// The launches of some ranks' programs in the steps `first` to `last` of gradient accumulation. Of the slices between
/// the first and the last, other variants may do some.
struct PlannedVariant {
  int64_t firstStep = 0, lastStep = 0, firstSlice = 0, lastSlice = 0;
  int64_t numKernels = 0, numProducts = 0, numLaunches = 0, trafficBytes = 0;
  /// In a pipeline: which of its actions it does.
  std::string action;
};

/// A repeated part of the network.
struct PlannedBlock {
  /// Floating-point operations of forward, and of what backward computes again.
  double forwardFlops = 0, recomputeFlops = 0;
  /// Bytes that forward makes and backward reads; nothing before Schedule.
  int64_t keptBytes = 0;
};
/// By name; what lies outside of all blocks has none.
using PlannedBlocks = std::map<std::string, PlannedBlock>;

/// The program of all ranks that run the same operations.
struct PlannedProgram {
  int64_t firstRank = 0, numRanks = 0;
  /// FLOPs of one step; with gradient accumulation, the mean over its steps.
  double flops = 0;
  PlannedBlocks blocks;
  /// Indices of the plan's conversions in which they take part.
  std::vector<unsigned> conversions;
  /// Bytes of the variables that they keep, and of the parameters, the optimizer's state and the sums of gradients
  /// among them.
  int64_t variableBytes = 0, parameterBytes = 0, stateBytes = 0, accumulatorBytes = 0;
  /// The arena and its persistent part; nothing before Schedule.
  std::optional<int64_t> peakBytes;
  std::optional<int64_t> persistentBytes;
  /// Counts for the last of accumulated steps; in a pipeline, for all actions and their last micro-batch.
  int64_t numKernels = 0, numProducts = 0, trafficBytes = 0;
  /// The largest values beside the persistent ones at the busiest moment, and the bytes of all of them.
  std::vector<PlannedValue> liveAtPeak;
  int64_t liveBytes = 0;
  /// The most bytes of gradients and of fetched parameters at a time.
  int64_t gradientBytes = 0, fetchedBytes = 0;
  /// The arena in the memory of the host; what of its variables is on the device at a time, at most; and the bytes that
  /// copies bring from there and back.
  int64_t hostBytes = 0, offloadedBytes = 0, copiedFromHost = 0, copiedToHost = 0;
  std::vector<schedule::Event> timeline;
  /// With gradient accumulation: the programs of the first, the last and the steps between.
  std::vector<PlannedVariant> variants;
};

/// The costs of a compiled step, read off the programs of its stages and not off the intentions of passes.
struct Plan {
  dist::Mesh mesh;
  std::vector<PlannedVariable> variables;
  std::vector<PlannedConversion> conversions;
  std::vector<PlannedSegment> segments;
  std::vector<PlannedFetch> fetches;
  /// Floating-point operations of the serial step.
  double serialFlops = 0;
  /// The largest arena of those that evaluate.
  std::optional<int64_t> evaluationBytes;
  /// By their first rank.
  std::vector<PlannedProgram> programs;
  std::optional<PlannedPipeline> pipeline;
};

/// The floating-point operations of all ranks in a step; after `addProgram`.
double getFlopsOfRanks(const Plan &plan);
/// The bytes of the largest arena; after `addMemory`.
int64_t getPeakBytes(const Plan &plan);
/// The blocks that recompute may choose among, over all programs, each with its highest costs.
PlannedBlocks getBlocks(const Plan &plan);

} // namespace meshwright

#endif
