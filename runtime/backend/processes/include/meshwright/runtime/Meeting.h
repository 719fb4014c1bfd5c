//===- Meeting.h - connections that are greeted -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_MEETING_H
#define MESHWRIGHT_RUNTIME_MEETING_H

#include "meshwright/runtime/Greeting.h"
#include "meshwright/runtime/Sockets.h"
#include <chrono>

namespace meshwright::runtime::processes {

/// A connection both ends of which have proved that they know the key; not open for the process itself.
struct Greeted {
  Socket socket;
  Digest session = {};
};

/// The time that processes have to find each other, and that a connection has to say what it wants.
struct Deadlines {
  std::chrono::milliseconds meeting{30'000}, greeting{10'000};
};

/// This process and what it proves: in a run of so many processes, on connections of one purpose.
struct Party {
  Digest key = {};
  Purpose purpose = Purpose::Lifeline;
  int process = 0, numProcesses = 1;
  Deadlines deadlines = {};

  /// The hello of one connection, with a nonce of its own.
  Result<Hello> makeHello() const;
};

/// Takes connections until the processes `first` to `last` are there, at their numbers. All connections are listened to
/// side by side, so that one that says nothing delays no other.
Result<std::vector<Greeted>> acceptProcesses(const Listener &listener, const Party &party, int first, int last);

/// Connects with the process `other`, which listens there. Where that one may not have begun to listen, `isEarly`, it
/// is given time to.
Result<Greeted> connectToProcess(const Address &address, const Party &party, int other, bool isEarly = false);

} // namespace meshwright::runtime::processes

#endif
