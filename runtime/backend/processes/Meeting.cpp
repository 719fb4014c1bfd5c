//===- Meeting.cpp - connections that are greeted -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sockets for the greetings of Greeting.h. The listener serves all connections that have not been greeted at once by
// poll, so that a silent stranger delays no process of the run; the connector tries the addresses of a host in turn
// until the time is over.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Meeting.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/ranges.h>
#include <list>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

using Clock = std::chrono::steady_clock;

/// So many connections may be without a greeting at a time; then the oldest makes room.
static constexpr size_t kMostPending = 256;

Result<Hello> Party::makeHello() const {
  Hello hello;
  hello.purpose = purpose;
  hello.process = static_cast<uint32_t>(process);
  hello.processes = static_cast<uint32_t>(numProcesses);
  MW_TRY(fillRandom(hello.nonce.data(), hello.nonce.size()));
  return hello;
}

/// The end of a host is noticed after some seconds, that of a process at once.
static void configure(const Socket &socket) {
  int on = 1, seconds = 2, times = 5;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

static int getMilliseconds(Clock::time_point end) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

/// Sends a message of a greeting, which is shorter than any buffer of the system.
static bool sendAll(const Socket &socket, std::string_view bytes) {
  return bytes.empty() || ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                              static_cast<ssize_t>(bytes.size());
}

namespace {

enum class Progress { Waits, Ends };

/// Reads what is there, no more than the greeting wants, and answers. Ends with the greeting, or with the connection.
Progress advance(const Socket &socket, Greeting &greeting) {
  char buffer[128];
  while (greeting.getState() == Greeting::State::Reading) {
    ssize_t count = recv(socket.get(), buffer, std::min(sizeof(buffer), greeting.getMissing()), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return Progress::Waits;
    if (count <= 0 || !sendAll(socket, greeting.take({buffer, static_cast<size_t>(count)})))
      return Progress::Ends;
  }
  return Progress::Ends;
}

//===----------------------------------------------------------------------===//
// Accepting
//===----------------------------------------------------------------------===//

class Acceptor {
public:
  Acceptor(const Listener &listener, const Party &party, int first, int last)
      : listener(listener), party(party), first(first), last(last), missing(last - first + 1), greeted(last + 1) {}

  Result<std::vector<Greeted>> run() {
    Clock::time_point end = Clock::now() + party.deadlines.meeting;
    while (missing > 0) {
      if (Clock::now() >= end)
        return describeAbsence();
      wait(end);
      for (size_t i = 0; i != listener.sockets.size(); ++i)
        if (wanted[i].revents != 0)
          MW_TRY(acceptAll(listener.sockets[i]));
      advanceAll();
    }
    return std::move(greeted);
  }

private:
  struct Pending {
    Socket socket;
    ListenerGreeting greeting;
    Clock::time_point end;
  };

  void wait(Clock::time_point end) {
    wanted.clear();
    for (const Socket &socket : listener.sockets)
      wanted.push_back({socket.get(), POLLIN, 0});
    for (const Pending &one : pending) {
      wanted.push_back({one.socket.get(), POLLIN, 0});
      end = std::min(end, one.end);
    }
    poll(wanted.data(), wanted.size(), getMilliseconds(end));
  }

  Status acceptAll(const Socket &from) {
    while (true) {
      Socket socket(accept4(from.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      // Where the process has no descriptor left, the oldest stranger makes room for the next one.
      if (!socket.isOpen() && (errno == EMFILE || errno == ENFILE) && !pending.empty()) {
        pending.pop_front();
        continue;
      }
      if (!socket.isOpen())
        return {};
      if (pending.size() == kMostPending)
        pending.pop_front();
      MW_TRY_ASSIGN(Hello hello, party.makeHello());
      ListenerGreeting greeting(party.key, hello, [this](uint32_t process) { return isWanted(process); });
      pending.push_back({std::move(socket), std::move(greeting), Clock::now() + party.deadlines.greeting});
    }
  }

  bool isWanted(uint32_t process) const {
    return process >= static_cast<uint32_t>(first) && process <= static_cast<uint32_t>(last) &&
           !greeted[process].socket.isOpen();
  }

  void advanceAll() {
    for (auto at = pending.begin(); at != pending.end();) {
      Progress progress = advance(at->socket, at->greeting);
      if (progress == Progress::Waits && Clock::now() < at->end) {
        ++at;
        continue;
      }
      finish(*at);
      at = pending.erase(at);
    }
  }

  void finish(Pending &one) {
    if (one.greeting.getState() == Greeting::State::Accepted) {
      configure(one.socket);
      greeted[one.greeting.getOther().process] = {std::move(one.socket), one.greeting.getSessionKey()};
      --missing;
      return;
    }
    ++refused;
    const Status &refusal = one.greeting.getRefusal();
    lastRefused = fmt::format("{}: {}", getRemoteAddress(one.socket),
                              refusal.ok() ? "it does not greet as a process does" : refusal.message());
  }

  Status describeAbsence() const {
    int absent = first;
    while (greeted[absent].socket.isOpen())
      ++absent;
    std::string strangers;
    if (refused != 0)
      strangers = fmt::format("; {} connections were refused, the last one of {}", refused, lastRefused);
    return faultError("{} of {} processes did not connect to process {} within {} s; process {} is the first of them{}",
                      missing, last + 1, first - 1, std::chrono::duration<double>(party.deadlines.meeting).count(),
                      absent, strangers);
  }

  const Listener &listener;
  const Party &party;
  int first, last, missing;
  std::vector<Greeted> greeted;
  std::list<Pending> pending;
  std::vector<pollfd> wanted;
  size_t refused = 0;
  std::string lastRefused;
};

} // namespace

Result<std::vector<Greeted>> processes::acceptProcesses(const Listener &listener, const Party &party, int first,
                                                        int last) {
  return Acceptor(listener, party, first, last).run();
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

static bool waitFor(const Socket &socket, short events, Clock::time_point end) {
  while (true) {
    pollfd wanted{socket.get(), events, 0};
    int count = poll(&wanted, 1, getMilliseconds(end));
    if (count >= 0 || errno != EINTR)
      return count > 0;
  }
}

/// A connection to one of the addresses that the host has; why there is none is in errno.
static Socket openConnection(const std::string &host, uint16_t port, Clock::time_point end) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_flags = AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  errno = EADDRNOTAVAIL;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return {};
  Socket opened;
  for (addrinfo *entry = found; entry && !opened.isOpen(); entry = entry->ai_next) {
    Socket socket(::socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    bool isConnected = socket.isOpen() && (connect(socket.get(), entry->ai_addr, entry->ai_addrlen) == 0 ||
                                           (errno == EINPROGRESS && waitFor(socket, POLLOUT, end)));
    int error = isConnected ? 0 : errno;
    socklen_t length = sizeof(error);
    if (isConnected && getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0)
      opened = std::move(socket);
    errno = error;
  }
  freeaddrinfo(found);
  return opened;
}

/// Greets over a connection. A refusal by the other side is an error of usage; a connection that ends, or stays silent,
/// may be that of another program that is about to exit.
static Status greet(const Socket &socket, ConnectorGreeting &greeting, Clock::time_point end) {
  if (!sendAll(socket, greeting.begin()))
    return faultError("the connection ended: {}", std::strerror(errno));
  while (advance(socket, greeting) == Progress::Waits)
    if (!waitFor(socket, POLLIN, end))
      return faultError("it does not answer");
  if (greeting.getState() == Greeting::State::Reading)
    return faultError("it ends the connection");
  return greeting.getRefusal();
}

/// Where the other one may be reached from here: the loopback is that of this host alone.
static std::vector<std::string> getPlaces(const Address &address) {
  std::vector<std::string> places = address.addresses;
  if (!address.host.empty() && address.host != getHostIdentity())
    std::erase_if(places, isLoopback);
  return places;
}

Result<Greeted> processes::connectToProcess(const Address &address, const Party &party, int other, bool isEarly) {
  std::vector<std::string> places = getPlaces(address);
  std::string reason = "it has no address";
  Clock::time_point end = Clock::now() + party.deadlines.meeting;
  while (true) {
    for (const std::string &place : places) {
      Clock::time_point soon = std::min(end, Clock::now() + party.deadlines.greeting);
      Socket socket = openConnection(place, address.port, soon);
      if (!socket.isOpen()) {
        reason = std::strerror(errno);
        continue;
      }
      MW_TRY_ASSIGN(Hello hello, party.makeHello());
      ConnectorGreeting greeting(party.key, hello, static_cast<uint32_t>(other));
      // The other process may be busy with those that it connects to itself.
      Status status = greet(socket, greeting, end);
      if (status.ok()) {
        configure(socket);
        return Greeted{std::move(socket), greeting.getSessionKey()};
      }
      if (status.code() == Code::Usage)
        return status;
      reason = status.message();
    }
    if (!isEarly || Clock::now() >= end)
      return faultError("process {} cannot reach process {} at {}, port {}: {}", party.process, other,
                        fmt::join(places, ", "), address.port, reason);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}
