//===- World.h - the processes of a run -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run is one process or several, each with some of the ranks. A world makes the backends through which ranks reach
// each other, and carries what the processes tell each other between steps: initial values, results, errors. Steps
// themselves use communicators alone.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_WORLD_H
#define MESHWRIGHT_RUNTIME_WORLD_H

#include "meshwright/runtime/Communicator.h"
#include <functional>
#include <span>
#include <string>

namespace meshwright::runtime {

struct BackendOptions {
  int64_t numRanks = 1;
  /// A link that collectives are delayed by. Of backends within one process alone.
  std::optional<LinkModel> link = {};
  /// After so many seconds in which nothing moves, a collective has failed.
  double timeoutSeconds = 600;
  /// Compares what the members of a group bring to a collective at each use, not at the first alone.
  bool checkCollectives = false;
};

/// How a process finds its world.
struct WorldOptions {
  /// The file with the secret of processes on several hosts; empty where the environment has it.
  std::string tokenFile = {};
  /// Is told what is not as it should be.
  std::function<void(const std::string &)> warn = {};
};

using Bytes = std::vector<std::byte>;

/// The process that failed first. The others end because of it.
struct FailedProcess {
  int64_t process;
  bool isSilent;
};

/// This process among those of the run. All processes call the same functions in the same order, each from one thread
/// at a time. Errors name the process that is missing or failed.
class World {
public:
  virtual ~World() = default;
  /// `inproc`, `tcp`, `mpi`.
  virtual std::string_view getName() const = 0;
  virtual int64_t getProcess() const = 0;
  virtual int64_t getNumProcesses() const = 0;
  /// How many of the processes share this host, this one included.
  virtual int64_t getNumProcessesOfHost() const { return 1; }
  /// A backend for that many ranks, in neighbouring parts over the processes, in their order.
  virtual Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options) = 0;
  /// Decorators between ranks and a backend that the caller has made for them; none in most worlds.
  virtual Result<std::unique_ptr<Backend>> decorate(std::unique_ptr<Backend> backend, const BackendOptions &options) {
    return backend;
  }
  /// The data of all processes, in their order, on the first one; nothing on the others. Any sizes.
  virtual Result<std::vector<Bytes>> gather(std::span<const std::byte> mine) = 0;
  /// Overwrites `bytes` with those of the first process; of one size everywhere.
  virtual Status broadcast(std::span<std::byte> bytes) = 0;
  /// Fails where the same bytes were not agreed on by all processes, as far as these have a secret to prove it with.
  virtual Status confirm(std::span<const std::byte> agreed) { return {}; }
  /// The process whose failure is that of this run, if it is known, and whether it ended or stopped without a word.
  virtual std::optional<FailedProcess> getFailedProcess() const { return std::nullopt; }
  /// This process is about to end because of an error: others that wait for it are released with it, soon. May be
  /// called while others are anywhere in their programs.
  virtual void abort(const Status &status) = 0;
  /// Lets `say` be called, on another thread, before the world itself ends this process with an error of another one,
  /// which it does where a rank here never comes back to hear of it. `say` says the error, at once: mpirun ends this
  /// process soon.
  virtual void setLastWords(std::function<void(const Status &)> say) {}

  bool isFirst() const { return getProcess() == 0; }
  bool isAlone() const { return getNumProcesses() == 1; }
  /// The ranks of a process among so many, or of this one: neighbours, in parts that differ by one at most.
  RankRange getRanks(int64_t numRanks, int64_t process) const {
    return {numRanks * process / getNumProcesses(), numRanks * (process + 1) / getNumProcesses()};
  }
  RankRange getRanks(int64_t numRanks) const { return getRanks(numRanks, getProcess()); }
  /// The data of the first process, on all of them. Any size.
  Result<Bytes> share(Bytes mine);
  /// The data of all processes, in their order, on all of them. Any sizes.
  Result<std::vector<Bytes>> gatherForAll(std::span<const std::byte> mine);
  /// The first failure of any process, on all of them; returns after every process has come.
  Status agree(const Status &mine);
  /// True if the last `agree` returned a failure, which all processes know then.
  bool hasAgreedOnFailure() const { return hasAgreed; }

protected:
  /// Bytes whose number another process has announced are taken in pieces of so many.
  static constexpr uint64_t kPieceBytes = uint64_t(64) << 20;

private:
  bool hasAgreed = false;
};

/// A kind of world that a run can have: a row of the table in Catalog.h, filled by the library of the kind.
struct WorldKind {
  /// As `--comm` and messages have it: `tcp`.
  std::string_view name;
  /// Says in `--help` which processes ranks are, and how these are started.
  std::string_view help;
  /// Whether its processes meet at a rendezvous (Rendezvous.h), as those that `dist-run --nproc` starts do.
  bool meetsAtRendezvous;
  /// Opens the world of this process. Called once in a process.
  Result<std::unique_ptr<World>> (*open)(const WorldOptions &options);
  /// Name and version of the library that the kind uses; an error where this machine has none. Null for a kind that
  /// uses none.
  Result<std::string> (*findLibrary)() = nullptr;
};

} // namespace meshwright::runtime

#endif
