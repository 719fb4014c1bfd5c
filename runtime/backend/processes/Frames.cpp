//===- Frames.cpp - what lifelines carry ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Frames.h"
#include "meshwright/runtime/EscapeText.h"
#include <algorithm>
#include <cstring>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

namespace {

enum Kind : uint32_t { FailureKind, ActivityKind, EndKind };

/// Before the bytes of a frame.
struct Header {
  uint32_t kind, size;
};

struct FailureNumbers {
  int32_t code, origin;
  uint32_t isSilent, isEnd;
};

struct ActivityNumbers {
  uint64_t moves;
  int32_t waitsFor;
  uint32_t disagrees;
};

template <typename T> std::string packNumbers(const T &numbers, std::string_view text) {
  constexpr size_t most = Frame::kMaxBytes - sizeof(T);
  return std::string(reinterpret_cast<const char *>(&numbers), sizeof(T)).append(text.substr(0, most));
}

template <typename T> Result<T> readNumbers(const Frame &frame) {
  T numbers;
  if (frame.bytes.size() < sizeof(T))
    return faultError("a frame of kind {} has {} bytes where {} are wanted", frame.kind, frame.bytes.size(), sizeof(T));
  std::memcpy(&numbers, frame.bytes.data(), sizeof(T));
  return numbers;
}

Status checkProcess(int64_t process, int64_t numProcesses, const char *what) {
  if (process >= -1 && process < numProcesses)
    return {};
  return faultError("a frame says {} process {} of {}", what, process, numProcesses);
}

Result<LifelineMessage> unpackFailure(const Frame &frame, int64_t numProcesses) {
  MW_TRY_ASSIGN(FailureNumbers numbers, readNumbers<FailureNumbers>(frame));
  MW_TRY(checkProcess(numbers.origin, numProcesses, "that the failure is of"));
  if (numbers.code <= static_cast<int32_t>(Code::Ok) || numbers.code > static_cast<int32_t>(Code::Fault))
    return faultError("a frame says that the run ends with {}, which no run does", numbers.code);
  Status status(static_cast<Code>(numbers.code), escapeText(std::string_view(frame.bytes).substr(sizeof(numbers))));
  bool isEnd = numbers.isEnd != 0 && numbers.origin >= 0;
  return LifelineMessage(Failure{std::move(status), numbers.origin, numbers.isSilent != 0, isEnd});
}

Result<LifelineMessage> unpackActivity(const Frame &frame, int64_t numProcesses) {
  MW_TRY_ASSIGN(ActivityNumbers numbers, readNumbers<ActivityNumbers>(frame));
  MW_TRY(checkProcess(numbers.waitsFor, numProcesses, "that it waits for"));
  return LifelineMessage(Activity{numbers.moves, numbers.waitsFor, numbers.disagrees != 0,
                                  escapeText(std::string_view(frame.bytes).substr(sizeof(numbers)))});
}

} // namespace

std::string Frame::pack() const {
  Header header{kind, static_cast<uint32_t>(bytes.size())};
  return std::string(reinterpret_cast<const char *>(&header), sizeof(header)).append(bytes);
}

Status FrameReader::take(std::string_view bytes, const std::function<void(const Frame &)> &fn) {
  while (!bytes.empty()) {
    size_t count = std::min(bytes.size(), wanted - rest.size());
    rest += bytes.substr(0, count);
    bytes.remove_prefix(count);
    if (rest.size() != wanted)
      return {};
    Header header;
    std::memcpy(&header, rest.data(), sizeof(header));
    if (header.size > Frame::kMaxBytes)
      return faultError("a frame of {} bytes is announced where {} are the most", header.size, Frame::kMaxBytes);
    if (wanted == sizeof(header) && header.size != 0) {
      wanted += header.size;
      continue;
    }
    fn({header.kind, rest.substr(sizeof(header))});
    rest.clear();
    wanted = sizeof(header);
  }
  return {};
}

Frame processes::pack(const LifelineMessage &message) {
  if (const auto *failure = std::get_if<Failure>(&message)) {
    FailureNumbers numbers{static_cast<int32_t>(failure->status.code()), static_cast<int32_t>(failure->origin),
                           failure->isSilent, failure->isEnd};
    return {FailureKind, packNumbers(numbers, failure->status.message())};
  }
  if (const auto *activity = std::get_if<Activity>(&message)) {
    ActivityNumbers numbers{activity->moves, static_cast<int32_t>(activity->waitsFor), activity->disagrees};
    return {ActivityKind, packNumbers(numbers, activity->collective)};
  }
  return {EndKind, ""};
}

Result<LifelineMessage> processes::unpack(const Frame &frame, int64_t numProcesses) {
  switch (frame.kind) {
  case FailureKind:
    return unpackFailure(frame, numProcesses);
  case ActivityKind:
    return unpackActivity(frame, numProcesses);
  case EndKind:
    return LifelineMessage(End{});
  default:
    return faultError("a frame is of kind {}, which there is not", frame.kind);
  }
}
