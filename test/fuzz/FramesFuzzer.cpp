//===- FramesFuzzer.cpp - any bytes as the frames of a lifeline -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "meshwright/runtime/EscapeText.h"
#include "meshwright/runtime/Frames.h"
#include <cstdlib>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

static constexpr int64_t kNumProcesses = 5;

static bool isText(const std::string &text) { return escapeText(text, text.size()) == text; }

/// An accepted message names processes of this run, can be printed, and is accepted again when it is passed on.
static void check(const LifelineMessage &message) {
  if (const auto *failure = std::get_if<Failure>(&message)) {
    if (failure->origin < -1 || failure->origin >= kNumProcesses || failure->status.ok() ||
        !isText(failure->status.message()))
      std::abort();
  } else if (const auto *activity = std::get_if<Activity>(&message)) {
    if (activity->waitsFor < -1 || activity->waitsFor >= kNumProcesses || !isText(activity->collective))
      std::abort();
  }
  if (!unpack(pack(message), kNumProcesses).ok())
    std::abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  // In pieces, as a connection delivers them.
  size_t piece = 1 + data[0];
  FrameReader reader;
  Status status;
  for (; !bytes.empty() && status.ok(); bytes.remove_prefix(std::min(piece, bytes.size())))
    status = reader.take(bytes.substr(0, piece), [](const Frame &frame) {
      if (Result<LifelineMessage> message = unpack(frame, kNumProcesses); message.ok())
        check(*message);
    });
  return 0;
}
