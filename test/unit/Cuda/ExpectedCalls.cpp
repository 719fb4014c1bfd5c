//===- ExpectedCalls.cpp - expected calls of a step -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives the calls of a step from the package alone: streams, events and addresses of kernels, GEMMs, collectives and
// copies. Tests compare them with the calls that the stub of the driver recorded, and check every pair of accesses for
// races.
//
//===----------------------------------------------------------------------===//

#include "ExpectedCalls.h"
#include "meshwright/runtime/CollectiveTags.h"
#include "meshwright/runtime/Slots.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

//===----------------------------------------------------------------------===//
// Queries of the package
//===----------------------------------------------------------------------===//

const Program &meshwright::test::getProgram(const LoadedPackage &package, int64_t rank) {
  return package.message().programs(static_cast<int>(package.message().program_of_rank(static_cast<int>(rank))));
}

GpuKernel meshwright::test::findGpuKernel(const LoadedPackage &package, const std::string &symbol) {
  for (const KernelLibrary &library : package.message().libraries())
    for (const GpuKernel &kernel : library.gpu_kernels())
      if (kernel.symbol() == symbol)
        return kernel;
  return {};
}

uint64_t meshwright::test::countScratchBytes(const LoadedPackage &package, int64_t rank) {
  uint64_t bytes = 0;
  for (const Task &task : getProgram(package, rank).tasks())
    for (const Instruction &instruction : task.instructions())
      if (instruction.has_kernel())
        bytes = std::max(bytes, findGpuKernel(package, instruction.kernel().symbol()).scratch_bytes());
  return bytes;
}

namespace {

class Expectation {
public:
  Expectation(const LoadedPackage &package, int64_t rank)
      : package(package), rank(rank), program(getProgram(package, rank)), tags(program) {}

  std::vector<ExpectedCall> run(uint32_t position) {
    forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &item) {
      microBatch = item.micro_batch();
      add(instruction, item.task());
    });
    return std::move(calls);
  }

private:
  std::string getPlace(uint32_t index) const {
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    return fmt::format("{}+{}", buffer.memory() == HOST ? "host" : "arena", getOffset(buffer, microBatch));
  }

  void work(StreamRole stream, std::string text, const Instruction &instruction) {
    ExpectedCall &call = calls.emplace_back(ExpectedCall{ExpectedCall::Work, stream, std::move(text)});
    forEachAccess(instruction, [&](uint32_t index, bool isWrite) {
      const Buffer &buffer = program.buffers(static_cast<int>(index));
      uint64_t begin = getOffset(buffer, microBatch);
      MemoryAccess::Place place = buffer.memory() == HOST ? MemoryAccess::HostArena : MemoryAccess::Arena;
      call.accesses.push_back({place, isWrite, begin, begin + buffer.bytes()});
    });
  }

  /// All launches of a kernel may read and write all its scratch memory.
  void addKernel(const Instruction &instruction) {
    GpuKernel kernel = findGpuKernel(package, instruction.kernel().symbol());
    for (const GpuLaunch &launch : kernel.launches()) {
      std::string text = "cuLaunchKernel " + launch.function();
      for (uint32_t argument : instruction.kernel().arguments())
        text += " " + getPlace(argument);
      if (kernel.scratch_bytes() != 0)
        text += " scratch+0";
      work(Compute, text, instruction);
      if (kernel.scratch_bytes() != 0)
        calls.back().accesses.push_back({MemoryAccess::Scratch, /*isWrite=*/true, 0, kernel.scratch_bytes()});
    }
  }

  size_t record(StreamRole stream) {
    calls.push_back({ExpectedCall::Record, stream});
    return calls.size() - 1;
  }
  void wait(StreamRole stream, size_t event) {
    calls.push_back({ExpectedCall::Wait, stream});
    calls.back().record = event;
  }
  /// An operation on another stream waits for the computation so far; returns the record after it.
  template <typename Fn> size_t beside(StreamRole stream, Fn &&issue) {
    wait(stream, record(Compute));
    issue();
    return record(stream);
  }

  void add(const Instruction &instruction, uint32_t task) {
    switch (instruction.kind_case()) {
    case Instruction::kKernel:
      if (std::exchange(isDone, false))
        return;
      return addKernel(instruction);
    case Instruction::kMatmul: {
      // A row-major result is computed as its transpose, whose left operand is the right operand of the product.
      const Matmul &matmul = instruction.matmul();
      const Epilogue &epilogue = matmul.epilogue();
      // A preactivation has to have rows of a multiple of eight elements.
      isDone = matmul.has_epilogue() && (!epilogue.has_preactivation() || matmul.n() % 8 == 0);
      std::string text = fmt::format("cublasLtMatmul {} {} {}", getPlace(matmul.rhs()), getPlace(matmul.lhs()),
                                     getPlace(isDone ? epilogue.out() : matmul.out()));
      if (isDone && epilogue.has_bias())
        text += " " + getPlace(epilogue.bias());
      if (isDone && epilogue.has_preactivation())
        text += " " + getPlace(epilogue.preactivation());
      return work(Compute, text, instruction);
    }
    case Instruction::kCollective:
      return addCollective(instruction, task);
    case Instruction::kWait:
      return wait(Compute, collectives.at({*tags.findWaited(task, instruction.wait().tag()), microBatch}));
    case Instruction::kCopy:
      return addCopy(instruction);
    case Instruction::kCopyWait:
      return wait(Compute, copies.at(instruction.copy_wait().tag()));
    case Instruction::kMicroBatch:
      return work(Compute,
                  fmt::format("cuMemsetD32Async {} 4 {}", getPlace(instruction.micro_batch().buffer()), microBatch),
                  instruction);
    default: {
      uint32_t axis = instruction.coordinate().axis();
      return work(Compute,
                  fmt::format("cuMemsetD32Async {} 4 {}", getPlace(instruction.coordinate().buffer()),
                              package.getMesh().getCoordinates(rank)[axis]),
                  instruction);
    }
    }
  }

  void addCollective(const Instruction &instruction, uint32_t task) {
    const Collective &collective = instruction.collective();
    size_t event = beside(Communication, [&] {
      for (const CollectivePart &part : collective.parts())
        addPart(instruction, part);
    });
    if (collective.start())
      collectives[{tags.getStarted(task, collective.tag()), microBatch}] = event;
    else
      wait(Compute, event);
  }

  void addPart(const Instruction &instruction, const CollectivePart &part) {
    std::string in = part.has_in() ? getPlace(part.in()) : "", out = part.has_out() ? getPlace(part.out()) : "";
    switch (instruction.collective().kind()) {
    case Collective::ALL_REDUCE:
      return work(Communication, fmt::format("ncclAllReduce {} {} {}", in, out, part.count()), instruction);
    case Collective::BROADCAST:
      // A rank with only an operand or only a result uses that buffer for both.
      return work(Communication,
                  fmt::format("ncclBroadcast {} {} {}", in.empty() ? out : in, out.empty() ? in : out, part.count()),
                  instruction);
    case Collective::REDUCE:
      return work(Communication, fmt::format("ncclReduce {} {} {}", in, out.empty() ? "0" : out, part.count()),
                  instruction);
    case Collective::SEND:
      return work(Communication, part.has_in() ? "ncclSend " + in : "ncclRecv " + out, instruction);
    default:
      ADD_FAILURE() << "no package of these tests has such a collective";
    }
  }

  void addCopy(const Instruction &instruction) {
    const Copy &copy = instruction.copy();
    const Buffer &from = program.buffers(static_cast<int>(copy.from())),
                 &to = program.buffers(static_cast<int>(copy.to()));
    std::string text = fmt::format("cuMemcpyAsync {} {} {}", getPlace(copy.to()), getPlace(copy.from()), to.bytes());
    if (from.memory() == to.memory())
      return work(Compute, text, instruction);
    StreamRole stream = to.memory() == HOST ? WriteBack : Fetch;
    size_t event = beside(stream, [&] { work(stream, text, instruction); });
    if (copy.start())
      copies[copy.tag()] = event;
    else
      wait(Compute, event);
  }

  const LoadedPackage &package;
  int64_t rank;
  const Program &program;
  CollectiveTags tags;
  uint32_t microBatch = 0;
  /// True if the GEMM before has computed the kernel as its epilogue.
  bool isDone = false;
  std::vector<ExpectedCall> calls;
  /// The records after started operations, by flight and micro-batch, and by tag.
  std::map<std::pair<uint32_t, uint32_t>, size_t> collectives;
  std::map<uint32_t, size_t> copies;
};

} // namespace

std::vector<ExpectedCall> meshwright::test::expectCalls(const LoadedPackage &package, int64_t rank, uint32_t position) {
  return Expectation(package, rank).run(position);
}

//===----------------------------------------------------------------------===//
// Queries of the trace
//===----------------------------------------------------------------------===//

std::vector<RankHandles> meshwright::test::findHandles(const Trace &trace, const LoadedPackage &package) {
  std::vector<RankHandles> ranks(package.message().program_of_rank_size());
  std::vector<int> numStreams(ranks.size());
  for (const RecordedCall &call : trace) {
    auto rank = static_cast<int64_t>(call.get("device"));
    uint64_t address = call.get("address"), bytes = call.get("bytes");
    if (call.function == "cuStreamCreate")
      ranks[rank].streams[call.get("stream")] = static_cast<StreamRole>(numStreams[rank]++);
    if (call.function == "cuMemAlloc" && ranks[rank].arena == 0 && bytes == getProgram(package, rank).arena_bytes())
      ranks[rank].arena = address;
    else if (call.function == "cuMemAlloc" && bytes == countScratchBytes(package, rank))
      ranks[rank].scratch = address;
    if (call.function == "cuMemHostAlloc" && bytes == getProgram(package, 0).host_arena_bytes())
      ranks[0].hostArena = address, ranks[0].hostArenaBytes = bytes;
  }
  return ranks;
}

/// A call as text, with addresses as offsets; empty for calls that only copy values in and out.
static std::string readText(const RecordedCall &call, const RankHandles &handles) {
  auto getPlace = [&](const std::string &value) -> std::string {
    uint64_t address = std::stoull(value);
    if (address == 0)
      return "0";
    if (address == handles.scratch)
      return "scratch+0";
    bool isHost = address - handles.hostArena < handles.hostArenaBytes;
    return fmt::format("{}+{}", isHost ? "host" : "arena", address - (isHost ? handles.hostArena : handles.arena));
  };
  std::string text = call.function;
  for (const auto &[key, value] : call.values)
    if (key == "stream")
      continue;
    else if (key == "function" || key == "count" || key == "bytes" || key == "value")
      text += " " + value;
    else
      text += " " + getPlace(value);
  return text;
}

ActualCalls meshwright::test::readCalls(const Trace &trace, const RankHandles &handles) {
  ActualCalls actual;
  /// The last record of every event, and those that follow a transfer.
  std::map<uint64_t, size_t> records;
  bool isTransfer = false;
  for (const RecordedCall &call : trace) {
    auto stream = handles.streams.find(call.get("stream"));
    bool isStaging = call.function == "cuMemcpyHtoDAsync" || call.function == "cuMemcpyDtoHAsync";
    if (stream == handles.streams.end() || call.function == "cuStreamSynchronize" || call.function == "cuStreamQuery" ||
        call.function == "cuGraphLaunch" || call.function == "cuStreamBeginCapture" ||
        call.function == "cuStreamEndCapture")
      continue;
    if (call.function == "cuEventRecord") {
      if (!std::exchange(isTransfer, false)) {
        records[call.get("event")] = actual.calls.size();
        actual.calls.push_back({ExpectedCall::Record, stream->second});
      }
    } else if (call.function == "cuStreamWaitEvent") {
      actual.calls.push_back({ExpectedCall::Wait, stream->second});
      actual.calls.back().record = records.at(call.get("event"));
    } else if (isStaging) {
      ++actual.transfers;
      isTransfer = true;
    } else {
      actual.calls.push_back({ExpectedCall::Work, stream->second, readText(call, handles)});
    }
  }
  return actual;
}

std::string meshwright::test::describe(const ExpectedCall &call) {
  constexpr const char *names[] = {"compute", "communication", "fetch", "write-back"};
  switch (call.kind) {
  case ExpectedCall::Work:
    return fmt::format("{}: {}", names[call.stream % NumStreams], call.text);
  case ExpectedCall::Record:
    return fmt::format("{}: record", names[call.stream % NumStreams]);
  default:
    return fmt::format("{}: wait for #{}", names[call.stream % NumStreams], call.record);
  }
}
