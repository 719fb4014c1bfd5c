//===- Progress.cpp - what a user sees while it runs ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace meshwright::tool;

std::string meshwright::tool::formatBytes(double bytes) {
  static const char *units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 999.95 && unit != 4; ++unit)
    bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

static std::string formatTime(double seconds) {
  if (seconds < 60)
    return fmt::format("{:.1f} s", seconds);
  auto whole = static_cast<uint64_t>(seconds);
  if (whole < 3600)
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(Shown what, bool dataOnOutput, uint64_t steps)
    : what(what), terminal(isatty(STDERR_FILENO)), results(dataOnOutput ? stderr : stdout), steps(steps),
      start(Clock::now()), last(start) {}

void Progress::clear() {
  if (shown)
    std::fputs("\r\x1b[K", stderr);
  shown = false;
}

void Progress::warn(const std::string &text) {
  if (what == Shown::Nothing)
    return;
  clear();
  fmt::print(stderr, "dist-run: warning: {}\n", text);
}

void Progress::log(const std::string &text) {
  if (what != Shown::Everything)
    return;
  clear();
  fmt::print(stderr, "{}\n", text);
}

void Progress::result(const std::string &text) {
  if (what != Shown::Everything)
    return;
  clear();
  fmt::print(results, "{}\n", text);
  std::fflush(results);
}

void Progress::step(uint64_t done, const std::string &status) {
  Clock::time_point now = Clock::now();
  // Without a terminal the lines of results say most of it.
  double pause = terminal ? 0.1 : 10;
  if (what != Shown::Everything ||
      (std::chrono::duration<double>(now - last).count() < pause && !(terminal && done == steps)))
    return;
  last = now;
  double seconds = std::chrono::duration<double>(now - start).count(), rate = (done - skipped) / seconds;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  std::string line = fmt::format("step {}/{}, {:.2f} steps/s, {} left, {} peak{}{}", done, steps, rate,
                                 formatTime((steps - done) / rate), formatBytes(usage.ru_maxrss * 1024.0),
                                 status.empty() ? "" : ", ", status);
  clear();
  fmt::print(stderr, "{}{}", line, terminal ? "" : "\n");
  std::fflush(stderr);
  shown = terminal;
}
