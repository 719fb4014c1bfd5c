//===- Greeting.cpp - how processes prove that they belong together -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages of a greeting, packed and judged without any connection, so that tests can damage each of them. Both
// sides prove with HMACs over both sides' random bytes that they know the run's token, and no message reveals the
// token. After the greeting every text carries a proof over its direction and its number.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Greeting.h"
#include <cassert>
#include <cstring>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

static constexpr std::string_view kProtocol = "mw-greet";

template <typename T> static void append(std::string &bytes, T number) {
  for (size_t i = 0; i != sizeof(T); ++i)
    bytes += static_cast<char>(number >> (8 * i));
}

template <typename T> static T readNumber(std::string_view bytes) {
  T number = 0;
  for (size_t i = 0; i != sizeof(T); ++i)
    number |= T(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return number;
}

//===----------------------------------------------------------------------===//
// Hello
//===----------------------------------------------------------------------===//

std::string Hello::pack() const {
  std::string bytes(kProtocol);
  for (uint32_t number : {version, static_cast<uint32_t>(purpose), process, processes})
    append(bytes, number);
  return bytes.append(toBytes(nonce));
}

Result<Hello> Hello::unpack(std::string_view bytes) {
  if (bytes.size() != kBytes || !bytes.starts_with(kProtocol))
    return faultError("the other side is no process of a run");
  Hello hello;
  bytes.remove_prefix(kProtocol.size());
  hello.version = readNumber<uint32_t>(bytes);
  hello.purpose = static_cast<Purpose>(readNumber<uint32_t>(bytes.substr(4)));
  hello.process = readNumber<uint32_t>(bytes.substr(8));
  hello.processes = readNumber<uint32_t>(bytes.substr(12));
  std::memcpy(hello.nonce.data(), bytes.data() + 16, hello.nonce.size());
  return hello;
}

//===----------------------------------------------------------------------===//
// Both sides
//===----------------------------------------------------------------------===//

std::string Greeting::take(std::string_view bytes) {
  assert(state == State::Reading && bytes.size() <= getMissing());
  received += bytes;
  if (received.size() != wanted)
    return "";
  std::string message = std::move(received);
  received.clear();
  return handle(message);
}

std::string Greeting::refuse(Status why) {
  state = State::Refused;
  refusal = std::move(why);
  return "";
}

std::string Greeting::accept() {
  state = State::Accepted;
  session = prove("session");
  return "";
}

Digest Greeting::prove(std::string_view label, std::string_view more) const {
  return computeHmac(toBytes(key), fmt::format("meshwright {}\n", label).append(hellos).append(more));
}

Digest processes::makeKey(std::string_view token) { return computeHmac("meshwright token", token); }

//===----------------------------------------------------------------------===//
// ListenerGreeting
//===----------------------------------------------------------------------===//

Verdict ListenerGreeting::judge() const {
  if (other.version != mine.version)
    return Verdict::Version;
  if (other.purpose != mine.purpose)
    return Verdict::Purpose;
  if (other.processes != mine.processes)
    return Verdict::Processes;
  return isWanted(other.process) ? Verdict::GoOn : Verdict::Process;
}

std::string ListenerGreeting::answer(Verdict verdict, std::string_view rest) {
  if (verdict != Verdict::GoOn)
    refuse(faultError("{}", verdict == Verdict::Token ? "it has another token" : "it is of another run"));
  std::string bytes;
  append(bytes, static_cast<uint32_t>(verdict));
  return bytes.append(rest);
}

std::string ListenerGreeting::handle(std::string_view message) {
  if (!isChallenged) {
    Result<Hello> hello = Hello::unpack(message);
    if (!hello.ok())
      return refuse(hello.status());
    other = *hello;
    hellos = other.pack() + mine.pack();
    isChallenged = true;
    wanted = sizeof(Digest);
    return answer(judge(), mine.pack());
  }
  std::string proof(sizeof(Digest), '\0');
  Verdict verdict = !areEqualInConstantTime(message, toBytes(prove("connector"))) ? Verdict::Token : judge();
  if (verdict == Verdict::GoOn) {
    proof = toBytes(prove("listener", message));
    accept();
  }
  return answer(verdict, proof);
}

//===----------------------------------------------------------------------===//
// ConnectorGreeting
//===----------------------------------------------------------------------===//

Status ConnectorGreeting::explain(Verdict verdict) const {
  switch (verdict) {
  case Verdict::Version:
    return usageError("process {} speaks version {} of the greeting, this process version {}", listener, other.version,
                      mine.version);
  case Verdict::Processes:
    return usageError("process {} is one of {} processes, this process one of {}", listener, other.processes,
                      mine.processes);
  case Verdict::Process:
    return usageError("process {} does not wait for a process {}: it has one, or wants none", listener, mine.process);
  case Verdict::Token:
    return usageError("process {} has another token than this process; --token-file or MESHWRIGHT_TOKEN has to say the "
                      "same on all hosts",
                      listener);
  default:
    return usageError("process {} wants another kind of connection", listener);
  }
}

std::string ConnectorGreeting::handle(std::string_view message) {
  auto verdict = static_cast<Verdict>(readNumber<uint32_t>(message));
  message.remove_prefix(sizeof(uint32_t));
  if (proof.empty())
    return handleChallenge(message, verdict);
  if (verdict != Verdict::GoOn)
    return refuse(explain(verdict));
  if (!areEqualInConstantTime(message, toBytes(prove("listener", proof))))
    return refuse(faultError("the other side does not know the token of this run"));
  return accept();
}

std::string ConnectorGreeting::handleChallenge(std::string_view message, Verdict verdict) {
  Result<Hello> hello = Hello::unpack(message);
  if (!hello.ok())
    return refuse(hello.status());
  other = *hello;
  if (verdict != Verdict::GoOn)
    return refuse(explain(verdict));
  if (other.version != mine.version || other.purpose != mine.purpose || other.process != listener ||
      other.processes != mine.processes)
    return refuse(faultError("the other side is process {} of {} where process {} of {} is wanted", other.process,
                             other.processes, listener, mine.processes));
  hellos = mine.pack() + other.pack();
  wanted = sizeof(uint32_t) + sizeof(Digest);
  return proof = toBytes(prove("connector"));
}

//===----------------------------------------------------------------------===//
// SignedTexts
//===----------------------------------------------------------------------===//

Digest SignedTexts::prove(std::string_view text, bool isListeners, uint64_t number) const {
  std::string bytes = isListeners ? "meshwright text of the listener\n" : "meshwright text of the connector\n";
  append(bytes, number);
  return computeHmac(toBytes(session), bytes.append(text));
}

std::string SignedTexts::pack(std::string_view text) {
  std::string bytes;
  append(bytes, uint64_t(text.size()));
  return bytes.append(text).append(toBytes(prove(text, isListener, sent++)));
}

Result<size_t> SignedTexts::getBodyBytes(std::string_view header) {
  auto size = readNumber<uint64_t>(header);
  if (size > kMaxBytes)
    return faultError("a process says {} bytes where its address is wanted", size);
  return static_cast<size_t>(size) + kProofBytes;
}

Result<std::string> SignedTexts::unpack(std::string_view body) {
  std::string_view text = body.substr(0, body.size() - std::min(body.size(), kProofBytes));
  if (!areEqualInConstantTime(body.substr(text.size()), toBytes(prove(text, !isListener, taken++))))
    return faultError("a text of another process was changed on its way");
  return std::string(text);
}
