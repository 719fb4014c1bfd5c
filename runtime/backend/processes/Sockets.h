//===- Sockets.h - connections between processes ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A connection ends when its process does: the system says so at once, on whatever host.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_SOCKETS_H
#define MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_SOCKETS_H

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

/// Where a process listens, and what it wants to hear.
struct Address {
  /// Of the network that the process sees: the loopback of another one leads nowhere.
  std::string host;
  std::string token;
  uint16_t port = 0;
  /// Numeric.
  std::vector<std::string> addresses;

  /// Takes a token that both sides know already.
  void setToken(const std::string &text);
  std::string pack() const;
  static Address unpack(std::string_view bytes);
};

/// Listens at `port`, or where the system likes if it is 0; fills `address` in, with a token that nobody can guess.
Result<Socket> listenForProcesses(Address &address, uint16_t port = 0);
/// Takes connections until the processes `first` to `last` are there: at their numbers.
Result<std::vector<Socket>> acceptProcesses(const Socket &listener, const Address &address, int first, int last);
/// Connects process `process` with `other`, which listens there. Where that one may not have begun to listen,
/// `isEarly`, it is given time to.
Result<Socket> connectToProcess(const Address &address, int process, int other, bool isEarly = false);

/// A message: its kind and its bytes.
struct Frame {
  uint32_t kind = 0;
  std::string bytes;
};

/// Frames over a socket. Never waits.
class Connection {
public:
  explicit Connection(Socket socket) : socket(std::move(socket)) {}
  int get() const { return socket.get(); }
  bool isOpen() const { return socket.isOpen(); }
  /// A frame that does not fit into the system's buffers ends the connection: who is there has not read for long.
  void send(const Frame &frame);
  /// Calls `fn` for all frames that are there. False at the end of the connection, which it closes.
  bool receive(const std::function<void(const Frame &)> &fn);

private:
  Socket socket;
  std::string inbox;
};

} // namespace meshwright::runtime::processes

#endif
