//===- Greeting.h - how processes prove that they belong together -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before a connection between two processes is used, each proves to the other that it knows the key, without sending
// it:
//
//   connector                                                listener
//     hello      version, purpose, process, processes, nonce    ──▸
//     ◂──   verdict, hello of the listener                       challenge
//     proof      HMAC(key, "connector", both hellos)             ──▸
//     ◂──   verdict, HMAC(key, "listener", both hellos, proof)   welcome
//
// Both nonces are random, so nothing of an earlier greeting is of use. The connector proves first: a stranger who
// connects gets no value of the key's to guess passwords with. The proofs cover both hellos. The
// connection has a key of its own afterwards, HMAC(key, "session", both hellos).
//
// Here are no sockets: bytes go in, bytes come out, and nothing is larger than a message of the greeting.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_GREETING_H
#define MESHWRIGHT_RUNTIME_GREETING_H

#include "meshwright/runtime/Sha256.h"
#include "meshwright/runtime/Status.h"
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace meshwright::runtime::processes {

enum class Purpose : uint32_t { Lifeline = 1, Data = 2 };

/// The answer of a listener.
enum class Verdict : uint32_t { GoOn = 0, Version = 1, Purpose = 2, Processes = 3, Process = 4, Token = 5 };

/// The first message of a process. On the wire: 8 bytes that name the protocol, four numbers of 32 bits in
/// little-endian order, and the nonce.
struct Hello {
  static constexpr size_t kBytes = 8 + 4 * 4 + 32;
  static constexpr uint32_t kVersion = 1;

  uint32_t version = kVersion;
  Purpose purpose = Purpose::Lifeline;
  uint32_t process = 0, processes = 0;
  Digest nonce = {};

  std::string pack() const;
  /// An error where the bytes are not those of this protocol. Numbers are not judged.
  static Result<Hello> unpack(std::string_view bytes);
};

/// Takes the bytes of the other side as they come.
class Greeting {
public:
  enum class State { Reading, Accepted, Refused };

  virtual ~Greeting() = default;
  State getState() const { return state; }
  /// How many bytes are wanted before anything is answered; `take` gets no more than these.
  size_t getMissing() const { return wanted - received.size(); }
  /// Takes bytes; returns those to be sent.
  std::string take(std::string_view bytes);
  /// Why it was refused.
  const Status &getRefusal() const { return refusal; }
  /// The other side, and the key of the connection, once it is accepted.
  const Hello &getOther() const { return other; }
  const Digest &getSessionKey() const { return session; }

protected:
  Greeting(const Digest &key, const Hello &mine, size_t wanted) : key(key), mine(mine), wanted(wanted) {}
  virtual std::string handle(std::string_view message) = 0;
  std::string refuse(Status why);
  std::string accept();
  Digest prove(std::string_view label, std::string_view more = {}) const;

  Digest key;
  Hello mine, other;
  /// Both hellos, the connector's first.
  std::string hellos;
  size_t wanted;

private:
  State state = State::Reading;
  Status refusal;
  std::string received;
  Digest session = {};
};

class ListenerGreeting : public Greeting {
public:
  /// `isWanted(process)`: whether that process is expected and not there yet.
  ListenerGreeting(const Digest &key, const Hello &mine, std::function<bool(uint32_t)> isWanted)
      : Greeting(key, mine, Hello::kBytes), isWanted(std::move(isWanted)) {}

private:
  std::string handle(std::string_view message) override;
  Verdict judge() const;
  std::string answer(Verdict verdict, std::string_view rest);

  std::function<bool(uint32_t)> isWanted;
  bool isChallenged = false;
};

class ConnectorGreeting : public Greeting {
public:
  /// With the process `listener`.
  ConnectorGreeting(const Digest &key, const Hello &mine, uint32_t listener)
      : Greeting(key, mine, sizeof(uint32_t) + Hello::kBytes), listener(listener) {}
  /// The bytes to be sent first.
  std::string begin() const { return mine.pack(); }

private:
  std::string handle(std::string_view message) override;
  std::string handleChallenge(std::string_view message, Verdict verdict);
  Status explain(Verdict verdict) const;

  uint32_t listener;
  std::string proof;
};

/// The key that a token stands for.
Digest makeKey(std::string_view token);

/// Texts on a connection that has been greeted, each between its size and a proof, which covers the
/// direction and the place in their order as well.
class SignedTexts {
public:
  static constexpr uint64_t kMaxBytes = 1 << 20;
  static constexpr size_t kHeaderBytes = sizeof(uint64_t), kProofBytes = sizeof(Digest);

  SignedTexts(const Digest &session, bool isListener) : session(session), isListener(isListener) {}
  /// Size, text and proof.
  std::string pack(std::string_view text);
  /// The number of bytes after a header; an error where they are too many.
  static Result<size_t> getBodyBytes(std::string_view header);
  /// The text of a body.
  Result<std::string> unpack(std::string_view body);

private:
  Digest prove(std::string_view text, bool isListeners, uint64_t number) const;

  Digest session;
  bool isListener;
  uint64_t sent = 0, taken = 0;
};

} // namespace meshwright::runtime::processes

#endif
