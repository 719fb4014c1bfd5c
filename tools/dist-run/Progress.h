//===- Progress.h - what a user sees while it runs --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_PROGRESS_H
#define MESHWRIGHT_TOOLS_DISTRUN_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace meshwright::tool {

/// Lines of results on standard output (standard error where a file goes to standard output), and on standard error
/// what a terminal shows in place: step, rate and time left. Without a terminal, a plain line now and then.
class Progress {
public:
  enum class Shown { Everything, Warnings, Nothing };

  /// `dataOnOutput`: standard output belongs to a file.
  Progress(Shown what, bool dataOnOutput, uint64_t steps);
  ~Progress() { clear(); }

  /// Prints a warning.
  void warn(const std::string &text);
  /// Prints a line that a run prints once.
  void log(const std::string &text);
  /// A line of results.
  void result(const std::string &text);
  /// Steps that were done before.
  void skip(uint64_t done) { skipped = done; }
  /// A step is done; `status` goes on the line in place.
  void step(uint64_t done, const std::string &status);

private:
  using Clock = std::chrono::steady_clock;
  void clear();

  Shown what;
  bool terminal;
  std::FILE *results;
  uint64_t steps, skipped = 0;
  Clock::time_point start, last;
  bool shown = false;
};

/// As people read it: `12.3 MB`.
std::string formatBytes(double bytes);

} // namespace meshwright::tool

#endif
