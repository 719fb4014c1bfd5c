//===- CpuDevice.cpp - ranks that compute on the CPU ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are called, products and convolutions are computed by oneDNN or the runtime's own loops, all on the threads
// of the rank: together, or each for itself with a device of one thread. Everything is done when its call returns, but
// for copies that are started: they have a thread for each direction.
//
//===----------------------------------------------------------------------===//

#include "ConvolutionSet.h"
#include "CopyQueue.h"
#include "CpuRates.h"
#include "Threads.h"
#include "meshwright/runtime/Arena.h"
#include "meshwright/runtime/Cpu.h"
#include "meshwright/runtime/KernelLibraries.h"
#include "meshwright/runtime/MatmulSet.h"
#include <map>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

class CpuDevice : public Device {
public:
  CpuDevice(const LoadedKernels &kernels, const std::optional<LinkModel> &hostLink, int threads)
      : kernels(kernels), threads(threads), fetches(hostLink), writeBacks(hostLink) {}

  Status allocate(uint64_t deviceBytes, uint64_t hostBytes, uint64_t) override {
    MW_TRY(arena.allocate(deviceBytes));
    MW_TRY(hostArena.allocate(hostBytes));
    return begin(arena.data(), hostArena.data());
  }
  Status share(const Device &owner, uint64_t) override { return begin(owner.getArena(DEVICE), owner.getArena(HOST)); }

  std::byte *getArena(Memory memory) const override { return memory == HOST ? hostAddress : address; }

  Result<uint32_t> prepareKernel(const std::string &symbol, std::span<const std::span<std::byte>> buffers,
                                 uint32_t numOutputs) override {
    MW_TRY_ASSIGN(const KernelEntry *kernel, kernels.find(symbol, buffers, numOutputs));
    calls.push_back({kernel->function, threads > 1 ? kernel->division : nullptr, arguments.size()});
    for (std::span<std::byte> buffer : buffers)
      arguments.push_back(buffer.data());
    return static_cast<uint32_t>(calls.size() - 1);
  }

  Result<uint32_t> prepareMatmul(const Instruction &instruction, const MatmulAddresses &at) override {
    if (auto known = firstMatmuls.find(&instruction); known != firstMatmuls.end())
      return matmuls->prepareAgain(known->second, at.lhs, at.rhs, at.out, at.rhsVersion);
    MW_TRY_ASSIGN(uint32_t number,
                  matmuls->prepare(instruction.matmul(), at.lhs, at.rhs, at.out, instruction.name(), at.rhsVersion));
    firstMatmuls[&instruction] = number;
    return number;
  }
  bool hasEpilogue(uint32_t) const override { return false; }

  Result<uint32_t> prepareConvolution(const Instruction &instruction, const std::byte *lhs, const std::byte *rhs,
                                      std::byte *out) override {
    if (auto known = firstConvolutions.find(&instruction); known != firstConvolutions.end())
      return convolutions->prepareAgain(known->second, lhs, rhs, out);
    MW_TRY_ASSIGN(uint32_t number, convolutions->prepare(instruction.convolution(), lhs, rhs, out, instruction.name()));
    firstConvolutions[&instruction] = number;
    return number;
  }

  Result<uint32_t> prepareCopy(std::byte *to, const std::byte *from, uint64_t bytes, CopyPath path) override {
    uint32_t queued = 0;
    if (path != CopyPath::Within) {
      MW_TRY_ASSIGN(queued, getQueue(path).prepare(to, from, bytes));
    }
    copies.push_back({path, queued, to, from, bytes});
    return static_cast<uint32_t>(copies.size() - 1);
  }

  Status finishPreparation() override {
    MW_TRY(convolutions->finish());
    return matmuls->finish();
  }

  int getNumThreads() const override { return getNumParts(threads); }
  Result<std::unique_ptr<Device>> createThreadDevice() override {
    return std::unique_ptr<Device>(std::make_unique<CpuDevice>(kernels, std::nullopt, 1));
  }
  void runOnThreads(const std::function<void(int thread)> &work) override {
    auto runOne = [](void *work, int thread, int) { (*static_cast<const std::function<void(int)> *>(work))(thread); };
    runParts(threads, runOne, const_cast<std::function<void(int)> *>(&work));
  }

  Status launch(uint32_t kernel) override {
    const Call &call = calls[kernel];
    void *const *buffers = arguments.data() + call.firstArgument;
    if (const KernelDivision *division = call.division)
      divide(threads, division->iterations, division->grain,
             [&](int, int64_t begin, int64_t end) { division->function(buffers, begin, end); });
    else
      call.function(buffers);
    return {};
  }
  Status multiply(uint32_t matmul) override { return matmuls->execute(matmul); }
  Status convolve(uint32_t convolution) override { return convolutions->execute(convolution); }
  Status store(std::byte *to, int32_t value) override {
    std::memcpy(to, &value, sizeof(value));
    return {};
  }

  Status copy(uint32_t number) override {
    const Copy &copy = copies[number];
    if (copy.path == CopyPath::Within) {
      std::memmove(copy.to, copy.from, copy.bytes);
      return {};
    }
    MW_TRY(startCopy(number));
    return waitCopy(number);
  }
  Status startCopy(uint32_t number) override { return getQueue(copies[number].path).start(copies[number].queued); }
  Status waitCopy(uint32_t number) override { return getQueue(copies[number].path).wait(copies[number].queued); }

  Status finishStep() override {
    fetches.finish();
    writeBacks.finish();
    return {};
  }

  Result<std::span<std::byte>> prepareReadings(std::span<const std::span<const std::byte>> described) override {
    scalars.assign(described.begin(), described.end());
    readings.resize(2 * scalars.size() * scalarBytes);
    return std::span(readings);
  }
  Status beginReadings(uint32_t) override { return {}; }
  Status takeReadings(uint32_t place) override {
    for (size_t i = 0; i != scalars.size(); ++i)
      if (!scalars[i].empty())
        std::memcpy(&readings[(place * scalars.size() + i) * scalarBytes], scalars[i].data(), scalars[i].size());
    return {};
  }
  Result<double> finishReadings(uint32_t) override { return 0; }

  Status write(std::byte *to, std::span<const std::byte> from) override {
    if (!from.empty())
      std::memcpy(to, from.data(), from.size());
    return {};
  }
  Status read(std::span<std::byte> to, const std::byte *from) const override {
    if (!to.empty())
      std::memcpy(to.data(), from, to.size());
    return {};
  }
  bool isAddressable() const override { return true; }

  Status beginTrace() override {
    marks.clear();
    return {};
  }
  Status mark() override {
    marks.push_back(TimeRange::now());
    return {};
  }
  Result<DeviceTrace> endTrace() override { return DeviceTrace{std::move(marks), {}}; }

  Result<std::optional<DeviceRates>> measureRates(std::span<const DType> types) override {
    MW_TRY_ASSIGN(DeviceRates rates, measureCpuRates(threads, types));
    return std::optional(std::move(rates));
  }

  uint64_t getScratchBytes() const override { return matmuls->getScratchBytes() + convolutions->getScratchBytes(); }
  std::vector<std::string> getWarnings() const override {
    std::vector<std::string> warnings = matmuls->getWarnings();
    std::ranges::copy(convolutions->getWarnings(), std::back_inserter(warnings));
    return warnings;
  }

  void setProfiling(bool on) override {
    fetches.setProfiling(on);
    writeBacks.setProfiling(on);
  }
  double getCopySeconds(uint32_t number) const override {
    return (copies[number].path == CopyPath::ToHost ? writeBacks : fetches).getCpuSeconds(copies[number].queued);
  }

private:
  struct Call {
    KernelFn function;
    const KernelDivision *division; // null: one thread
    size_t firstArgument;
  };
  struct Copy {
    CopyPath path;
    uint32_t queued; // its number in the queue of its direction
    std::byte *to;
    const std::byte *from;
    uint64_t bytes;
  };

  Status begin(std::byte *used, std::byte *usedOfHost) {
    address = used;
    hostAddress = usedOfHost;
    MW_TRY_ASSIGN(matmuls, MatmulSet::create(threads));
    MW_TRY_ASSIGN(convolutions, ConvolutionSet::create(threads));
    return {};
  }
  CopyQueue &getQueue(CopyPath path) { return path == CopyPath::ToHost ? writeBacks : fetches; }

  const LoadedKernels &kernels;
  int threads;
  Arena arena, hostArena;
  /// The arenas in use, its own or others.
  std::byte *address = nullptr, *hostAddress = nullptr;
  std::unique_ptr<MatmulSet> matmuls;
  std::unique_ptr<ConvolutionSet> convolutions;
  /// The first number of every product and convolution.
  std::map<const Instruction *, uint32_t> firstMatmuls, firstConvolutions;
  std::vector<Call> calls;
  /// The arguments of all calls, one after the other.
  std::vector<void *> arguments;
  std::vector<Copy> copies;
  /// The values read after every step.
  std::vector<std::span<const std::byte>> scalars;
  std::vector<std::byte> readings;
  std::vector<int64_t> marks;
  /// After the arenas, so that copies are over before their memory is freed.
  CopyQueue fetches, writeBacks;
};

class CpuPlatform : public Platform {
public:
  CpuPlatform(World &world, LoadedKernels kernels, const PlatformOptions &options, int threads)
      : world(world), kernels(std::move(kernels)), hostLink(options.hostLink), threads(threads) {}

  const std::string &getTarget() const override { return kernels.getTarget(); }
  void prepareThread() override {
    flushDenormals();
    setLibraryThreads(threads);
  }
  Result<std::unique_ptr<Device>> createDevice(int64_t) override {
    return std::unique_ptr<Device>(std::make_unique<CpuDevice>(kernels, hostLink, threads));
  }
  Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options,
                                                 std::span<const std::unique_ptr<Device>>) override {
    return world.createBackend(options);
  }

private:
  World &world;
  LoadedKernels kernels;
  std::optional<LinkModel> hostLink;
  int threads;
};

} // namespace

static Result<std::unique_ptr<Platform>> createCpuPlatform(const LoadedPackage &package, World &world, int64_t numRanks,
                                                           const PlatformOptions &options) {
  auto kernels = LoadedKernels::load(package, options.target);
  MW_TRY(world.agree(kernels.status()));
  int64_t ranksOfHost = (numRanks * world.getNumProcessesOfHost() - 1) / world.getNumProcesses() + 1;
  int threads = options.threads == 0 ? getUsualThreads(ranksOfHost) : options.threads;
  return std::unique_ptr<Platform>(std::make_unique<CpuPlatform>(world, std::move(*kernels), options, threads));
}

const DeviceKind meshwright::runtime::cpuKind = {"cpu", "threads for each rank", true, false, false,
                                                 {},    createCpuPlatform};
