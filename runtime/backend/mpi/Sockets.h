//===- Sockets.h - connections beside MPI -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connections of every process with the first one, over which short frames go. Unlike MPI a connection ends when its
// process does: the system says so at once, on whatever host.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_MPI_SOCKETS_H
#define MESHWRIGHT_RUNTIME_BACKEND_MPI_SOCKETS_H

#include "meshwright/runtime/Status.h"
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::runtime::mpi {

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

/// Where the first process is to be found, and what it wants to hear.
struct Address {
  /// Of the network that the process sees: the loopback of another one leads nowhere.
  std::string host;
  std::string token;
  uint16_t port = 0;
  /// Numeric.
  std::vector<std::string> addresses;

  std::string pack() const;
  static Address unpack(std::string_view bytes);
};

/// Listens for connections from `address`, which is filled in.
Result<Socket> listenForProcesses(Address &address);
/// Takes connections until the processes 1 to `count` are there: in their order, at their number.
Result<std::vector<Socket>> acceptProcesses(const Socket &listener, const Address &address, int count);
Result<Socket> connectToFirst(const Address &address, int process);

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

} // namespace meshwright::runtime::mpi

#endif
