//===- Sockets.cpp - connections between processes ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that the runtime asks of the system about networks: addresses, listening, and connections with framed
// messages. Errors name the address.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Sockets.h"
#include "meshwright/runtime/EscapeText.h"
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fmt/ranges.h>
#include <fstream>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

void Socket::close() {
  if (descriptor >= 0)
    ::close(std::exchange(descriptor, -1));
}

static std::string getErrorText() { return std::strerror(errno); }

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

std::string processes::getHostIdentity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char network[64] = {};
  if (readlink("/proc/self/ns/net", network, sizeof(network) - 1) < 0)
    network[0] = 0;
  return boot + network;
}

Status processes::fillRandom(void *bytes, size_t size) {
  if (getrandom(bytes, size, 0) != static_cast<ssize_t>(size))
    return faultError("the system gives no random numbers: {}", getErrorText());
  return {};
}

/// Numeric; empty where it cannot be written.
static std::string toText(const sockaddr *address, socklen_t size, std::string *port = nullptr) {
  char host[NI_MAXHOST], service[NI_MAXSERV];
  if (getnameinfo(address, size, host, sizeof(host), service, sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "";
  if (port)
    *port = service;
  return host;
}

static std::vector<std::string> getInterfaces(bool ofLoopback) {
  std::vector<std::string> addresses;
  ifaddrs *list = nullptr;
  if (getifaddrs(&list) != 0)
    return addresses;
  for (ifaddrs *entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) || bool(entry->ifa_flags & IFF_LOOPBACK) != ofLoopback)
      continue;
    int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6)
      continue;
    std::string text = toText(entry->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (!text.empty() && text.find('%') == std::string::npos) // of one link alone
      addresses.push_back(text);
  }
  freeifaddrs(list);
  return addresses;
}

std::vector<std::string> processes::getOwnAddresses() { return getInterfaces(/*ofLoopback=*/false); }

bool processes::isLoopback(const std::string &address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

std::string Address::pack() const {
  std::string bytes = fmt::format("{}\n{}\n", host, port) + nonce;
  for (const std::string &address : addresses)
    bytes += address + "\n";
  return bytes;
}

Result<Address> Address::unpack(std::string_view bytes) {
  constexpr size_t kMostAddresses = 64;
  auto takeLine = [&] {
    size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string line(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    return line;
  };
  Address address;
  address.host = takeLine();
  std::string port = takeLine();
  auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || bytes.size() < kNonceBytes)
    return faultError("a process says something else than its address");
  address.nonce = bytes.substr(0, kNonceBytes);
  bytes.remove_prefix(kNonceBytes);
  while (!bytes.empty() && address.addresses.size() != kMostAddresses)
    address.addresses.push_back(escapeText(takeLine()));
  return address;
}

//===----------------------------------------------------------------------===//
// Listening
//===----------------------------------------------------------------------===//

namespace {

struct FreeAddresses {
  void operator()(addrinfo *list) const { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, FreeAddresses>;

AddressList lookUp(const std::string &host, uint16_t port, int flags) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_flags = flags | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  return AddressList(getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) == 0 ? found : nullptr);
}

Socket listenAtOne(const std::string &address, uint16_t port) {
  AddressList found = lookUp(address, port, AI_NUMERICHOST);
  if (!found)
    return {};
  Socket socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (found->ai_family == AF_INET6)
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  bool isBound = socket.isOpen() && bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                 listen(socket.get(), SOMAXCONN) == 0;
  return isBound ? std::move(socket) : Socket();
}

uint16_t getPort(const Socket &socket) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  getsockname(socket.get(), reinterpret_cast<sockaddr *>(&bound), &length);
  // The port is in the same place in both families.
  return ntohs(reinterpret_cast<sockaddr_in *>(&bound)->sin_port);
}

} // namespace

Result<Listener> processes::listenAt(const std::vector<std::string> &addresses, uint16_t port) {
  // A port that the system chooses for one address may be taken at another.
  for (int attempt = port == 0 ? 16 : 1;; --attempt) {
    Listener listener{{}, port};
    std::string failed;
    for (const std::string &address : addresses) {
      Socket socket = listenAtOne(address, listener.port);
      if (!socket.isOpen()) {
        failed = fmt::format("{}{}: {}", address, port == 0 ? "" : fmt::format(", port {}", port), getErrorText());
        break;
      }
      listener.port = getPort(socket);
      listener.sockets.push_back(std::move(socket));
    }
    if (failed.empty() && !listener.sockets.empty())
      return listener;
    if (attempt == 1)
      return faultError("a process cannot listen for others at {}", failed.empty() ? "no address" : failed);
  }
}

Result<std::vector<std::string>> processes::resolveOwnAddresses(const std::string &host) {
  std::vector<std::string> own = getInterfaces(false), loopback = getInterfaces(true), found, others;
  AddressList list = lookUp(host, 0, 0);
  for (addrinfo *entry = list.get(); entry; entry = entry->ai_next) {
    std::string address = toText(entry->ai_addr, entry->ai_addrlen);
    bool isOwn = isLoopback(address) || std::find(own.begin(), own.end(), address) != own.end();
    std::vector<std::string> &addresses = isOwn ? found : others;
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  }
  if (found.empty())
    return usageError(
        "{} is to be the host of the first process, but {}; the rendezvous is an address or a name of host 0", host,
        others.empty() ? "there is no host of that name"
                       : fmt::format("{} is no address of this host, which has {}", fmt::join(others, ", "),
                                     fmt::join(own, ", ")));
  bool isName = !lookUp(host, 0, AI_NUMERICHOST) && host != "localhost";
  if (isName && std::all_of(found.begin(), found.end(), isLoopback))
    found.insert(found.end(), own.begin(), own.end());
  return found;
}

std::string processes::getLocalAddress(const Socket &socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(socket.get(), reinterpret_cast<sockaddr *>(&address), &size);
  return toText(reinterpret_cast<sockaddr *>(&address), size);
}

std::string processes::getRemoteAddress(const Socket &socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  std::string port;
  getpeername(socket.get(), reinterpret_cast<sockaddr *>(&address), &size);
  std::string text = toText(reinterpret_cast<sockaddr *>(&address), size, &port);
  return fmt::format("{}, port {}", text, port);
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

void Connection::send(const Frame &frame) {
  if (!isOpen())
    return;
  std::string bytes = frame.pack();
  ssize_t sent = ::send(get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // The end of the connection is noticed by who reads from it.
  if (sent != static_cast<ssize_t>(bytes.size()))
    shutdown(get(), SHUT_WR);
}

Result<bool> Connection::receive(const std::function<void(const Frame &)> &fn) {
  char buffer[4096];
  while (true) {
    ssize_t count = recv(get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (count > 0) {
      if (Status status = inbox.take({buffer, static_cast<size_t>(count)}, fn); !status.ok()) {
        socket.close();
        return status;
      }
      continue;
    }
    bool isAtEnd = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    if (isAtEnd)
      socket.close();
    return !isAtEnd;
  }
}
