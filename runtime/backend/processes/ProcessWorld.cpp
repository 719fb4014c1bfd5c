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

Result<std::unique_ptr<World>> ProcessWorld::create(std::unique_ptr<Transport> transport, std::vector<Socket> sockets,
                                                    std::optional<Digest> key) {
  MW_TRY_ASSIGN(std::unique_ptr<Lifeline> lifeline,
                Lifeline::create(transport->getProcess(), transport->getNumProcesses(), std::move(sockets)));
  std::unique_ptr<ProcessWorld> world(new ProcessWorld(std::move(transport), std::move(lifeline)));
  world->key = key;
  return std::unique_ptr<World>(std::move(world));
}

ProcessWorld::~ProcessWorld() {
  // Without all processes the transport has no end: this one keeps it, and the system cleans up.
  if (lifeline->hasFailed()) {
    lifeline->leave();
    return;
  }
  lifeline->sayEnd();
  transport->finalize();
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
    auto *bytes = const_cast<std::byte *>(mine.data());
    for (uint64_t done = 0; done < size; done += kPieceBytes)
      MW_TRY(exchange(cut(bytes + done, std::min(kPieceBytes, size - done), 0, true)));
    return all;
  }
  all.push_back(Bytes(mine.begin(), mine.end()));
  for (int process = 1; process != getNumProcesses(); ++process) {
    MW_TRY(exchange(cut(reinterpret_cast<std::byte *>(&size), sizeof(size), process, false)));
    Bytes &bytes = all.emplace_back();
    // Memory grows with what comes, not with what is announced.
    for (uint64_t done = 0; done < size; done += kPieceBytes) {
      bytes.resize(done + std::min(kPieceBytes, size - done));
      MW_TRY(exchange(cut(bytes.data() + done, bytes.size() - done, process, false)));
    }
  }
  return all;
}

/// Every process proves to the first one, and that one to all, that it has the key and the same bytes.
Status ProcessWorld::confirm(std::span<const std::byte> agreed) {
  if (!key)
    return {};
  std::string text = fmt::format("meshwright agreement {}\n", numConfirmed++);
  text.append(reinterpret_cast<const char *>(agreed.data()), agreed.size());
  auto prove = [&](int64_t process) { return computeHmac(toBytes(*key), fmt::format("process {}\n", process) + text); };
  Digest mine = prove(getProcess()), ofFirst = prove(0);
  MW_TRY_ASSIGN(std::vector<Bytes> all, gather(std::as_bytes(std::span(mine))));
  auto check = [](const Digest &expected, std::span<const std::byte> bytes, size_t process) -> Status {
    if (areEqualInConstantTime(toBytes(expected), {reinterpret_cast<const char *>(bytes.data()), bytes.size()}))
      return {};
    return faultError("process {} has not agreed on what this process has: a message was changed on its way", process);
  };
  for (size_t process = 1; process < all.size(); ++process)
    MW_TRY(check(prove(static_cast<int64_t>(process)), all[process], process));
  Digest said = ofFirst;
  MW_TRY(broadcast(std::as_writable_bytes(std::span(said))));
  return check(ofFirst, std::as_bytes(std::span(said)), 0);
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

Result<std::unique_ptr<World>> meshwright::runtime::processes::createProcessWorld(std::unique_ptr<Transport> transport,
                                                                                  std::vector<Socket> sockets,
                                                                                  std::optional<Digest> key) {
  return ProcessWorld::create(std::move(transport), std::move(sockets), key);
}
