//===- GreetingFuzzer.cpp - any bytes as a greeting -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first byte says which side reads the rest: a listener, a connector, or who reads signed texts or an address. The
// key and the nonces are zeros, so that the corpus can have greetings that are accepted.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "meshwright/runtime/Greeting.h"
#include "meshwright/runtime/Sockets.h"
#include <algorithm>
#include <cstdlib>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

/// An accepted process is one of the run; a refusal has a reason.
static void read(Greeting &greeting, std::string_view bytes, size_t piece) {
  while (!bytes.empty() && greeting.getState() == Greeting::State::Reading) {
    size_t count = std::min({bytes.size(), greeting.getMissing(), piece});
    (void)greeting.take(bytes.substr(0, count));
    bytes.remove_prefix(count);
  }
  bool isAccepted = greeting.getState() == Greeting::State::Accepted;
  if (isAccepted && (greeting.getOther().processes != 4 || greeting.getOther().process >= 4))
    std::abort();
  if ((greeting.getState() == Greeting::State::Refused) == greeting.getRefusal().ok())
    std::abort();
}

static void readTexts(std::string_view bytes) {
  SignedTexts texts({}, true);
  while (bytes.size() >= SignedTexts::kHeaderBytes) {
    Result<size_t> size = SignedTexts::getBodyBytes(bytes.substr(0, SignedTexts::kHeaderBytes));
    bytes.remove_prefix(SignedTexts::kHeaderBytes);
    if (!size.ok() || *size > bytes.size() || !texts.unpack(bytes.substr(0, *size)).ok())
      return;
    bytes.remove_prefix(*size);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  size_t piece = 1 + data[0] / 4;
  Hello hello;
  hello.processes = 4;
  switch (data[0] % 4) {
  case 0: {
    ListenerGreeting greeting({}, hello, [](uint32_t process) { return process >= 1 && process <= 3; });
    read(greeting, bytes, piece);
    break;
  }
  case 1: {
    hello.process = 2;
    ConnectorGreeting greeting({}, hello, 0);
    read(greeting, bytes, piece);
    break;
  }
  case 2:
    readTexts(bytes);
    break;
  default:
    if (Result<Address> address = Address::unpack(bytes); address.ok() && !Address::unpack(address->pack()).ok())
      std::abort();
  }
  return 0;
}
