//===- Lifeline.h - who is alive, and who waits for whom --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MPI does not say that a process is gone, and mpirun ends a run without a word. So every process has a thread that
// holds a connection with the first one, beside the transport:
//
//   - A process that ends ends its connection; the first one tells all others at once.
//   - A process that fails reports the reason, and all others fail with that. The first process passes on the first
//     failure that it hears of or notices, with the process that it is of, so that all name the same one.
//   - A process that waits for long reports for which other one, and in which collective. When nothing moves anywhere
//     for the time that is allowed, the first process follows these waits to a process that waits for no other, and
//     names it. Where the first one itself is silent, each process notices that alone.
//
// The first failure counts and stays. Every wait and every new request looks at a flag.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_LIFELINE_H
#define MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_LIFELINE_H

#include "meshwright/runtime/Sockets.h"
#include "meshwright/runtime/World.h"
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace meshwright::runtime::processes {

class Lifeline {
public:
  /// The first process has connections to all others, by their number; the others one to the first, at 0.
  static Result<std::unique_ptr<Lifeline>> create(int process, int64_t numProcesses, std::vector<Socket> sockets);
  ~Lifeline();

  /// Whether any process has failed.
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }
  /// The failure, as `rank` sees it in a collective, if any. The caller then answers for the end of this process.
  Status takeFailure(const CollectiveCall *call = nullptr);
  /// This process has failed.
  void fail(const Status &status) { setFailure({status, process, /*isSilent=*/false}); }
  /// The process of the failure, the same on all processes that have heard of it; nothing without one.
  std::optional<FailedProcess> getFailedProcess() const;

  /// No collective may take longer while nothing moves.
  void setTimeout(double seconds) { timeout = seconds; }
  void countMove() { moves.fetch_add(1, std::memory_order_relaxed); }
  /// This process waits for another one, and has done so for a while; until `endWait`.
  void beginWait(const CollectiveCall &call, int64_t waitsFor, bool disagrees);
  void endWait();

  /// Lets `say` be called before this process is ended from here, in the place of a line with the error.
  void setLastWords(std::function<void(const Status &)> say);

  /// Says that this process will end as it should.
  void sayEnd();
  /// Where there is a failure: returns when all others have heard of it, or after a while.
  void leave();

private:
  /// In seconds: who has said nothing for longer may have stopped.
  static constexpr double silence = 1;
  /// Another process, as it is known here.
  struct Peer {
    explicit Peer(Socket socket) : connection(std::move(socket)) {}
    Connection connection;
    Activity activity;
    /// On the watch's clock: when something came from it, and since when it waits for the same.
    double heard = 0, since = 0;
    bool hasEnded = false;
  };

  Lifeline(int process, int64_t numProcesses, std::vector<Socket> sockets);
  Status start();
  void serve();
  void passTime();
  void read(size_t peer);
  Status handle(size_t peer, const Frame &frame);
  void handleNonsense(size_t peer, const Status &status);
  void handleEnd(size_t peer);
  void setFailure(Failure newFailure);
  void adopt(Failure newFailure);
  void sendToAll(const LifelineMessage &message);
  Activity getActivity();
  void sayActivity();
  void update(size_t process, Activity activity);
  void judge();
  void judgeFirst();
  bool isSilent(size_t process) const { return process != 0 && now - peers[process].heard > silence; }
  Failure describeStandstill(size_t waiting) const;
  Failure describeStop(size_t stopped, const std::string &collective, size_t waiting, bool isAlive) const;
  bool isThere(const Peer &peer) const {
    return peer.connection.isOpen() && now - peer.heard <= silence && !(process == 0 && peer.hasEnded);
  }
  void endUnheard();

  int process;
  int64_t numProcesses;
  std::vector<Peer> peers;
  std::thread thread;
  int wakeUp = -1;
  std::atomic<bool> isStopping = false;
  /// True if every process has ended or has announced its end.
  std::atomic<bool> isLeft = false;

  std::atomic<bool> failed = false, isTaken = false;
  std::atomic<double> timeout = 0;
  std::atomic<uint64_t> moves = 0;

  /// Guards what follows, and sending.
  mutable std::mutex mutex;
  Failure failure;
  std::function<void(const Status &)> lastWords;
  /// The call in which this process waits; null while it does not. The thread describes it: waiting allocates nothing.
  const CollectiveCall *waitingIn = nullptr;
  int64_t waitsFor = -1;
  bool disagrees = false;

  // Used by the thread alone. Its clock stands still while the process is stopped.
  double now = 0, failedAt = 0, said = 0, moved = 0;
  std::chrono::steady_clock::time_point tick;
  Activity saidActivity;
};

} // namespace meshwright::runtime::processes

#endif
