//===- TcpTransport.h - messages over connections ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A connection between every two processes. A message is a short header and its bytes; bytes that no call has asked
// for stay in the system's buffers, so nothing is allocated while messages move:
//
//   post    ── to the end of the list of its peer and direction
//   test    ── moves what can be moved, of all lists, from their beginnings ── over?
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_TCP_TCPTRANSPORT_H
#define MESHWRIGHT_RUNTIME_BACKEND_TCP_TCPTRANSPORT_H

#include "meshwright/runtime/Sockets.h"
#include "meshwright/runtime/Transport.h"
#include <mutex>
#include <poll.h>
#include <vector>

namespace meshwright::runtime::tcp {

class TcpTransport : public processes::Transport {
public:
  /// Connections with all processes, at their numbers, none with itself; `numLocal` of all are on this host.
  TcpTransport(int process, int numLocal, std::vector<processes::Socket> sockets);

  std::string_view getName() const override { return "tcp"; }
  Status describeMismatch(int64_t ranks) const override {
    return makeMismatch(ranks, fmt::format("dist-run --nproc={}", ranks));
  }
  int getProcess() const override { return process; }
  int getNumProcesses() const override { return static_cast<int>(peers.size()); }
  int getNumLocal() const override { return numLocal; }
  int getTag(uint64_t number) const override { return static_cast<int>(number & INT32_MAX); }
  Status post(processes::Message &message, int tag) override;
  Result<bool> test(processes::Message &message) override;
  Result<std::optional<int>> probe(int peer) override;
  void sleep(processes::Patience::Clock::duration pause) override;
  void abandon() override;
  void finalize() override;

private:
  /// Precedes a message's bytes.
  struct Header {
    uint64_t size = 0;
    uint32_t tag = 0, reserved = 0;
  };
  /// Messages in the order in which they were posted. They hold together by themselves.
  struct List {
    processes::Message *first = nullptr, *last = nullptr;

    void push(processes::Message &message);
    void pop() { first = first->next; }
  };
  struct Peer {
    processes::Socket socket;
    List sends, receives;
    /// The incoming message, as far as it has arrived.
    Header incoming;
    uint64_t incomingBytes = 0;
    bool hasIncoming() const { return incomingBytes == sizeof(Header); }
  };
  Status moveAll();
  Status send(Peer &peer);
  Status receive(Peer &peer);
  Status receiveHeader(Peer &peer);
  Status checkIncoming(const Peer &peer) const;
  Status makeError(const char *what, const Peer &peer) const;
  /// Moves bytes of a part at `offset` of a message; false where the connection has no room, or nothing, now.
  Result<bool> transfer(Peer &peer, bool isSend, std::byte *bytes, uint64_t size, uint64_t &moved);

  int process, numLocal;
  std::mutex mutex;
  std::vector<Peer> peers;
  bool isAbandoned = false;
  /// For `sleep`, of the thread that sleeps.
  std::mutex sleepMutex;
  std::vector<pollfd> watched;
};

} // namespace meshwright::runtime::tcp

#endif
