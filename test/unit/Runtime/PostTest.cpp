//===- PostTest.cpp - the death of a process, as its peers report it ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backend/processes/Post.h"
#include <gtest/gtest.h>
#include <sys/socket.h>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

namespace {

/// A transport whose connection to process 1 is broken. It breaks before the lifeline does, as two connections may.
class BrokenTransport : public Transport {
public:
  enum Function { Post, Test, Probe };
  BrokenTransport(std::function<void()> notice, Function failing) : notice(std::move(notice)), failing(failing) {}
  std::string_view getName() const override { return "broken"; }
  Status describeMismatch(int64_t) const override { return {}; }
  int getProcess() const override { return 0; }
  int getNumProcesses() const override { return 2; }
  int getNumLocal() const override { return 2; }
  int getTag(uint64_t number) const override { return static_cast<int>(number); }
  Status post(Message &, int) override { return failing == Post ? fail() : Status(); }
  Result<bool> test(Message &) override {
    if (failing == Test)
      return fail();
    return false;
  }
  Result<std::optional<int>> probe(int) override { return fail(); }
  void finalize() override {}

private:
  Status fail() {
    std::exchange(notice, [] {})();
    return faultError("sending to process 1 failed: Broken pipe");
  }

  std::function<void()> notice;
  Function failing;
};

std::string exchangeWithDeadPeer(BrokenTransport::Function failing) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
    return "no sockets";
  std::vector<Socket> sockets(2);
  sockets[1] = Socket(ends[0]);
  auto lifeline = Lifeline::create(0, 2, std::move(sockets));
  if (!lifeline.ok())
    return lifeline.status().message();
  BrokenTransport transport([&] { close(ends[1]); }, failing);
  CollectiveCall call;
  call.members = {0, 1};
  call.name = "grad";
  std::byte byte{};
  Message message{&byte, 1, 1, /*isSend=*/true};
  return processes::Post(transport, **lifeline, 1).exchange(std::span(&message, 1), 7, &call).message();
}

TEST(Post, BrokenConnectionIsTheEndOfItsProcess) {
  std::string expected = "rank 1 stopped before c_allreduce";
  for (auto function : {BrokenTransport::Post, BrokenTransport::Test, BrokenTransport::Probe})
    EXPECT_EQ(exchangeWithDeadPeer(function).substr(0, expected.size()), expected) << function;
}

} // namespace
