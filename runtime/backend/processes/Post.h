//===- Post.h - messages, and what may happen to them -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_POST_H
#define MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_POST_H

#include "Lifeline.h"
#include "meshwright/runtime/Transport.h"
#include <span>

namespace meshwright::runtime::processes {

/// Messages between processes of which any may fail.
class Post {
public:
  /// For a rank that has so many threads which compute or wait for messages.
  Post(Transport &transport, Lifeline &lifeline, unsigned threads)
      : transport(transport), lifeline(lifeline), isCrowded(transport.isCrowded(threads)) {}

  /// Puts messages under way; none is, where there is an error: that of the transport, or the failure of any process.
  Status post(std::span<Message> messages, int tag, const CollectiveCall *call = nullptr);
  /// Returns when all of them are over, or with the failure of any process. Who waits for long in a collective is said
  /// to do so.
  Status complete(std::span<Message> messages, int tag, const CollectiveCall *call = nullptr);
  /// Both.
  Status exchange(std::span<Message> messages, int tag, const CollectiveCall *call = nullptr) {
    MW_TRY(post(messages, tag, call));
    return complete(messages, tag, call);
  }

  /// Another process is about to fail because of that collective.
  Status waitForFailure(const CollectiveCall &call);

  Transport &getTransport() { return transport; }
  Lifeline &getLifeline() { return lifeline; }

private:
  Status waitFor(Message &message, int tag, const CollectiveCall *call, bool &isSaid);
  /// A transport's errors follow from what the lifeline knows better, soon.
  Status explain(const Status &status, const CollectiveCall *call);

  Transport &transport;
  Lifeline &lifeline;
  bool isCrowded;
};

} // namespace meshwright::runtime::processes

#endif
