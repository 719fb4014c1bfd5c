//===- RunEnd.cpp - how a run of several processes ends -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunEnd.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshwright::runtime;
using namespace meshwright::tool;

static void tellLauncher(const EndReport &report) {
  const char *text = std::getenv(kReportVariable);
  int descriptor = -1;
  if (!text || std::from_chars(text, text + std::strlen(text), descriptor).ec != std::errc())
    return;
  // Short enough to be written at once. A launcher that has gone needs no report.
  [[maybe_unused]] ssize_t written = write(descriptor, &report, sizeof(report));
}

void meshwright::tool::sayFailure(const World &world, const Status &status) {
  int64_t mine = world.getProcess();
  std::optional<FailedProcess> failed = world.getFailedProcess();
  bool isFollowing = failed && failed->process != mine;
  // The first process speaks for one that cannot, and the second one for the first.
  if (isFollowing && failed->isSilent)
    isFollowing = mine != (failed->process == 0 ? 1 : 0);
  std::string name = world.isAlone() ? "" : fmt::format(" (process {})", mine);
  if (isFollowing)
    fmt::print(stderr, "dist-run{}: ends because of process {}: {}\n", name, failed->process, status.message());
  else
    fmt::print(stderr, "dist-run{}: error: {}\n", name, status.message());
  if (failed)
    tellLauncher({static_cast<int32_t>(mine), static_cast<int32_t>(failed->process), failed->isSilent});
}

//===----------------------------------------------------------------------===//
// The launcher
//===----------------------------------------------------------------------===//

static bool isGood(const EndedProcess &one) { return WIFEXITED(one.status) && WEXITSTATUS(one.status) == 0; }

static int getCode(const EndedProcess &one) {
  bool hasCode = WIFEXITED(one.status) && WEXITSTATUS(one.status) != 0;
  return hasCode ? WEXITSTATUS(one.status) : static_cast<int>(Code::Fault);
}

static std::string describe(const EndedProcess &one) {
  if (one.isKilled)
    return fmt::format("process {} did not end and was killed", one.process);
  if (WIFSIGNALED(one.status))
    return fmt::format("process {} was ended by signal {} ({})", one.process, WTERMSIG(one.status),
                       strsignal(WTERMSIG(one.status)));
  return fmt::format("process {} ended with exit status {}", one.process, WEXITSTATUS(one.status));
}

/// `; process 2 ended because of it`, `; processes 0, 1 and 2 ended because of it`.
static std::string describeOthers(const std::vector<EndedProcess> &ended, int64_t culprit) {
  constexpr size_t mostNames = 8;
  std::vector<int64_t> others;
  for (const EndedProcess &one : ended)
    if (one.process != culprit && !isGood(one))
      others.push_back(one.process);
  std::sort(others.begin(), others.end());
  if (others.empty())
    return "";
  if (others.size() > mostNames)
    return fmt::format("; {} other processes ended because of it", others.size());
  if (others.size() == 1)
    return fmt::format("; process {} ended because of it", others[0]);
  int64_t last = others.back();
  others.pop_back();
  return fmt::format("; processes {} and {} ended because of it", fmt::join(others, ", "), last);
}

RunEnd meshwright::tool::judgeEnd(const std::vector<EndedProcess> &ended, const std::vector<EndReport> &reports) {
  auto isBad = [](const EndedProcess &one) { return !isGood(one); };
  auto first = std::find_if(ended.begin(), ended.end(), isBad);
  if (first == ended.end())
    return {};
  // All processes name the same one, unless they could not reach the first process any more; then its host knows best.
  auto report = std::min_element(reports.begin(), reports.end(),
                                 [](const EndReport &a, const EndReport &b) { return a.process < b.process; });
  if (report == reports.end()) {
    auto bySignal = std::find_if(ended.begin(), ended.end(),
                                 [](const EndedProcess &one) { return WIFSIGNALED(one.status) && !one.isKilled; });
    if (bySignal == ended.end())
      return {getCode(*first), ""};
    return {getCode(*bySignal), describe(*bySignal) + describeOthers(ended, bySignal->process)};
  }
  auto culprit =
      std::find_if(ended.begin(), ended.end(), [&](const EndedProcess &one) { return one.process == report->failed; });
  std::string others = describeOthers(ended, report->failed);
  if (culprit == ended.end())
    return {getCode(*first), fmt::format("process {} failed, on another host{}", report->failed, others)};
  bool isSaid = !report->isSilent && WIFEXITED(culprit->status);
  return {getCode(*culprit), isSaid ? "" : describe(*culprit) + others};
}
