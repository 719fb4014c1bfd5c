//===- SharedGpuTrace.cpp - calls of ranks that share a GPU ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedGpuTrace.h"
#include "meshwright/runtime/DType.h"
#include <deque>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

/// Devices are made in the order of their ranks, with four streams each; the first thing that is asked of a rank's
/// compute stream is to fill its arena.
std::vector<RankHandles> meshwright::test::findSharedHandles(const Trace &trace, const LoadedPackage &package) {
  std::vector<RankHandles> ranks(package.message().program_of_rank_size());
  size_t numStreams = 0;
  for (const RecordedCall &call : trace) {
    if (call.function == "cuStreamCreate") {
      ranks[numStreams / NumStreams].streams[call.get("stream")] = static_cast<StreamRole>(numStreams % NumStreams);
      ++numStreams;
    }
    for (RankHandles &rank : ranks)
      if (call.function == "cuMemsetD8Async" && rank.arena == 0 && rank.streams.contains(call.get("stream")))
        rank.arena = call.get("to");
  }
  return ranks;
}

namespace {

class SharedCalls {
public:
  SharedCalls(const std::vector<RankHandles> &ranks, const LoadedPackage &package, uint32_t position)
      : ranks(ranks), expected(ranks.size()) {
    for (size_t rank = 0; rank != ranks.size(); ++rank)
      for (ExpectedCall &call : expectCalls(package, static_cast<int64_t>(rank), position))
        if (call.kind == ExpectedCall::Work && call.stream == Compute)
          expected[rank].push_back(std::move(call));
  }

  std::vector<ExpectedCall> read(const Trace &trace) {
    for (const RecordedCall &call : trace)
      for (size_t rank = 0; rank != ranks.size(); ++rank)
        if (auto stream = ranks[rank].streams.find(call.get("stream")); stream != ranks[rank].streams.end())
          add(call, rank, stream->second);
    for (const auto &left : expected)
      EXPECT_TRUE(left.empty()) << describe(left.front());
    return std::move(calls);
  }

private:
  void add(const RecordedCall &call, size_t rank, StreamRole role) {
    ExpectedCall next{ExpectedCall::Work, rank * NumStreams + role, call.function + " " + call.getText("function")};
    if (call.function == "cuEventRecord") {
      next.kind = ExpectedCall::Record;
      records[call.get("event")] = calls.size();
    } else if (call.function == "cuStreamWaitEvent") {
      next.kind = ExpectedCall::Wait;
      next.record = records.at(call.get("event"));
    } else if (role != Compute) {
      next.accesses = call.function == "cuLaunchKernel" ? getReduced(call) : getCopied(call);
    } else if (call.function == "cuLaunchKernel" || call.function == "cublasLtMatmul" ||
               call.function == "cuMemsetD32Async" || call.function == "cuMemcpyAsync") {
      next.accesses = takeExpected(rank, call);
    } else {
      return;
    }
    calls.push_back(std::move(next));
  }

  /// Takes the next operations of the rank's computation, with their addresses. The address of scratch memory is the
  /// last argument of a kernel.
  std::vector<MemoryAccess> takeExpected(size_t rank, const RecordedCall &call) {
    if (expected[rank].empty()) {
      ADD_FAILURE() << "rank " << rank << " computes more than its program";
      return {};
    }
    std::vector<MemoryAccess> accesses = std::move(expected[rank].front().accesses);
    expected[rank].pop_front();
    for (MemoryAccess &access : accesses) {
      uint64_t start = access.place == MemoryAccess::Scratch ? getArguments(call).back() : ranks[rank].arena;
      access = {MemoryAccess::Arena, access.isWrite, start + access.begin, start + access.end};
    }
    return accesses;
  }

  static std::vector<MemoryAccess> getCopied(const RecordedCall &call) {
    uint64_t to = call.get("to"), from = call.get("from"), bytes = call.get("bytes");
    return {{MemoryAccess::Arena, false, from, from + bytes}, {MemoryAccess::Arena, true, to, to + bytes}};
  }

  static std::vector<uint64_t> getArguments(const RecordedCall &call) {
    std::vector<uint64_t> arguments;
    for (const auto &[key, value] : call.values)
      if (key == "argument")
        arguments.push_back(std::stoull(value));
    return arguments;
  }

  /// The accesses of a call of `mw_sum_f32`. Its arguments are the first and last element, the number of blocks, the
  /// numbers of operands and results, and their addresses.
  static std::vector<MemoryAccess> getReduced(const RecordedCall &call) {
    std::vector<uint64_t> arguments = getArguments(call);
    std::string name = call.getText("function");
    uint64_t size = getSize(*parseDType(name.substr(name.rfind('_') + 1)));
    uint64_t begin = arguments[0] * size, end = arguments[1] * size, inputs = arguments[3], outputs = arguments[4];
    EXPECT_EQ(arguments.size(), 5 + inputs + outputs);
    std::vector<MemoryAccess> accesses;
    for (uint64_t i = 0; i != inputs + outputs; ++i)
      accesses.push_back({MemoryAccess::Arena, i >= inputs, arguments[5 + i] + begin, arguments[5 + i] + end});
    return accesses;
  }

  const std::vector<RankHandles> &ranks;
  std::vector<std::deque<ExpectedCall>> expected;
  /// The last record of every event.
  std::map<uint64_t, size_t> records;
  std::vector<ExpectedCall> calls;
};

} // namespace

std::vector<ExpectedCall> meshwright::test::readSharedCalls(const Trace &trace, const std::vector<RankHandles> &ranks,
                                                            const LoadedPackage &package, uint32_t position) {
  return SharedCalls(ranks, package, position).read(trace);
}
