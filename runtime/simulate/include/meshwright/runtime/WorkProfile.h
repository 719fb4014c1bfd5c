//===- WorkProfile.h - the time of a step by kinds of work ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_WORKPROFILE_H
#define MESHWRIGHT_RUNTIME_WORKPROFILE_H

#include "meshwright/runtime/StepTrace.h"
#include <string_view>

namespace meshwright::runtime {

/// The limit of work that stays below the best rates of a device.
enum class WorkLimit {
  None,       ///< it reaches 60 % of a best rate, or nothing is known of it
  Ranks,      ///< it waits for other ranks, or for data that they send
  Memory,     ///< a product that moves as many bytes per second as 60 % of a copy's
  Cold,       ///< alone, repeated with operands in the caches, it takes at most 80 % of the time
  Calls,      ///< a call is shorter than 10 µs
  Shape,      ///< a product or convolution of this shape is no faster alone
  Operations, ///< a kernel with at least one operation per byte is no faster alone
  Order       ///< nor is one that does little but move bytes: it follows strides or indices
};

/// The word for a limit in tables, `memory`; empty for none. And the sentence that explains it.
std::string_view getName(WorkLimit limit);
std::string_view explain(WorkLimit limit);

/// Instructions of a step that do the same: products of one shape, calls of one kernel, collectives of one kind, group
/// and size. Numbers are those of a rank in a step, means over ranks and steps.
struct WorkRow {
  /// `product f32 512x2304x768`, `kernel k12_add_tanh`, `c_allreduce ["dp"]`.
  std::string work;
  /// The name of one of the instructions, and the place of its value in the source.
  std::string name, location;
  double calls = 0;
  /// The time that the rank spends on them: where its threads do different things at once, that of each, divided by
  /// their number. Of collectives: the time that the rank stands still.
  double seconds = 0;
  double flops = 0;
  /// Memory traffic; of collectives what the rank sends to others.
  double bytes = 0;
  /// The time that collectives take, beside computation or not; 0 of other work.
  double movingSeconds = 0;
  /// The type of a product's operands; none for other work.
  std::optional<DType> product;
  bool isCollective = false;
  bool isWait = false; ///< for a collective or copy that was started
  /// One of the instructions, of a rank of this process; null if there is none.
  const Instruction *example = nullptr;
  int64_t rank = 0;
  /// The seconds that all calls would take if each took as long as the example alone; see `Session::measureAlone`.
  std::optional<double> aloneSeconds = {};

  /// Operations per second of products and convolutions; else 0.
  double getFlopsPerSecond() const;
  /// Bytes per second of everything that has no rate of operations.
  double getBytesPerSecond() const;
  /// The share of the best rate of a device that the work reaches; none where no rate of the kind is known.
  std::optional<double> getShare(const DeviceRates &best) const;
  /// The limit of the work, if it is below 60 % of the best rate.
  WorkLimit getLimit(const DeviceRates &best) const;
};

/// The rows of a step, those that take longest first, and what a step takes in all.
struct WorkProfile {
  double seconds = 0;
  std::vector<WorkRow> rows;
};

/// Sums up traced steps of a session.
WorkProfile profileWork(const Session &session, std::span<const StepTrace *const> traces);

/// Measures alone what takes at least `leastShare` of the step and has an example. Between steps.
Status measureAlone(Session &session, WorkProfile &profile, double leastShare);

} // namespace meshwright::runtime

#endif
