//===- TcpWorld.cpp - processes with connections --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every process connects to the first one, at the rendezvous: that is the lifeline. Each of these connections is
// greeted with the key of the token, and texts on them are signed. Over them processes say which host they are on, then
// where they listen; then each connects to all before it:
//
//   process 0   listens ── hosts, addresses of all ◂── ── hosts, addresses to all ──▸
//   process 1     └─ connects ── its host, its address ──▸     ── connects to 0 ── accepts 2, 3
//   process 2     └─ connects ── its host, its address ──▸     ── connects to 0, 1 ── accepts 3
//
// The key of the connections for data is that of the list of addresses, which has random numbers of every process: it
// binds them to this run, to the number of processes and to where each of them listens.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/TcpWorld.h"
#include "TcpTransport.h"
#include "meshwright/runtime/EscapeText.h"
#include "meshwright/runtime/Meeting.h"
#include "meshwright/runtime/ProcessWorlds.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <sys/socket.h>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;
using namespace meshwright::runtime::tcp;

/// Between connecting and knowing all addresses a process waits for the slowest to start.
static constexpr int kSetupMilliseconds = 60'000;

/// Moves all bytes over a connection, one way or the other.
static Status moveAll(const Socket &socket, bool isSend, char *bytes, uint64_t size) {
  while (size != 0) {
    pollfd wanted{socket.get(), static_cast<short>(isSend ? POLLOUT : POLLIN), 0};
    if (poll(&wanted, 1, kSetupMilliseconds) == 0)
      return faultError("a process did not answer within {} s while all get to know each other",
                        kSetupMilliseconds / 1000);
    ssize_t count = isSend ? ::send(socket.get(), bytes, size, MSG_NOSIGNAL) : ::recv(socket.get(), bytes, size, 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
      continue;
    if (count <= 0)
      return faultError("a process ended while all get to know each other");
    bytes += count;
    size -= static_cast<uint64_t>(count);
  }
  return {};
}

namespace {

/// How the processes get to know each other.
class Setup {
public:
  explicit Setup(const Rendezvous &rendezvous)
      : rendezvous(rendezvous),
        lifelineParty{makeKey(rendezvous.token), Purpose::Lifeline, rendezvous.process, rendezvous.numProcesses} {}

  Result<std::unique_ptr<World>> run() {
    MW_TRY(meet());
    MW_TRY(shareHosts());
    MW_TRY_ASSIGN(Listener listener, listenAt(mine.addresses));
    mine.port = listener.port;
    MW_TRY(fillRandom(mine.nonce.data(), mine.nonce.size()));
    MW_TRY(shareAddresses());
    MW_TRY_ASSIGN(std::vector<Socket> sockets, connectToAll(listener));
    std::vector<Socket> lifelines;
    for (Greeted &lifeline : lifeline)
      lifelines.push_back(std::move(lifeline.socket));
    auto transport = std::make_unique<TcpTransport>(rendezvous.process, numLocal, std::move(sockets));
    return createProcessWorld(std::move(transport), std::move(lifelines), runKey);
  }

private:
  bool isFirst() const { return rendezvous.process == 0; }

  /// The connections of the lifeline.
  Status meet() {
    if (isFirst()) {
      Listener listener;
      if (rendezvous.listener >= 0) {
        listener.sockets.push_back(Socket(rendezvous.listener));
      } else {
        MW_TRY_ASSIGN(std::vector<std::string> addresses, resolveOwnAddresses(rendezvous.host));
        MW_TRY_ASSIGN(listener, listenAt(addresses, rendezvous.port));
      }
      MW_TRY_ASSIGN(lifeline, acceptProcesses(listener, lifelineParty, 1, rendezvous.numProcesses - 1));
    } else {
      Address place{"", "", rendezvous.port, {rendezvous.host}};
      MW_TRY_ASSIGN(Greeted first, connectToProcess(place, lifelineParty, 0, /*isEarly=*/true));
      lifeline.push_back(std::move(first));
    }
    for (const Greeted &one : lifeline)
      signers.emplace_back(one.session, isFirst());
    return {};
  }

  /// The processes all say something to all others, by way of the first one: in their order.
  Result<std::vector<std::string>> share(const std::string &text) {
    std::vector<std::string> texts(rendezvous.numProcesses);
    texts[rendezvous.process] = text;
    if (!isFirst())
      MW_TRY(send(0, text));
    for (int process = 1; isFirst() && process != rendezvous.numProcesses; ++process) {
      MW_TRY_ASSIGN(texts[process], receive(process));
    }
    for (std::string &one : texts) {
      if (!isFirst()) {
        MW_TRY_ASSIGN(one, receive(0));
      }
      for (int process = 1; isFirst() && process != rendezvous.numProcesses; ++process)
        MW_TRY(send(process, one));
    }
    return texts;
  }

  Status send(int process, const std::string &text) {
    std::string bytes = signers[process].pack(text);
    return moveAll(lifeline[process].socket, true, bytes.data(), bytes.size());
  }

  Result<std::string> receive(int process) {
    std::string header(SignedTexts::kHeaderBytes, '\0');
    MW_TRY(moveAll(lifeline[process].socket, false, header.data(), header.size()));
    MW_TRY_ASSIGN(size_t size, SignedTexts::getBodyBytes(header));
    std::string body(size, '\0');
    MW_TRY(moveAll(lifeline[process].socket, false, body.data(), size));
    return signers[process].unpack(body);
  }

  /// The addresses of this host by which the lifeline goes, without the loopback.
  std::vector<std::string> getLifelineAddresses() const {
    std::vector<std::string> addresses;
    for (const Greeted &one : lifeline) {
      std::string address = one.socket.isOpen() ? getLocalAddress(one.socket) : "";
      if (!address.empty() && !isLoopback(address) &&
          std::find(addresses.begin(), addresses.end(), address) == addresses.end())
        addresses.push_back(address);
    }
    return addresses;
  }

  /// Finds out how many processes are on this host, and where this one is to listen: on the loopback if all are here,
  /// else where it reaches the rendezvous. A process that reaches it by the loopback is on the first process's host.
  Status shareHosts() {
    Address said{getHostIdentity(), std::string(kNonceBytes, '\0'), 0, getLifelineAddresses()};
    MW_TRY_ASSIGN(std::vector<std::string> texts, share(said.pack()));
    mine = said;
    for (size_t process = 0; process != texts.size(); ++process) {
      MW_TRY_ASSIGN(Address other, Address::unpack(texts[process]));
      numLocal += other.host == mine.host;
      if (process == 0 && mine.addresses.empty() && other.host == mine.host)
        mine.addresses = other.addresses;
    }
    if (numLocal == rendezvous.numProcesses)
      mine.addresses = {kLoopback};
    return {};
  }

  Status shareAddresses() {
    MW_TRY_ASSIGN(std::vector<std::string> texts, share(mine.pack()));
    std::string list = "meshwright run\n";
    for (const std::string &text : texts) {
      MW_TRY_ASSIGN(Address address, Address::unpack(text));
      addresses.push_back(std::move(address));
      list += fmt::format("{} {}\n", addresses.size() - 1, text.size()) + text;
    }
    runKey = computeHmac(toBytes(lifelineParty.key), list);
    return {};
  }

  /// A connection with every other process.
  Result<std::vector<Socket>> connectToAll(const Listener &listener) const {
    int process = rendezvous.process;
    Party party{runKey, Purpose::Data, process, rendezvous.numProcesses};
    std::vector<Socket> sockets(rendezvous.numProcesses);
    for (int other = 0; other != process; ++other) {
      MW_TRY_ASSIGN(Greeted before, connectToProcess(addresses[other], party, other));
      sockets[other] = std::move(before.socket);
    }
    MW_TRY_ASSIGN(std::vector<Greeted> later,
                  acceptProcesses(listener, party, process + 1, rendezvous.numProcesses - 1));
    for (int other = process + 1; other < rendezvous.numProcesses; ++other)
      sockets[other] = std::move(later[other].socket);
    return sockets;
  }

  const Rendezvous &rendezvous;
  Party lifelineParty;
  /// On the first process at the numbers of the others; on these one, to the first.
  std::vector<Greeted> lifeline;
  std::vector<SignedTexts> signers;
  Address mine;
  std::vector<Address> addresses;
  int numLocal = 0;
  Digest runKey = {};
};

} // namespace

Result<std::unique_ptr<World>> meshwright::runtime::createTcpWorld(const Rendezvous &rendezvous) {
  return Setup(rendezvous).run();
}

static Result<std::unique_ptr<World>> openTcpWorld(const WorldOptions &options) {
  MW_TRY_ASSIGN(std::optional<Rendezvous> found, findRendezvous([](const char *name) { return std::getenv(name); }));
  if (!found)
    return usageError("no process group was found; start with --nproc=N, torchrun or srun");
  if (!options.tokenFile.empty()) {
    MW_TRY_ASSIGN(found->token, readToken(options.tokenFile));
    found->isPublic = false;
  }
  if (found->isPublic && found->process == 0 && options.warn)
    options.warn(
        fmt::format("the only token is {}, which others may know: any program that reaches {}, port {}, can join "
                    "the run; --token-file=FILE or MESHWRIGHT_TOKEN keeps it out",
                    escapeText(found->token.empty() ? "empty" : '"' + found->token + '"'), found->host, found->port));
  return createTcpWorld(*found);
}

const WorldKind meshwright::runtime::tcpKind = {
    "tcp", "processes with connections, started by --nproc, torchrun or srun", true, openTcpWorld};
