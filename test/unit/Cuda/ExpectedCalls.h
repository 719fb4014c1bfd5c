//===- ExpectedCalls.h - expected calls of a step ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's program and its schedule say which calls a step makes, on which streams, between which events, with which
// addresses. That is derived here from the package alone, and held against what the stub has recorded.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_CUDA_EXPECTEDCALLS_H
#define MESHWRIGHT_TEST_UNIT_CUDA_EXPECTEDCALLS_H

#include "StubRun.h"

namespace meshwright::test {

enum StreamRole { Compute, Communication, Fetch, WriteBack, NumStreams };

/// A range of a rank's memory that something on a stream reads or writes: of its arenas, or of the scratch memory of
/// its kernels.
struct MemoryAccess {
  enum Place { Arena, HostArena, Scratch } place;
  bool isWrite;
  uint64_t begin, end;
};

/// Something that a step asks for.
struct ExpectedCall {
  enum Kind { Work, Record, Wait } kind;
  /// A role or, among the calls of several ranks, rank * NumStreams + role.
  size_t stream;
  /// For work: the function and the addresses that the stub reports, as offsets in the arenas.
  std::string text = {};
  std::vector<MemoryAccess> accesses = {};
  /// For a wait: the index of the record for which it waits.
  size_t record = 0;
};

/// The program of a rank.
const Program &getProgram(const runtime::LoadedPackage &package, int64_t rank);

/// The calls of the step at a position of an accumulation.
std::vector<ExpectedCall> expectCalls(const runtime::LoadedPackage &package, int64_t rank, uint32_t position);

/// A rank's streams and arenas as the trace of its preparation shows them.
struct RankHandles {
  std::map<uint64_t, StreamRole> streams;
  uint64_t arena = 0, hostArena = 0, hostArenaBytes = 0, scratch = 0;
};

/// The description of a kernel for GPUs; an empty one where there is none.
GpuKernel findGpuKernel(const runtime::LoadedPackage &package, const std::string &symbol);
/// The scratch memory that a rank's device has for the kernels of its program.
uint64_t countScratchBytes(const runtime::LoadedPackage &package, int64_t rank);
/// Those of all ranks, which are alone on their devices. Of several ranks none has an arena on the host.
std::vector<RankHandles> findHandles(const Trace &trace, const runtime::LoadedPackage &package);

/// The same calls out of a trace: what was asked of the rank's streams, uploads and downloads left out.
struct ActualCalls {
  std::vector<ExpectedCall> calls;
  /// The number of copies between host and device besides those of the program.
  uint64_t transfers = 0;
};
ActualCalls readCalls(const Trace &trace, const RankHandles &handles);

/// For messages: a call as a line.
std::string describe(const ExpectedCall &call);

} // namespace meshwright::test

#endif
