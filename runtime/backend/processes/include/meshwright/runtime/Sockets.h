//===- Sockets.h - connections between processes ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A connection ends when its process does: the system says so at once, on whatever host.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SOCKETS_H
#define MESHWRIGHT_RUNTIME_SOCKETS_H

#include "meshwright/runtime/Frames.h"
#include "meshwright/runtime/Status.h"
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::runtime::processes {

/// A file descriptor that is closed with its owner.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket() { close(); }
  void close();
  int get() const { return descriptor; }
  bool isOpen() const { return descriptor >= 0; }

private:
  int descriptor = -1;
};

inline constexpr size_t kNonceBytes = 32;

/// Where a process listens.
struct Address {
  /// Identifies the network that the process sees: the loopback of another one leads nowhere.
  std::string host;
  /// Random numbers, which make a list of addresses one of this run alone.
  std::string nonce = std::string(kNonceBytes, '\0');
  uint16_t port = 0;
  /// Numeric, in the order in which they are tried.
  std::vector<std::string> addresses;

  std::string pack() const;
  static Result<Address> unpack(std::string_view bytes);
};

/// The same text for processes that see the same loopback.
std::string getHostIdentity();
/// The addresses of this host's interfaces, numeric, without those of the loopback.
std::vector<std::string> getOwnAddresses();
bool isLoopback(const std::string &address);
inline constexpr const char *kLoopback = "127.0.0.1";
/// Numbers that strangers cannot guess.
Status fillRandom(void *bytes, size_t size);

/// Sockets that listen at one port of several addresses.
struct Listener {
  std::vector<Socket> sockets;
  uint16_t port = 0;
};

/// Listens at those addresses alone, at `port`, or at one that the system chooses if it is 0.
Result<Listener> listenAt(const std::vector<std::string> &addresses, uint16_t port = 0);
/// Where the first process listens, for others to find it at `host`: the addresses of this host that the name stands
/// for. Debian gives a host's own name to its loopback; then they are the addresses of its interfaces, and the
/// loopback.
Result<std::vector<std::string>> resolveOwnAddresses(const std::string &host);
/// The address of this host that a connection goes from.
std::string getLocalAddress(const Socket &socket);
/// The address that it leads to, with its port.
std::string getRemoteAddress(const Socket &socket);

/// Frames over a socket. Never waits.
class Connection {
public:
  explicit Connection(Socket socket) : socket(std::move(socket)) {}
  int get() const { return socket.get(); }
  bool isOpen() const { return socket.isOpen(); }
  /// A frame that does not fit into the system's buffers ends the connection: who is there has not read for long.
  void send(const Frame &frame);
  /// Calls `fn` for all frames that are there. False at the end of the connection, which it closes; an error where what
  /// comes are no frames, which closes it too.
  Result<bool> receive(const std::function<void(const Frame &)> &fn);

private:
  Socket socket;
  FrameReader inbox;
};

} // namespace meshwright::runtime::processes

#endif
