//===- MpiWorld.cpp - processes that MPI has started ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process has one rank, which is its number. Data moves by messages of MPI on one communicator, whose tags say what
// they are of; why not by communicators and collectives of MPI is in docs/decisions/0020-messages-not-collectives.md.
//
//===----------------------------------------------------------------------===//

#include "MpiWorld.h"
#include "MpiCommunicator.h"
#include <algorithm>
#include <cstdlib>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::mpi;

namespace {

class MpiBackend : public Backend {
public:
  MpiBackend(Post &post, int64_t rank, uint64_t world, bool checkAlways)
      : rank(rank), communicator(post, rank, world, checkAlways) {}
  RankRange getRanks() const override { return {rank, rank + 1}; }
  Communicator &getCommunicator(int64_t) override { return communicator; }
  void beginStep() override {}
  void setProfiling(bool on) override { communicator.setProfiling(on); }

private:
  int64_t rank;
  MpiCommunicator communicator;
};

/// Tags of messages between steps.
constexpr uint64_t worldTag = 0;

/// A buffer as messages that MPI can count.
std::vector<Message> cut(std::byte *bytes, uint64_t size, int peer, bool isSend) {
  constexpr uint64_t limit = PlanLimits().message;
  std::vector<Message> messages;
  for (uint64_t done = 0; done < size; done += limit)
    messages.push_back({bytes + done, std::min(limit, size - done), peer, isSend});
  return messages;
}

class MpiWorld : public World {
public:
  explicit MpiWorld(std::unique_ptr<Transport> newTransport) : transport(std::move(newTransport)) {}
  ~MpiWorld() override;
  Status connect();

  std::string_view getName() const override { return "mpi"; }
  int64_t getProcess() const override { return transport->getProcess(); }
  int64_t getNumProcesses() const override { return transport->getNumProcesses(); }
  Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options) override;
  Result<std::vector<Bytes>> gather(std::span<const std::byte> mine) override;
  Status broadcast(std::span<std::byte> bytes) override;
  void abort(const Status &status) override { lifeline->fail(status); }
  void setLastWords(std::function<void(const Status &)> say) override { lifeline->setLastWords(std::move(say)); }

private:
  Result<std::vector<Socket>> openSockets();
  Status exchange(std::vector<Message> messages) { return post->exchange(messages, transport->getTag(worldTag)); }

  std::unique_ptr<Transport> transport;
  std::unique_ptr<Lifeline> lifeline;
  std::unique_ptr<Post> post;
  uint64_t numBackends = 0;
};

MpiWorld::~MpiWorld() {
  if (!lifeline)
    return;
  // Without all processes there is no end of MPI: this one leaves it behind, and the system cleans up.
  if (lifeline->hasFailed()) {
    lifeline->leave();
    return;
  }
  lifeline->sayEnd();
  (void)transport->finalize();
}

/// Before there is a lifeline, where the first process listens is all that is said.
static Status tellAll(Transport &transport, std::string &text) {
  int tag = transport.getTag(worldTag);
  auto complete = [&](Message message) -> Status {
    MW_TRY(transport.post(message, tag));
    Patience patience(true);
    while (true) {
      MW_TRY_ASSIGN(bool isOver, transport.test(message));
      if (isOver)
        return {};
      patience.wait();
    }
  };
  bool isFirst = transport.getProcess() == 0;
  auto tell = [&](std::byte *bytes, uint64_t size) -> Status {
    if (!isFirst)
      return complete({bytes, size, 0, false});
    for (int process = 1; process != transport.getNumProcesses(); ++process)
      MW_TRY(complete({bytes, size, process, true}));
    return {};
  };
  uint64_t size = text.size();
  MW_TRY(tell(reinterpret_cast<std::byte *>(&size), sizeof(size)));
  text.resize(size);
  return tell(reinterpret_cast<std::byte *>(text.data()), size);
}

Result<std::vector<Socket>> MpiWorld::openSockets() {
  std::vector<Socket> sockets(1);
  if (transport->getNumProcesses() == 1)
    return sockets;
  Address address;
  if (!isFirst()) {
    std::string text;
    MW_TRY(tellAll(*transport, text));
    MW_TRY_ASSIGN(sockets[0], connectToFirst(Address::unpack(text), transport->getProcess()));
    return sockets;
  }
  MW_TRY_ASSIGN(Socket listener, listenForProcesses(address));
  std::string text = address.pack();
  MW_TRY(tellAll(*transport, text));
  return acceptProcesses(listener, address, transport->getNumProcesses() - 1);
}

Status MpiWorld::connect() {
  MW_TRY_ASSIGN(std::vector<Socket> sockets, openSockets());
  MW_TRY_ASSIGN(lifeline, Lifeline::create(transport->getProcess(), std::move(sockets)));
  post = std::make_unique<Post>(*transport, *lifeline, 1);
  return {};
}

static Status describeMismatch(int64_t ranks, int64_t processes) {
  // Where srun and MPI do not speak the same language, every process is alone.
  const char *tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (processes == 1 && tasks && std::string_view(tasks) != "1")
    return usageError("the package is for {} ranks but MPI knows 1 process of the {} that SLURM has started; "
                      "srun --mpi=pmix lets them find each other",
                      ranks, tasks);
  return usageError("the package is for {} ranks but there {}; mpirun -n {} starts as many as it wants", ranks,
                    processes == 1 ? "is 1 process" : fmt::format("are {} processes", processes), ranks);
}

Result<std::unique_ptr<Backend>> MpiWorld::createBackend(const BackendOptions &options) {
  if (options.link)
    return usageError("a link is modelled between ranks of one process, but these are processes");
  if (options.numRanks != getNumProcesses())
    return describeMismatch(options.numRanks, getNumProcesses());
  lifeline->setTimeout(options.timeoutSeconds);
  return std::unique_ptr<Backend>(
      std::make_unique<MpiBackend>(*post, getProcess(), ++numBackends, options.checkCollectives));
}

Result<std::vector<Bytes>> MpiWorld::gather(std::span<const std::byte> mine) {
  uint64_t size = mine.size();
  std::vector<Bytes> all;
  if (!isFirst()) {
    MW_TRY(exchange(cut(reinterpret_cast<std::byte *>(&size), sizeof(size), 0, true)));
    // MPI only reads what is sent.
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

Status MpiWorld::broadcast(std::span<std::byte> bytes) {
  if (!isFirst())
    return exchange(cut(bytes.data(), bytes.size(), 0, false));
  std::vector<Message> messages;
  for (int process = 1; process != getNumProcesses(); ++process)
    for (const Message &message : cut(bytes.data(), bytes.size(), process, true))
      messages.push_back(message);
  return exchange(std::move(messages));
}

} // namespace

Result<std::unique_ptr<World>> meshwright::runtime::createMpiWorld() {
  MW_TRY_ASSIGN(std::unique_ptr<Transport> transport, Transport::create());
  auto world = std::make_unique<MpiWorld>(std::move(transport));
  MW_TRY(world->connect());
  return std::unique_ptr<World>(std::move(world));
}

Result<std::string> meshwright::runtime::getMpiVersion() {
  MW_TRY_ASSIGN(MwMpiFunctions functions, openPlugin());
  char text[128];
  functions.describeLibrary(text, sizeof(text));
  return std::string(text);
}
