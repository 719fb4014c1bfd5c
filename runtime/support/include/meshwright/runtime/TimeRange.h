//===- TimeRange.h - when something took place ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_TIMERANGE_H
#define MESHWRIGHT_RUNTIME_TIMERANGE_H

#include <chrono>
#include <cstdint>

namespace meshwright::runtime {

/// When something took place. Nanoseconds of the steady clock.
struct TimeRange {
  int64_t begin = 0, end = 0;

  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

} // namespace meshwright::runtime

#endif
