//===- Sockets.cpp - connections between processes ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sockets.h"
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/ranges.h>
#include <fstream>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

using Clock = std::chrono::steady_clock;
/// All processes have been started when the first connects.
static constexpr std::chrono::seconds setupTime(30);

void Socket::close() {
  if (descriptor >= 0)
    ::close(std::exchange(descriptor, -1));
}

static std::string getErrorText() { return std::strerror(errno); }

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static constexpr size_t tokenBytes = 16;

/// The same for processes that see the same loopback.
static std::string getHost() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char network[64] = {};
  if (readlink("/proc/self/ns/net", network, sizeof(network) - 1) < 0)
    network[0] = 0;
  return boot + network;
}

static std::vector<std::string> getAddresses() {
  std::vector<std::string> addresses;
  ifaddrs *list = nullptr;
  if (getifaddrs(&list) != 0)
    return addresses;
  for (ifaddrs *entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) || (entry->ifa_flags & IFF_LOOPBACK))
      continue;
    int family = entry->ifa_addr->sa_family;
    char text[NI_MAXHOST];
    if ((family == AF_INET || family == AF_INET6) &&
        getnameinfo(entry->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6), text, sizeof(text),
                    nullptr, 0, NI_NUMERICHOST) == 0 &&
        !std::strchr(text, '%')) // of one link alone
      addresses.push_back(text);
  }
  freeifaddrs(list);
  return addresses;
}

void Address::setToken(const std::string &text) {
  token = text;
  token.resize(tokenBytes);
}

std::string Address::pack() const {
  std::string bytes = fmt::format("{}\n{}\n", host, port) + token;
  for (const std::string &address : addresses)
    bytes += address + "\n";
  return bytes;
}

Address Address::unpack(std::string_view bytes) {
  auto takeLine = [&] {
    size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string line(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    return line;
  };
  Address address;
  address.host = takeLine();
  address.port = static_cast<uint16_t>(std::strtoul(takeLine().c_str(), nullptr, 10));
  address.token = bytes.substr(0, tokenBytes);
  bytes.remove_prefix(std::min(tokenBytes, bytes.size()));
  while (!bytes.empty())
    address.addresses.push_back(takeLine());
  return address;
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

static bool waitFor(int descriptor, short events, Clock::time_point end) {
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd wanted{descriptor, events, 0};
    int count = poll(&wanted, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (count >= 0 || errno != EINTR)
      return count > 0;
  }
}

/// The end of a host is noticed after some seconds, that of a process at once.
static void configure(int descriptor) {
  int on = 1, seconds = 2, times = 5;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

Result<Socket> processes::listenForProcesses(Address &address, uint16_t port) {
  // Both families where there are both.
  Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(port);
  sockaddr_in anyOld = {};
  anyOld.sin_family = AF_INET;
  anyOld.sin_port = htons(port);
  int off = 0, on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  bool isBound = socket.isOpen() && setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
                 bind(socket.get(), reinterpret_cast<sockaddr *>(&any), sizeof(any)) == 0;
  if (!isBound) {
    socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    isBound = socket.isOpen() && bind(socket.get(), reinterpret_cast<sockaddr *>(&anyOld), sizeof(anyOld)) == 0;
  }
  if (!isBound || listen(socket.get(), SOMAXCONN) != 0)
    return faultError("a process cannot listen for others{}: {}", port == 0 ? "" : fmt::format(" at port {}", port),
                      getErrorText());
  sockaddr_storage bound;
  socklen_t length = sizeof(bound);
  getsockname(socket.get(), reinterpret_cast<sockaddr *>(&bound), &length);
  // The port is in the same place in both.
  address.port = ntohs(reinterpret_cast<sockaddr_in *>(&bound)->sin_port);
  address.host = getHost();
  address.addresses = getAddresses();
  address.token.resize(tokenBytes);
  if (getrandom(address.token.data(), tokenBytes, 0) != static_cast<ssize_t>(tokenBytes))
    return faultError("the system gives no random numbers: {}", getErrorText());
  return socket;
}

/// Reads what a process says first: the token and its number.
static int readGreeting(int descriptor, const Address &address, Clock::time_point end) {
  char greeting[tokenBytes + sizeof(uint32_t)];
  for (size_t have = 0; have != sizeof(greeting);) {
    if (!waitFor(descriptor, POLLIN, end))
      return -1;
    ssize_t count = recv(descriptor, greeting + have, sizeof(greeting) - have, 0);
    if (count <= 0)
      return -1;
    have += count;
  }
  uint32_t process;
  std::memcpy(&process, greeting + tokenBytes, sizeof(process));
  return std::memcmp(greeting, address.token.data(), tokenBytes) == 0 ? static_cast<int>(process) : -1;
}

Result<std::vector<Socket>> processes::acceptProcesses(const Socket &listener, const Address &address, int first,
                                                       int last) {
  std::vector<Socket> processes(last + 1);
  Clock::time_point end = Clock::now() + setupTime;
  for (int missing = last - first + 1; missing > 0;) {
    if (!waitFor(listener.get(), POLLIN, end)) {
      int absent = first;
      while (processes[absent].isOpen())
        ++absent;
      return faultError("{} of {} processes did not connect to process {} within {} s; process {} is the first of them",
                        missing, last + 1, first - 1, setupTime.count(), absent);
    }
    Socket socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.isOpen())
      continue;
    // Whoever else knocks at the port is not let in, and does not keep others waiting.
    int process = readGreeting(socket.get(), address, std::min(end, Clock::now() + std::chrono::seconds(2)));
    if (process < first || process > last || processes[process].isOpen())
      continue;
    configure(socket.get());
    processes[process] = std::move(socket);
    --missing;
  }
  return processes;
}

static Socket tryToConnect(const std::string &address, uint16_t port, Clock::time_point end) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_flags = AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return {};
  Socket socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  bool isConnected = socket.isOpen() && (connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0 ||
                                         (errno == EINPROGRESS && waitFor(socket.get(), POLLOUT, end)));
  freeaddrinfo(found);
  socklen_t length = sizeof(errno);
  int error = 0;
  if (isConnected && getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0)
    return socket;
  errno = error != 0 ? error : errno;
  return {};
}

Result<Socket> processes::connectToProcess(const Address &address, int process, int other, bool isEarly) {
  std::vector<std::string> places = address.addresses;
  if (address.host == getHost())
    places = {"127.0.0.1", "::1"};
  std::string reason = "it has no address";
  Clock::time_point end = Clock::now() + setupTime;
  for (size_t i = 0; i != places.size(); ++i) {
    Socket socket = tryToConnect(places[i], address.port, Clock::now() + setupTime / 6);
    if (!socket.isOpen()) {
      reason = getErrorText();
      if (isEarly && i + 1 == places.size() && Clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        i = -1;
      }
      continue;
    }
    std::string greeting = address.token;
    uint32_t number = static_cast<uint32_t>(process);
    greeting.append(reinterpret_cast<const char *>(&number), sizeof(number));
    if (::send(socket.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(greeting.size())) {
      configure(socket.get());
      return socket;
    }
  }
  return faultError("process {} cannot reach process {} at {}, port {}: {}", process, other, fmt::join(places, ", "),
                    address.port, reason);
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

/// Before the bytes of a frame.
struct Header {
  uint32_t kind, size;
};

void Connection::send(const Frame &frame) {
  if (!isOpen())
    return;
  Header header{frame.kind, static_cast<uint32_t>(frame.bytes.size())};
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  bytes += frame.bytes;
  ssize_t sent = ::send(get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // The end of the connection is noticed by who reads from it.
  if (sent != static_cast<ssize_t>(bytes.size()))
    shutdown(get(), SHUT_WR);
}

bool Connection::receive(const std::function<void(const Frame &)> &fn) {
  char buffer[4096];
  bool isAtEnd = false;
  while (true) {
    ssize_t count = recv(get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (count > 0) {
      inbox.append(buffer, count);
      continue;
    }
    isAtEnd = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    break;
  }
  Header header;
  size_t next = 0;
  while (inbox.size() - next >= sizeof(header)) {
    std::memcpy(&header, inbox.data() + next, sizeof(header));
    if (inbox.size() - next - sizeof(header) < header.size)
      break;
    fn({header.kind, inbox.substr(next + sizeof(header), header.size)});
    next += sizeof(header) + header.size;
  }
  inbox.erase(0, next);
  if (isAtEnd)
    socket.close();
  return !isAtEnd;
}
