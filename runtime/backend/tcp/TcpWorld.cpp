//===- TcpWorld.cpp - processes with connections --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everybody connects to the first process, at the rendezvous: that is the lifeline. Over it they tell where they
// listen, and then each connects to all before it:
//
//   process 0   listens ── addresses of all ◂── ── addresses to all ──▸
//   process 1     └─ connects ── its address ──▸     ── connects to 0 ── accepts 2, 3
//   process 2     └─ connects ── its address ──▸     ── connects to 0, 1 ── accepts 3
//
//===----------------------------------------------------------------------===//

#include "TcpWorld.h"
#include "../processes/ProcessWorld.h"
#include "TcpTransport.h"
#include <cstdlib>
#include <poll.h>
#include <sys/socket.h>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;
using namespace meshwright::runtime::tcp;

/// Between connecting and knowing everybody's address a process waits for the slowest to start.
static constexpr int kSetupMilliseconds = 60'000;

/// Moves all bytes over a connection, one way or the other.
static Status moveAll(const Socket &socket, bool isSend, char *bytes, uint64_t size) {
  while (size != 0) {
    pollfd wanted{socket.get(), static_cast<short>(isSend ? POLLOUT : POLLIN), 0};
    if (poll(&wanted, 1, kSetupMilliseconds) == 0)
      return faultError("a process did not answer within {} s while all get to know each other",
                        kSetupMilliseconds / 1000);
    ssize_t count = isSend ? ::send(socket.get(), bytes, size, MSG_NOSIGNAL) : ::recv(socket.get(), bytes, size, 0);
    if (count <= 0)
      return faultError("a process ended while all get to know each other");
    bytes += count;
    size -= static_cast<uint64_t>(count);
  }
  return {};
}

static Status sendText(const Socket &socket, std::string text) {
  uint64_t size = text.size();
  MW_TRY(moveAll(socket, true, reinterpret_cast<char *>(&size), sizeof(size)));
  return moveAll(socket, true, text.data(), size);
}

static Result<std::string> receiveText(const Socket &socket) {
  constexpr uint64_t kLongest = 1 << 20;
  uint64_t size = 0;
  MW_TRY(moveAll(socket, false, reinterpret_cast<char *>(&size), sizeof(size)));
  if (size > kLongest)
    return faultError("a process says {} bytes where its address is wanted", size);
  std::string text(size, 0);
  MW_TRY(moveAll(socket, false, text.data(), size));
  return text;
}

/// The connections of the lifeline.
static Result<std::vector<Socket>> meet(const Rendezvous &rendezvous) {
  Address address;
  if (rendezvous.process != 0) {
    address.port = rendezvous.port;
    address.addresses = {rendezvous.host};
    address.setToken(rendezvous.token);
    std::vector<Socket> sockets(1);
    MW_TRY_ASSIGN(sockets[0], connectToProcess(address, rendezvous.process, 0, /*isEarly=*/true));
    return sockets;
  }
  Socket listener(rendezvous.listener);
  if (!listener.isOpen()) {
    MW_TRY_ASSIGN(listener, listenForProcesses(address, rendezvous.port));
  }
  address.setToken(rendezvous.token);
  return acceptProcesses(listener, address, 1, rendezvous.numProcesses - 1);
}

/// Where everybody listens, by way of the first process.
static Result<std::vector<Address>> shareAddresses(const Rendezvous &rendezvous, const std::vector<Socket> &lifeline,
                                                   const Address &mine) {
  std::vector<std::string> texts(rendezvous.numProcesses);
  texts[rendezvous.process] = mine.pack();
  if (rendezvous.process != 0)
    MW_TRY(sendText(lifeline[0], texts[rendezvous.process]));
  for (int process = 1; rendezvous.process == 0 && process != rendezvous.numProcesses; ++process) {
    MW_TRY_ASSIGN(texts[process], receiveText(lifeline[process]));
  }
  std::vector<Address> addresses;
  for (std::string &text : texts) {
    if (rendezvous.process != 0) {
      MW_TRY_ASSIGN(text, receiveText(lifeline[0]));
    }
    for (int process = 1; rendezvous.process == 0 && process != rendezvous.numProcesses; ++process)
      MW_TRY(sendText(lifeline[process], text));
    addresses.push_back(Address::unpack(text));
  }
  return addresses;
}

/// A connection with every other process.
static Result<std::vector<Socket>> connectToAll(const Rendezvous &rendezvous, const Socket &listener,
                                                const std::vector<Address> &addresses) {
  int process = rendezvous.process;
  std::vector<Socket> before(process);
  for (int other = 0; other != process; ++other) {
    MW_TRY_ASSIGN(before[other], connectToProcess(addresses[other], process, other));
  }
  MW_TRY_ASSIGN(std::vector<Socket> sockets,
                acceptProcesses(listener, addresses[process], process + 1, rendezvous.numProcesses - 1));
  std::move(before.begin(), before.end(), sockets.begin());
  return sockets;
}

Result<std::unique_ptr<World>> meshwright::runtime::createTcpWorld(const Rendezvous &rendezvous) {
  MW_TRY_ASSIGN(std::vector<Socket> lifeline, meet(rendezvous));
  Address mine;
  MW_TRY_ASSIGN(Socket listener, listenForProcesses(mine));
  MW_TRY_ASSIGN(std::vector<Address> addresses, shareAddresses(rendezvous, lifeline, mine));
  MW_TRY_ASSIGN(std::vector<Socket> sockets, connectToAll(rendezvous, listener, addresses));
  int numLocal = 0;
  for (const Address &address : addresses)
    numLocal += address.host == mine.host;
  return ProcessWorld::create(std::make_unique<TcpTransport>(rendezvous.process, numLocal, std::move(sockets)),
                              std::move(lifeline));
}

Result<std::unique_ptr<World>> meshwright::runtime::createTcpWorld() {
  MW_TRY_ASSIGN(std::optional<Rendezvous> found, findRendezvous([](const char *name) { return std::getenv(name); }));
  if (!found)
    return usageError("nobody says which processes there are: --nproc starts some, and so do torchrun and srun");
  return createTcpWorld(*found);
}
