//===- Post.cpp - messages, and what may happen to them -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Post.h"

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

/// From then on it is worth saying for whom this process waits.
static constexpr std::chrono::milliseconds longWait(20);
/// For as long an error of the transport may be the first sign of what the lifeline will know: its thread waits for a
/// core like all others.
static constexpr std::chrono::seconds learnTime(5);

Status Post::post(std::span<Message> messages, int tag, const CollectiveCall *call) {
  for (Message &message : messages)
    if (Status status = transport.post(message, tag); !status.ok())
      return explain(status, call);
  return {};
}

Status Post::complete(std::span<Message> messages, int tag, const CollectiveCall *call) {
  bool isSaid = false;
  Status status;
  for (Message &message : messages)
    if (status.ok())
      status = waitFor(message, tag, call, isSaid);
  if (isSaid)
    lifeline.endWait();
  lifeline.countMove();
  return status;
}

Status Post::waitFor(Message &message, int tag, const CollectiveCall *call, bool &isSaid) {
  Patience patience(isCrowded);
  std::optional<int> other;
  std::optional<bool> said;
  while (true) {
    if (lifeline.hasFailed()) {
      transport.abandon();
      return lifeline.takeFailure(call);
    }
    Result<bool> isOver = transport.test(message);
    if (!isOver.ok())
      return explain(isOver.status(), call);
    if (*isOver)
      return {};
    if (Patience::Clock::duration pause = patience.getPause(); pause != Patience::Clock::duration())
      transport.sleep(pause);
    if (!call || patience.getElapsed() < longWait)
      continue;
    // A message with another tag that stays there is of something else: those of one process come in their order.
    Result<std::optional<int>> there = transport.probe(message.peer);
    if (!there.ok())
      return explain(there.status(), call);
    bool disagrees = *there && **there != tag && *there == other;
    other = *there;
    if (said == disagrees)
      continue;
    lifeline.beginWait(*call, message.peer, disagrees);
    said = disagrees;
    isSaid = true;
  }
}

Status Post::waitForFailure(const CollectiveCall &call) {
  Patience patience(true);
  while (!lifeline.hasFailed())
    patience.wait();
  return lifeline.takeFailure(&call);
}

Status Post::explain(const Status &status, const CollectiveCall *call) {
  auto end = Patience::Clock::now() + learnTime;
  while (!lifeline.hasFailed() && Patience::Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return lifeline.hasFailed() ? lifeline.takeFailure(call) : status;
}
