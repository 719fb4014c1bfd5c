//===- Faults.h - faults on purpose -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets a rank fail in a known place, to see whether a run notices. Works on every backend whose ranks have their
// buffers in the memory of the host.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_FAULTS_H
#define MESHWRIGHT_RUNTIME_FAULTS_H

#include "meshwright/runtime/Communicator.h"
#include <functional>

namespace meshwright::runtime {

/// A fault of one rank.
struct InjectedFault {
  enum class Kind {
    Kill,    ///< the rank's process gets SIGKILL instead of issuing the collective; other ranks in it go with it
    Hang,    ///< the rank stops there for ever, and its process cannot come to an end by itself
    Slow,    ///< from there on, the rank comes late to every collective
    Drop,    ///< the rank leaves the collective out and goes on
    Corrupt, ///< a byte of what the rank contributes is changed on the way; its own buffer stays as it is
  };
  Kind kind = Kind::Kill;
  int64_t rank = 0;
  /// Which of the rank's collectives, in the order in which it has issued them since the run began, from 0. Of Corrupt
  /// it is the first from there on in which the rank contributes something to others.
  uint64_t operation = 0;
  std::chrono::nanoseconds delay = {}; ///< of Slow

  /// Reads `rank=2,op=17,kind=slow:50ms`. Errors are of wrong usage.
  static Result<InjectedFault> parse(const std::string &text);
};

/// As on the command line: `hang`.
std::string_view getName(InjectedFault::Kind kind);

struct FaultyRank;

/// The faults of a run, and how far its ranks have come to them. Outlives the backends that it disturbs.
class FaultPlan {
public:
  /// `note` is told when a fault takes place, from any thread: `rank 2: hangs at c_allreduce #17 (…)`.
  FaultPlan(std::vector<InjectedFault> faults, std::function<void(const std::string &)> note);
  ~FaultPlan();

  /// An error if a fault names a rank that does not exist.
  Status check(int64_t numRanks) const;
  /// Where bytes are changed: next to the backend, after the checks of messages.
  std::unique_ptr<Backend> disturbMessages(std::unique_ptr<Backend> backend);
  /// Where ranks die, hang, are late or leave out a collective: before all else, so that the operations are counted
  /// that the program issues. Without `disturbMessages` after it no bytes are changed.
  std::unique_ptr<Backend> disturbRanks(std::unique_ptr<Backend> backend);

private:
  FaultyRank &getState(int64_t rank);
  std::vector<InjectedFault> faults;
  std::function<void(const std::string &)> note;
  std::vector<std::unique_ptr<FaultyRank>> states;
};

} // namespace meshwright::runtime

#endif
