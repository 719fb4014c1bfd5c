//===- SharedGpuTrace.h - calls of ranks that share a GPU -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that share a GPU read and write memory of each other, so that races are looked for among the calls of
// all of them: with addresses as they are, and a number of its own for each stream.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_CUDA_SHAREDGPUTRACE_H
#define MESHWRIGHT_TEST_UNIT_CUDA_SHAREDGPUTRACE_H

#include "ExpectedCalls.h"

namespace meshwright::test {

/// The streams and arenas of ranks that share a GPU, as the trace of their preparation shows them.
std::vector<RankHandles> findSharedHandles(const Trace &trace, const runtime::LoadedPackage &package);

/// The calls of all ranks for the step at a position of an accumulation, in the order of the trace. The stream of a
/// call is rank * NumStreams + role. What a kernel of the package or a product reads and writes is known from the
/// package, what a collective does from its call.
std::vector<ExpectedCall> readSharedCalls(const Trace &trace, const std::vector<RankHandles> &ranks,
                                          const runtime::LoadedPackage &package, uint32_t position);

} // namespace meshwright::test

#endif
