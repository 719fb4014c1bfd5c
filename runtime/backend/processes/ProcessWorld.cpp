//===- ProcessWorld.cpp - a rank for each process -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessWorld.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

namespace {

class ProcessBackend : public Backend {
public:
  ProcessBackend(Post &post, int64_t rank, uint64_t world, bool checkAlways)
      : rank(rank), communicator(post, rank, world, checkAlways) {}
  RankRange getRanks() const override { return {rank, rank + 1}; }
  Communicator &getCommunicator(int64_t) override { return communicator; }
  void beginStep() override {}
  void setProfiling(bool on) override { communicator.setProfiling(on); }

private:
  int64_t rank;
  ProcessCommunicator communicator;
};

/// Tags of messages between steps.
constexpr uint64_t worldTag = 0;

/// A buffer as messages that a transport can count.
std::vector<Message> cut(std::byte *bytes, uint64_t size, int peer, bool isSend) {
  constexpr uint64_t limit = PlanLimits().message;
  std::vector<Message> messages;
  for (uint64_t done = 0; done < size; done += limit)
    messages.push_back({bytes + done, std::min(limit, size - done), peer, isSend});
  return messages;
}

} // namespace

ProcessWorld::ProcessWorld(std::unique_ptr<Transport> transport, std::unique_ptr<Lifeline> lifeline)
    : transport(std::move(transport)), lifeline(std::move(lifeline)),
      post(std::make_unique<Post>(*this->transport, *this->lifeline, 1)) {}

Result<std::unique_ptr<World>> ProcessWorld::create(std::unique_ptr<Transport> transport, std::vector<Socket> sockets) {
  MW_TRY_ASSIGN(std::unique_ptr<Lifeline> lifeline, Lifeline::create(transport->getProcess(), std::move(sockets)));
  return std::unique_ptr<World>(new ProcessWorld(std::move(transport), std::move(lifeline)));
}

ProcessWorld::~ProcessWorld() {
  // Without all processes the transport has no end: this one leaves it behind, and the system cleans up.
  if (lifeline->hasFailed()) {
    lifeline->leave();
    return;
  }
  lifeline->sayEnd();
  (void)transport->finalize();
}

Result<std::unique_ptr<Backend>> ProcessWorld::createBackend(const BackendOptions &options) {
  if (options.link)
    return usageError("a link is modelled between ranks of one process, but these are processes");
  if (options.numRanks != getNumProcesses())
    return transport->describeMismatch(options.numRanks);
  lifeline->setTimeout(options.timeoutSeconds);
  return std::unique_ptr<Backend>(
      std::make_unique<ProcessBackend>(*post, getProcess(), ++numBackends, options.checkCollectives));
}

Status ProcessWorld::exchange(std::vector<Message> messages) {
  return post->exchange(messages, transport->getTag(worldTag));
}

Result<std::vector<Bytes>> ProcessWorld::gather(std::span<const std::byte> mine) {
  uint64_t size = mine.size();
  std::vector<Bytes> all;
  if (!isFirst()) {
    MW_TRY(exchange(cut(reinterpret_cast<std::byte *>(&size), sizeof(size), 0, true)));
    // A transport only reads what is sent.
    MW_TRY(exchange(cut(const_cast<std::byte *>(mine.data()), size, 0, true)));
    return all;
  }
  all.push_back(Bytes(mine.begin(), mine.end()));
  for (int process = 1; process != getNumProcesses(); ++process) {
    MW_TRY(exchange(cut(reinterpret_cast<std::byte *>(&size), sizeof(size), process, false)));
    Bytes &bytes = all.emplace_back(size);
    MW_TRY(exchange(cut(bytes.data(), size, process, false)));
  }
  return all;
}

Status ProcessWorld::broadcast(std::span<std::byte> bytes) {
  if (!isFirst())
    return exchange(cut(bytes.data(), bytes.size(), 0, false));
  std::vector<Message> messages;
  for (int process = 1; process != getNumProcesses(); ++process)
    for (const Message &message : cut(bytes.data(), bytes.size(), process, true))
      messages.push_back(message);
  return exchange(std::move(messages));
}
