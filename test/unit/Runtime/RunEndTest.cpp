//===- RunEndTest.cpp - reports at the end of a run -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dist-run/RunEnd.h"
#include <csignal>
#include <gtest/gtest.h>

using namespace meshwright::tool;

namespace {

/// As waitpid says them.
EndedProcess exits(int64_t process, int code) { return {process, code << 8, false}; }
EndedProcess dies(int64_t process, int signal) { return {process, signal, false}; }

void expectEnd(const std::vector<EndedProcess> &ended, const std::vector<EndReport> &reports, int code,
               const std::string &message) {
  RunEnd end = judgeEnd(ended, reports);
  EXPECT_EQ(end.code, code);
  EXPECT_EQ(end.message, message);
}

TEST(RunEnd, NothingIsSaidOfWhatProcessesSaid) {
  expectEnd({exits(0, 0), exits(1, 0)}, {}, 0, "");
  expectEnd({exits(0, 2), exits(1, 2)}, {}, 2, "");
  // Process 1 failed and said why; the order in which they are found does not count.
  expectEnd({exits(0, 4), exits(2, 4), exits(1, 3)}, {{2, 1, 0}, {0, 1, 0}, {1, 1, 0}}, 3, "");
}

TEST(RunEnd, OneDeathHasOneName) {
  expectEnd({exits(0, 4), dies(3, SIGKILL), exits(1, 4), exits(2, 4)}, {{1, 3, 1}, {0, 3, 1}, {2, 3, 1}}, 4,
            "process 3 was ended by signal 9 (Killed); processes 0, 1 and 2 ended because of it");
  // A second one that dies on the way is a consequence.
  expectEnd({dies(2, SIGSEGV), dies(3, SIGKILL), exits(0, 4)}, {{0, 3, 1}}, 4,
            "process 3 was ended by signal 9 (Killed); processes 0 and 2 ended because of it");
  expectEnd({exits(0, 4), exits(1, 7)}, {{0, 1, 1}}, 7,
            "process 1 ended with exit status 7; process 0 ended because of it");
  expectEnd({exits(0, 4), exits(1, 0)}, {{0, 1, 1}}, 4,
            "process 1 ended with exit status 0; process 0 ended because of it");
  expectEnd({exits(0, 4), {1, SIGKILL, true}}, {{0, 1, 1}}, 4,
            "process 1 did not end and was killed; process 0 ended because of it");
  expectEnd({dies(0, SIGABRT)}, {}, 4, "process 0 was ended by signal 6 (Aborted)");
}

TEST(RunEnd, AnotherHostsProcessIsNamedToo) {
  expectEnd({exits(0, 4), exits(1, 4)}, {{1, 3, 1}, {0, 3, 1}}, 4,
            "process 3 failed, on another host; processes 0 and 1 ended because of it");
  std::vector<EndedProcess> many;
  for (int64_t process = 0; process != 12; ++process)
    many.push_back(exits(process, 4));
  expectEnd(many, {{5, 17, 1}}, 4, "process 17 failed, on another host; 12 other processes ended because of it");
}

} // namespace
