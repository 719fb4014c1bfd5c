//===- GreetingTest.cpp - mutual authentication ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the authentication of two processes as functions of bytes. Every bit of every message is changed once, and every
// change has to be refused; frames and sizes of messages are bounded, and silent connections delay no other.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Greeting.h"
#include "meshwright/runtime/Frames.h"
#include "meshwright/runtime/Meeting.h"
#include <arpa/inet.h>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

namespace {

using State = Greeting::State;

const Digest kKey = makeKey("a secret of some length"), kOther = makeKey("another secret of some length");

Hello makeHello(uint32_t process, uint32_t processes = 4, Purpose purpose = Purpose::Lifeline) {
  Hello hello{Hello::kVersion, purpose, process, processes, {}};
  hello.nonce.fill(static_cast<unsigned char>(process + 1));
  return hello;
}

/// The messages of a greeting, in their order, the second and fourth by the listener. `change` may change any.
std::vector<std::string> greet(Greeting &listener, ConnectorGreeting &connector,
                               const std::function<void(int, std::string &)> &change = {}) {
  std::vector<std::string> messages;
  std::string bytes = connector.begin();
  while (!bytes.empty()) {
    if (change)
      change(static_cast<int>(messages.size()), bytes);
    messages.push_back(bytes);
    Greeting &reader = messages.size() % 2 == 1 ? listener : static_cast<Greeting &>(connector);
    if (reader.getState() != State::Reading)
      break;
    std::string_view left = bytes;
    std::string answer;
    while (!left.empty() && reader.getState() == State::Reading) {
      // In two pieces or more.
      size_t count = std::min({left.size(), reader.getMissing(), size_t(33)});
      answer += reader.take(left.substr(0, count));
      left.remove_prefix(count);
    }
    bytes = answer;
  }
  return messages;
}

struct Pair {
  ListenerGreeting listener;
  ConnectorGreeting connector;

  explicit Pair(const Hello &ofConnector = makeHello(2), const Hello &ofListener = makeHello(0),
                const Digest &key = kKey)
      : listener(kKey, ofListener, [](uint32_t process) { return process >= 1 && process <= 3; }),
        connector(key, ofConnector, 0) {}
  bool isAccepted() const { return listener.getState() == State::Accepted || connector.getState() == State::Accepted; }
};

// Tests that two processes with one key know each other, and have a key of their own afterwards.
TEST(Greeting, AcceptsWhoKnowsTheKey) {
  Pair pair;
  std::vector<std::string> messages = greet(pair.listener, pair.connector);
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(pair.listener.getState(), State::Accepted);
  EXPECT_EQ(pair.connector.getState(), State::Accepted);
  EXPECT_EQ(pair.listener.getOther().process, 2u);
  EXPECT_EQ(pair.listener.getSessionKey(), pair.connector.getSessionKey());
  for (const std::string &message : messages)
    EXPECT_EQ(message.find(std::string(toBytes(kKey))), std::string::npos);
}

// Tests that each difference is refused, with what it is.
TEST(Greeting, RefusesOthers) {
  auto refuse = [](Pair pair) {
    greet(pair.listener, pair.connector);
    EXPECT_EQ(pair.listener.getState(), State::Refused);
    EXPECT_EQ(pair.connector.getState(), State::Refused);
    return pair.connector.getRefusal().message();
  };
  EXPECT_EQ(
      refuse(Pair(makeHello(2), makeHello(0), kOther)),
      "process 0 has another token than this process; --token-file or MESHWRIGHT_TOKEN has to say the same on all "
      "hosts");
  EXPECT_EQ(refuse(Pair(makeHello(2, 5))), "process 0 is one of 4 processes, this process one of 5");
  for (uint32_t process : {0u, 4u, ~0u})
    EXPECT_EQ(refuse(Pair(makeHello(process))),
              "process 0 does not wait for a process " + std::to_string(process) + ": it has one, or wants none");
  EXPECT_EQ(refuse(Pair(makeHello(2, 4, Purpose::Data))), "process 0 wants another kind of connection");
  // Another process listens at the address.
  Pair misplaced(makeHello(2), makeHello(1));
  greet(misplaced.listener, misplaced.connector);
  EXPECT_EQ(misplaced.connector.getRefusal().message(),
            "the other side is process 1 of 4 where process 0 of 4 is wanted");
  Hello later = makeHello(2);
  later.version = 2;
  EXPECT_EQ(refuse(Pair(later)), "process 0 speaks version 1 of the greeting, this process version 2");
}

// Tests that no bit of any message can change on its way, and that nothing of an earlier greeting is of use.
TEST(Greeting, EveryBitCounts) {
  Pair good;
  std::vector<std::string> messages = greet(good.listener, good.connector);
  for (size_t number = 0; number != messages.size(); ++number)
    for (size_t bit = 0; bit != 8 * messages[number].size(); ++bit) {
      Pair pair;
      greet(pair.listener, pair.connector, [&](int at, std::string &bytes) {
        if (at == static_cast<int>(number))
          bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      });
      // The connector cannot take part in what happens to the last message, but does not use the connection.
      EXPECT_NE(pair.connector.getState(), State::Accepted) << number << ", " << bit;
      if (number != 3)
        EXPECT_NE(pair.listener.getState(), State::Accepted) << number << ", " << bit;
    }
  // A listener with another nonce.
  Hello listener = makeHello(0);
  listener.nonce.fill(99);
  Pair replayed(makeHello(2), listener);
  replayed.listener.take(messages[0]);
  replayed.listener.take(messages[2]);
  EXPECT_EQ(replayed.listener.getState(), State::Refused);
  // The connector's own proof, sent back to it.
  Pair mirrored;
  greet(mirrored.listener, mirrored.connector, [&](int at, std::string &bytes) {
    if (at == 3)
      bytes = std::string(4, '\0') + messages[2];
  });
  EXPECT_EQ(mirrored.connector.getRefusal().message(), "the other side does not know the token of this run");
}

// Tests that texts are taken from the other side alone, once, in their order.
TEST(Greeting, TextsAreSigned) {
  Digest session = {};
  SignedTexts first(session, true), second(session, false);
  auto getBody = [](const std::string &packed) { return packed.substr(SignedTexts::kHeaderBytes); };
  std::string packed = first.pack("where I listen");
  ASSERT_EQ(*SignedTexts::getBodyBytes(std::string_view(packed).substr(0, 8)), packed.size() - 8);
  SignedTexts other = second;
  EXPECT_EQ(*other.unpack(getBody(packed)), "where I listen");
  EXPECT_FALSE(other.unpack(getBody(packed)).ok()) << "a second time";
  for (size_t bit = 0; bit != 8 * getBody(packed).size(); ++bit) {
    std::string changed = getBody(packed);
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(SignedTexts(second).unpack(changed).ok()) << bit;
  }
  EXPECT_FALSE(SignedTexts(first).unpack(getBody(packed)).ok()) << "sent back";
  EXPECT_EQ(second.unpack("short").status().message(), "a text of another process was changed on its way");
  EXPECT_EQ(SignedTexts::getBodyBytes(std::string(8, '\xff')).status().message(),
            "a process says 18446744073709551615 bytes where its address is wanted");
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

std::string getError(uint32_t kind, const std::string &bytes) { return unpack({kind, bytes}, 3).status().message(); }

template <typename... Numbers> std::string toString(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char *>(&numbers), sizeof(numbers)), ...);
  return bytes;
}

// Tests that what is sent arrives, whatever pieces it comes in.
TEST(Frames, RoundTrip) {
  Activity activity{7, 2, true, "c_allreduce #7 (grad/w, model.mlir:88)"};
  std::string stream =
      pack(activity).pack() + pack(End{}).pack() + pack(Failure{faultError("rank 1 stopped"), 1, true, true}).pack();
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    std::vector<LifelineMessage> messages;
    FrameReader reader;
    for (size_t at = 0; at < stream.size(); at += piece)
      ASSERT_TRUE(reader
                      .take(std::string_view(stream).substr(at, piece),
                            [&](const Frame &frame) { messages.push_back(*unpack(frame, 3)); })
                      .ok());
    ASSERT_EQ(messages.size(), 3u) << piece;
    EXPECT_EQ(std::get<Activity>(messages[0]), activity);
    EXPECT_TRUE(std::holds_alternative<End>(messages[1]));
    const Failure &failure = std::get<Failure>(messages[2]);
    EXPECT_EQ(failure.status.message(), "rank 1 stopped");
    EXPECT_EQ(failure.status.code(), Code::Fault);
    EXPECT_EQ(failure.origin, 1);
    EXPECT_TRUE(failure.isSilent && failure.isEnd);
  }
}

// Tests that ranks, exit statuses, kinds and sizes out of their ranges are errors, and that texts are escaped.
TEST(Frames, EveryNumberIsChecked) {
  EXPECT_EQ(getError(3, ""), "a frame is of kind 3, which there is not");
  EXPECT_EQ(getError(0, "short"), "a frame of kind 0 has 5 bytes where 16 are wanted");
  EXPECT_EQ(getError(1, ""), "a frame of kind 1 has 0 bytes where 16 are wanted");
  for (int32_t waitsFor : {-2, 3, 100000000, INT32_MIN, INT32_MAX})
    EXPECT_EQ(getError(1, toString(uint64_t(1), waitsFor, 1)),
              "a frame says that it waits for process " + std::to_string(waitsFor) + " of 3");
  for (int32_t code : {0, -1, 5, 256})
    EXPECT_EQ(getError(0, toString(code, -1, 0, 0)),
              "a frame says that the run ends with " + std::to_string(code) + ", which no run does");
  EXPECT_EQ(getError(0, toString(4, 3, 0, 0)), "a frame says that the failure is of process 3 of 3");
  auto failure = std::get<Failure>(*unpack({0, toString(4, -1, 1, 1) + "\x1b[2J\n"}, 3));
  EXPECT_EQ(failure.status.message(), "\\x1b[2J\\x0a");
  EXPECT_FALSE(failure.isEnd) << "no process has ended";
}

TEST(Frames, SizesAreBounded) {
  FrameReader reader;
  int frames = 0;
  auto count = [&](const Frame &) { ++frames; };
  EXPECT_TRUE(reader.take(Frame{2, std::string(Frame::kMaxBytes, 'x')}.pack(), count).ok());
  EXPECT_EQ(frames, 1);
  EXPECT_EQ(reader.take(toString(2u, uint32_t(Frame::kMaxBytes + 1)), count).message(),
            "a frame of 32769 bytes is announced where 32768 are the most");
  // A text that is too long is cut before it is sent.
  Frame cut = pack(Failure{faultError("{}", std::string(100000, 'x'))});
  EXPECT_EQ(cut.bytes.size(), Frame::kMaxBytes);
}

//===----------------------------------------------------------------------===//
// Sockets
//===----------------------------------------------------------------------===//

Party makeParty(int process, const Digest &key = kKey) {
  using namespace std::chrono_literals;
  return {key, Purpose::Lifeline, process, 3, {2000ms, 500ms}};
}

Address makeAddress(const Listener &listener) {
  return {getHostIdentity(), Address().nonce, listener.port, {kLoopback}};
}

Socket knock(const Listener &listener) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(listener.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  return socket;
}

double getSeconds(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Tests that processes find each other beside silent strangers, and those that send something else, without waiting for
// them.
TEST(Meeting, StrangersDelayNothing) {
  Listener listener = std::move(*listenAt({kLoopback}));
  std::vector<Socket> strangers;
  for (int i = 0; i != 300; ++i)
    strangers.push_back(knock(listener));
  const std::string request = "GET / HTTP/1.1\r\nHost: there\r\nAccept: anything at all, thank you\r\n\r\n";
  ASSERT_EQ(send(strangers[250].get(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  auto begin = std::chrono::steady_clock::now();
  Result<Greeted> connected[3] = {faultError(""), faultError(""), faultError("")};
  std::vector<std::thread> others;
  for (int process : {2, 1})
    others.emplace_back(
        [&, process] { connected[process] = connectToProcess(makeAddress(listener), makeParty(process), 0); });
  auto accepted = acceptProcesses(listener, makeParty(0), 1, 2);
  for (std::thread &other : others)
    other.join();
  ASSERT_TRUE(accepted.ok()) << accepted.status().message();
  EXPECT_LT(getSeconds(begin), 1.9);
  for (int process : {1, 2}) {
    ASSERT_TRUE(connected[process].ok()) << connected[process].status().message();
    EXPECT_EQ((*accepted)[process].session, connected[process]->session);
  }
  EXPECT_FALSE((*accepted)[0].socket.isOpen());
}

// Tests what is said where a process stays away, and that another token is said on both sides.
TEST(Meeting, AbsenceAndOtherTokensAreSaid) {
  Listener listener = std::move(*listenAt({kLoopback}));
  Result<Greeted> connected = faultError("");
  std::thread other([&] { connected = connectToProcess(makeAddress(listener), makeParty(1, kOther), 0); });
  Party party = makeParty(0);
  party.deadlines.meeting = std::chrono::milliseconds(700);
  std::string message = acceptProcesses(listener, party, 1, 2).status().message();
  other.join();
  EXPECT_EQ(connected.status().message().find("process 0 has another token than this process"), 0u);
  EXPECT_EQ(
      message.find("2 of 3 processes did not connect to process 0 within 0.7 s; process 1 is the first of them; 1 "
                   "connections were refused, the last one of 127.0.0.1, port "),
      0u)
      << message;
  EXPECT_TRUE(message.ends_with(": it has another token")) << message;
}

// Tests that a connector says why it reached no process: nothing listens, or a listener is silent or ends.
TEST(Meeting, ListenersThatAreNoProcessAreSaid) {
  auto listener = std::make_unique<Listener>(std::move(*listenAt({kLoopback})));
  Address address = makeAddress(*listener);
  Party party = makeParty(1);
  party.deadlines = {std::chrono::milliseconds(300), std::chrono::milliseconds(300)};
  std::string where = "process 1 cannot reach process 0 at 127.0.0.1, port " + std::to_string(address.port) + ": ";
  auto getError = [&] { return connectToProcess(address, party, 0).status().message(); };
  // The system completes the connection; nothing reads from it.
  EXPECT_EQ(getError(), where + "it does not answer");
  std::atomic<bool> hasEnded = false;
  std::thread closer([&] {
    // Those that waited in vain come first.
    pollfd waiting = {listener->sockets[0].get(), POLLIN, 0};
    while (!hasEnded)
      if (poll(&waiting, 1, 10) > 0)
        Socket(accept(waiting.fd, nullptr, nullptr));
  });
  // The end of the connection comes by itself, whatever the load.
  Party patient = party;
  patient.deadlines = {std::chrono::seconds(10), std::chrono::seconds(10)};
  std::string ended = connectToProcess(address, patient, 0).status().message();
  hasEnded = true;
  closer.join();
  // With unread bytes the system resets a connection that is closed.
  EXPECT_TRUE(ended == where + "it ends the connection" || ended.starts_with(where + "the connection ended: "))
      << ended;
  listener.reset();
  EXPECT_EQ(getError(), where + "Connection refused");
}

// Tests that a listener is at the addresses that it is given and at no others.
TEST(Meeting, ListensAtItsAddressAlone) {
  Listener listener = std::move(*listenAt({kLoopback}));
  ASSERT_EQ(listener.sockets.size(), 1u);
  EXPECT_EQ(getLocalAddress(listener.sockets[0]), kLoopback);
  // The port is free at another address of the loopback.
  EXPECT_TRUE(listenAt({"127.0.0.2"}, listener.port).ok());
  EXPECT_EQ(*resolveOwnAddresses("127.0.0.1"), std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(resolveOwnAddresses("192.0.2.1")
                .status()
                .message()
                .find("192.0.2.1 is to be the host of the first process, but 192.0.2.1 is no address of this host"),
            0u);
  EXPECT_EQ(
      resolveOwnAddresses("nowhere.invalid").status().message(),
      "nowhere.invalid is to be the host of the first process, but there is no host of that name; the rendezvous is "
      "an address or a name of host 0");
}

TEST(Address, RoundTripAndDamage) {
  Address address{"boot:net", std::string(kNonceBytes, 'n'), 4711, {"10.0.0.1", "fd00::1"}};
  Address again = std::move(*Address::unpack(address.pack()));
  EXPECT_EQ(again.pack(), address.pack());
  for (const char *wrong : {"", "host\n", "host\n4711\nshort", "host\n70000\n", "host\n-1\n", "host\n1x\n"})
    EXPECT_EQ(Address::unpack(wrong).status().message(), "a process says something else than its address");
}

} // namespace
