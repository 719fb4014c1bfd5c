//===- TcpTransport.cpp - messages over connections -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All connections are non-blocking. A test moves bytes on every connection whose lists have messages, then looks at
// the one in question; a waiting rank sleeps in poll on all of them. A message that no receive has asked for stays in
// the system's buffers.
//
//===----------------------------------------------------------------------===//

#include "TcpTransport.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;
using namespace meshwright::runtime::tcp;

/// `Message::handle` of what is over; else it is the tag. `moved` counts the header too.
static constexpr uint64_t kIsOver = ~uint64_t(0);

TcpTransport::TcpTransport(int process, int numLocal, std::vector<Socket> sockets)
    : process(process), numLocal(numLocal), peers(sockets.size()), watched(sockets.size()) {
  for (size_t i = 0; i != sockets.size(); ++i)
    peers[i].socket = std::move(sockets[i]);
}

void TcpTransport::List::push(Message &message) {
  message.next = nullptr;
  if (first)
    last->next = &message;
  else
    first = &message;
  last = &message;
}

Status TcpTransport::makeError(const char *what, const Peer &peer) const {
  return faultError("{} process {} failed: {}", what, &peer - peers.data(), std::strerror(errno));
}

Status TcpTransport::post(Message &message, int tag) {
  std::lock_guard guard(mutex);
  if (isAbandoned)
    return faultError("a process has failed");
  Peer &peer = peers[message.peer];
  message.handle = static_cast<uint64_t>(tag);
  message.moved = 0;
  (message.isSend ? peer.sends : peer.receives).push(message);
  return message.isSend ? send(peer) : Status();
}

Result<bool> TcpTransport::test(Message &message) {
  std::lock_guard guard(mutex);
  if (message.handle != kIsOver)
    MW_TRY(moveAll());
  return message.handle == kIsOver;
}

Status TcpTransport::moveAll() {
  for (Peer &peer : peers) {
    MW_TRY(send(peer));
    MW_TRY(receive(peer));
  }
  return {};
}

Result<bool> TcpTransport::transfer(Peer &peer, bool isSend, std::byte *bytes, uint64_t size, uint64_t &moved) {
  while (size != 0) {
    ssize_t count = isSend ? ::send(peer.socket.get(), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                           : ::recv(peer.socket.get(), bytes, size, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return false;
    if (count < 0 && errno == EINTR)
      continue;
    if (count == 0)
      errno = ECONNRESET;
    if (count <= 0)
      return makeError(isSend ? "sending to" : "receiving from", peer);
    bytes += count;
    size -= static_cast<uint64_t>(count);
    moved += static_cast<uint64_t>(count);
  }
  return true;
}

Status TcpTransport::send(Peer &peer) {
  while (Message *message = peer.sends.first) {
    Header header{message->size, static_cast<uint32_t>(message->handle)};
    if (message->moved < sizeof(Header)) {
      uint64_t done = message->moved;
      MW_TRY_ASSIGN(bool isDone, transfer(peer, true, reinterpret_cast<std::byte *>(&header) + done,
                                          sizeof(Header) - done, message->moved));
      if (!isDone)
        return {};
    }
    uint64_t done = message->moved - sizeof(Header);
    MW_TRY_ASSIGN(bool isDone, transfer(peer, true, message->bytes + done, message->size - done, message->moved));
    if (!isDone)
      return {};
    peer.sends.pop();
    message->handle = kIsOver;
  }
  return {};
}

Status TcpTransport::receiveHeader(Peer &peer) {
  uint64_t done = peer.incomingBytes;
  return transfer(peer, false, reinterpret_cast<std::byte *>(&peer.incoming) + done, sizeof(Header) - done,
                  peer.incomingBytes)
      .status();
}

Status TcpTransport::checkIncoming(const Peer &peer) const {
  if (peer.incoming.size == peer.receives.first->size)
    return {};
  return faultError("process {} sent {} bytes where {} were expected", &peer - peers.data(), peer.incoming.size,
                    peer.receives.first->size);
}

Status TcpTransport::receive(Peer &peer) {
  while (Message *message = peer.receives.first) {
    if (!peer.hasIncoming())
      MW_TRY(receiveHeader(peer));
    // A message of another call stays where it is: the call that waits reports it.
    if (!peer.hasIncoming() || peer.incoming.tag != static_cast<uint32_t>(message->handle))
      return {};
    MW_TRY(checkIncoming(peer));
    uint64_t done = message->moved;
    MW_TRY_ASSIGN(bool isDone, transfer(peer, false, message->bytes + done, message->size - done, message->moved));
    if (!isDone)
      return {};
    peer.receives.pop();
    peer.incomingBytes = 0;
    message->handle = kIsOver;
  }
  return {};
}

Result<std::optional<int>> TcpTransport::probe(int number) {
  std::lock_guard guard(mutex);
  Peer &peer = peers[number];
  if (!peer.hasIncoming())
    MW_TRY(receiveHeader(peer));
  bool isWanted = peer.receives.first && peer.incoming.tag == static_cast<uint32_t>(peer.receives.first->handle);
  return peer.hasIncoming() && !isWanted ? std::optional(static_cast<int>(peer.incoming.tag)) : std::nullopt;
}

void TcpTransport::sleep(Patience::Clock::duration pause) {
  // Another thread that sleeps watches the same connections.
  std::unique_lock sleeping(sleepMutex, std::try_to_lock);
  if (!sleeping.owns_lock())
    return Transport::sleep(pause);
  {
    std::lock_guard guard(mutex);
    for (size_t i = 0; i != peers.size(); ++i) {
      bool reads = peers[i].receives.first && !peers[i].hasIncoming(), writes = peers[i].sends.first;
      bool continues = peers[i].receives.first && peers[i].hasIncoming() &&
                       peers[i].incoming.tag == static_cast<uint32_t>(peers[i].receives.first->handle);
      watched[i] = {reads || continues || writes ? peers[i].socket.get() : -1,
                    static_cast<short>((reads || continues ? POLLIN : 0) | (writes ? POLLOUT : 0)), 0};
    }
  }
  auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(pause).count();
  timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  ppoll(watched.data(), watched.size(), &time, nullptr);
}

void TcpTransport::abandon() {
  std::lock_guard guard(mutex);
  isAbandoned = true;
  for (Peer &peer : peers)
    peer.sends = peer.receives = {};
}

/// Every message has been handed over: the lists are empty, and a connection that is closed still delivers.
void TcpTransport::finalize() {
  std::lock_guard guard(mutex);
  for (Peer &peer : peers)
    if (peer.socket.isOpen())
      shutdown(peer.socket.get(), SHUT_WR);
}
