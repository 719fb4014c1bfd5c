//===- Transport.h - messages between processes -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of MPI, which the plugin reaches, and how to wait for them: MPI moves nothing unless it is asked, so whoever
// waits asks again and again, but the longer it has waited the less often. Many ranks share few cores.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_MPI_TRANSPORT_H
#define MESHWRIGHT_RUNTIME_BACKEND_MPI_TRANSPORT_H

#include "MpiFunctions.h"
#include "meshwright/runtime/Status.h"
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

namespace meshwright::runtime::mpi {

/// The plugin, opened; an error says which file is missing.
Result<MwMpiFunctions> openPlugin();

struct Message {
  std::byte *bytes = nullptr;
  uint64_t size = 0;
  int peer = 0;
  bool isSend = false;
  MwMpiRequest request = {};
};

/// Asks often at first, then sleeps ever longer.
class Patience {
public:
  using Clock = std::chrono::steady_clock;
  /// Of a thread whose core others want, or which has one for itself.
  explicit Patience(bool isCrowded) : spinTime(std::chrono::microseconds(isCrowded ? 5 : 1000)) {}
  /// Returns after a while, which is short while little time has passed.
  void wait();
  /// For how long `wait` has been called.
  Clock::duration getElapsed() const { return elapsed; }

private:
  Clock::duration spinTime;
  uint64_t calls = 0;
  Clock::time_point begin;
  Clock::duration elapsed = {};
};

/// All functions may be called from any thread.
class Transport {
public:
  static Result<std::unique_ptr<Transport>> create();

  int getProcess() const { return process.process; }
  int getNumProcesses() const { return process.numProcesses; }
  /// A tag for messages that have a number in common.
  int getTag(uint64_t number) const;
  /// Whether that many threads of every process have to share cores.
  bool isCrowded(unsigned threads) const;

  Status post(Message &message, int tag);
  /// Whether the message is over.
  Result<bool> test(Message &message);
  /// Whether a message of that process is there that nobody asked for, and which tag it has.
  Result<std::optional<int>> probe(int peer);
  /// Ends MPI in this process, when all others do.
  Status finalize();

private:
  Transport(const MwMpiFunctions &functions, const MwMpiProcess &process);
  Status makeError(const char *what, int peer, int error);

  MwMpiFunctions functions;
  MwMpiProcess process;
  /// MPI is entered by one thread at a time.
  std::mutex mutex;
};

} // namespace meshwright::runtime::mpi

#endif
