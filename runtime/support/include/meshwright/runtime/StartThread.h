//===- StartThread.h - threads that cannot always be had --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_STARTTHREAD_H
#define MESHWRIGHT_RUNTIME_STARTTHREAD_H

#include "meshwright/runtime/Status.h"
#include <fmt/format.h>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace meshwright::runtime {

/// Lets `thread`, which is none yet, call `serve`. Where the system has no more threads, an error says what it is for:
/// "no thread can be started for copies: …".
template <typename Serve> Status startThread(std::thread &thread, std::string_view purpose, Serve &&serve) {
  // The standard library has no other way to say so.
  try {
    thread = std::thread(std::forward<Serve>(serve));
  } catch (const std::system_error &error) {
    return faultError("no thread can be started {}: {}", purpose, error.what());
  }
  return {};
}

} // namespace meshwright::runtime

#endif
