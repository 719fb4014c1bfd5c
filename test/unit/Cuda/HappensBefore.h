//===- HappensBefore.h - race detection by vector clocks --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_CUDA_HAPPENSBEFORE_H
#define MESHWRIGHT_TEST_UNIT_CUDA_HAPPENSBEFORE_H

#include "ExpectedCalls.h"

namespace meshwright::test {

/// Pairs of calls that touch the same memory, one of them writing, with nothing that orders them: neither
/// their stream nor events. Every pair is looked at.
std::vector<std::pair<size_t, size_t>> findRaces(const std::vector<ExpectedCall> &calls);

} // namespace meshwright::test

#endif
