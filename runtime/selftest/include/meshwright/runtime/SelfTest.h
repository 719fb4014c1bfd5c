//===- SelfTest.h - whether collectives do what they promise ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conformance suite of backends, for tests and for users who want to know whether a machine is in order. It knows
// `World`, `Platform`, `Device`, `Backend` and `Communicator` alone, so that it runs on every implementation of these.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SELFTEST_H
#define MESHWRIGHT_RUNTIME_SELFTEST_H

#include "meshwright/runtime/Platform.h"
#include <functional>

namespace meshwright::runtime {

struct SelfTestOptions {
  /// Every combination, and 16 ranks, instead of a sample of less than a minute.
  bool all = false;
  /// So many ranks; 0 for several numbers of them one after the other, as far as there is a device for each where each
  /// has one, or, in a run of several processes, one for each.
  int64_t numRanks = 0;
  /// The kind of devices that the ranks compute on, which is asked for this; null for the CPU.
  const DeviceKind *device = nullptr;
  PlatformOptions platform = {};
  /// Measures how long collectives take, after they were found right.
  bool isTimed = true;
  /// The options of the backends, except for the number of ranks.
  BackendOptions backend = {};
  /// Called on every process with what was done of all there is.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

/// How long a collective of f32 takes, as the mean of several in a row on the slowest rank.
struct SelfTestTiming {
  Collective::Kind kind;
  /// The bytes of the whole value; for an all-to-all, of a rank's operand.
  uint64_t bytes;
  /// Elements of a part, as in `CallPart`.
  uint64_t count;
  double seconds;
  uint64_t wrong;

  /// Bytes of the value per second.
  double getAlgorithmBandwidth() const { return static_cast<double>(bytes) / seconds; }
  /// The bandwidth of a link, if the collective moves the fewest bytes: comparable between kinds, numbers of ranks and
  /// the machine's data sheet. The factors are those of `doc/PERFORMANCE.md` in NVIDIA's nccl-tests.
  double getBusBandwidth(int64_t numRanks) const;
};

struct SelfTestReport {
  uint64_t cases = 0;
  /// Elements that are not what they should be, on all ranks.
  uint64_t wrong = 0;
  /// Says which element was found wrong first, and in which case; a failed check where there is one.
  Status verdict;
  /// The ranks that were timed.
  int64_t numRanks = 0;
  std::vector<SelfTestTiming> timings;

  /// The times as a table with a line per collective.
  std::string formatTimings() const;
  /// The link that explains the times best: what --link takes, to plan steps for this machine.
  LinkModel fitLink() const;
};

/// Runs the suite; all processes of the run call it. Each collective is checked element by element against its closed
/// formula, which is exact: reductions in the order of the members, in f32 for 16-bit floats, rounded once. An error is
/// what kept the suite from coming to its end. What is wrong stands in the report, which is the same on all processes
/// but for the timings, which the first one has.
Result<SelfTestReport> runSelfTest(World &world, const SelfTestOptions &options);

} // namespace meshwright::runtime

#endif
