//===- Transport.h - messages between processes -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transports of messages, and how to wait for them: nothing moves without a request, so a waiting thread asks again
// and again, but the longer it has waited the less often. Many ranks share few cores.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_TRANSPORT_H
#define MESHWRIGHT_RUNTIME_TRANSPORT_H

#include "meshwright/runtime/Status.h"
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace meshwright::runtime::processes {

/// Bytes that go from one process to another. Between two processes messages are received in the order in which they
/// are sent.
struct Message {
  std::byte *bytes = nullptr;
  uint64_t size = 0;
  int peer = 0;
  bool isSend = false;

  // Set by the transport while the message is under way: its name of the message, the bytes moved, and what comes
  // after it.
  uint64_t handle = 0;
  uint64_t moved = 0;
  Message *next = nullptr;
};

/// Asks often at first, then sleeps ever longer.
class Patience {
public:
  using Clock = std::chrono::steady_clock;
  /// The wait of a thread whose core others want, or which has one for itself.
  explicit Patience(bool isCrowded) : spinTime(std::chrono::microseconds(isCrowded ? 5 : 1000)) {}
  /// How long to sleep before asking again: nothing while little time has passed.
  Clock::duration getPause();
  /// Sleeps for that long.
  void wait();
  /// For how long there was nothing.
  Clock::duration getElapsed() const { return elapsed; }

private:
  Clock::duration spinTime;
  uint64_t calls = 0;
  Clock::time_point begin;
  Clock::duration elapsed = {};
};

/// This process among others, and messages between them. All functions may be called from any thread.
class Transport {
public:
  virtual ~Transport() = default;
  /// As --comm calls it.
  virtual std::string_view getName() const = 0;
  /// There are not as many processes as ranks: an error that says what would start them.
  virtual Status describeMismatch(int64_t ranks) const = 0;
  virtual int getProcess() const = 0;
  virtual int getNumProcesses() const = 0;
  /// How many of them are on this host.
  virtual int getNumLocal() const = 0;
  /// A tag for messages that have a number in common.
  virtual int getTag(uint64_t number) const = 0;

  /// Puts a message under way. It stays where it is until it is over.
  virtual Status post(Message &message, int tag) = 0;
  /// True if the message is over.
  virtual Result<bool> test(Message &message) = 0;
  /// The tag of a message of that process that has come and no call asked for; nothing without one.
  virtual Result<std::optional<int>> probe(int peer) = 0;
  /// Sleeps for at most so long; less where something may have moved.
  virtual void sleep(Patience::Clock::duration pause);
  /// A process has failed: messages that are under way stay where they are for ever, and are forgotten.
  virtual void abandon() {}
  /// Ends all of it in this process, when all others do. A failure is not reported: the run is over.
  virtual void finalize() = 0;

  /// Whether that many threads of every process have to share cores.
  bool isCrowded(unsigned threads) const;

protected:
  /// That error, where `command` starts as many as are wanted.
  Status makeMismatch(int64_t ranks, const std::string &command) const;
};

} // namespace meshwright::runtime::processes

#endif
