//===- Frames.h - what lifelines carry --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of other processes as messages: sizes, kinds, ranks and exit statuses are checked here and texts are escaped,
// so that what reads them can use them as they are. Here are no sockets.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_FRAMES_H
#define MESHWRIGHT_RUNTIME_FRAMES_H

#include "meshwright/runtime/Status.h"
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

namespace meshwright::runtime::processes {

/// A message: its kind and its bytes.
struct Frame {
  /// More is refused before it is read.
  static constexpr size_t kMaxBytes = 32 << 10;

  uint32_t kind = 0;
  std::string bytes;

  /// Kind and size, then the bytes.
  std::string pack() const;
};

/// Cuts a stream of bytes into frames. Keeps no more than one frame that is not complete.
class FrameReader {
public:
  /// Calls `fn` for all frames that are complete now. After an error the stream cannot be read any more.
  Status take(std::string_view bytes, const std::function<void(const Frame &)> &fn);

private:
  /// The beginning of a frame, and how many bytes it is to have: those of the header at first.
  std::string rest;
  size_t wanted = 8;
};

/// The state of a process, as it reports it.
struct Activity {
  /// Grows with everything that it has done.
  uint64_t moves = 0;
  /// The process that it waits for; -1 while it does not wait, or not for long.
  int64_t waitsFor = -1;
  /// That one does something else: a message of another collective has come from it.
  bool disagrees = false;
  /// Where it waits.
  std::string collective = {};

  bool operator==(const Activity &) const = default;
};

/// Why a run ends.
struct Failure {
  Status status;
  /// The process that failed first, or -1 where no single one did.
  int64_t origin = -1;
  /// Whether that process does not say it itself, and whether it has ended without a word.
  bool isSilent = false, isEnd = false;
};

/// A process will end as it should.
struct End {};

using LifelineMessage = std::variant<Failure, Activity, End>;

Frame pack(const LifelineMessage &message);
/// An error where the frame cannot be of a process of a run with so many.
Result<LifelineMessage> unpack(const Frame &frame, int64_t numProcesses);

} // namespace meshwright::runtime::processes

#endif
