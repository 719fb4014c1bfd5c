//===- CudaPlatform.cpp - GPUs of NVIDIA ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "NcclBackend.h"
#include "OneGpuBackend.h"
#include "meshwright/runtime/Cuda.h"
#include <array>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

static constexpr DeviceBackend backends[] = {{"nccl", "a GPU each, connected by NCCL", false},
                                             {"onegpu", "all ranks on one GPU, in its memory", true}};

static Result<int> getDeviceCount(const CudaApi &api) {
  int count = 0;
  MW_CALL(api, cuDeviceGetCount, &count);
  return count;
}

namespace {

class CudaPlatform : public Platform {
public:
  CudaPlatform(World &world, int64_t numRanks) : world(world), numRanks(numRanks) {}

  Status prepare(const LoadedPackage &package, const PlatformOptions &options) {
    shared.options = options;
    const DeviceBackend *backend = cudaKind.findBackend(options.backend);
    if (!backend)
      return usageError("GPUs of NVIDIA have no backend \"{}\"", options.backend);
    isShared = backend->sharesDevice;
    shared.options.recordsSteps &= !isShared;
    if (isShared && !world.isAlone())
      return usageError("ranks that share one GPU are of one process, but the run has {}", world.getNumProcesses());
    MW_TRY_ASSIGN(shared.api, CudaApi::load());
    MW_TRY_ASSIGN(shared.lt, CublasLtApi::load());
    MW_TRY_ASSIGN(int architecture, getArchitecture());
    MW_TRY_ASSIGN(shared.image, KernelImage::load(package, options.target, architecture));
    target = shared.image.getTarget();
    return {};
  }

  /// Among processes that see the same GPUs, earlier ones have the first of them. The launcher may give
  /// each the sight of its own alone.
  Status placeRanks() {
    Bytes mine;
    MW_TRY(world.agree(listGpus(mine)));
    MW_TRY_ASSIGN(std::vector<Bytes> all, world.gatherForAll(mine));
    for (int64_t process = 0; process != world.getProcess(); ++process)
      if (all[process] == mine)
        firstOrdinal += world.getRanks(numRanks, process).size();
    return {};
  }

  const std::string &getTarget() const override { return target; }

  Result<std::unique_ptr<Device>> createDevice(int64_t rank) override {
    int64_t ordinal = isShared ? 0 : firstOrdinal + rank - world.getRanks(numRanks).begin;
    MW_TRY_ASSIGN(int count, getDeviceCount(*shared.api));
    if (ordinal >= count)
      return faultError("rank {} wants GPU {} but this machine has {}", rank, ordinal, count);
    MW_TRY_ASSIGN(std::unique_ptr<CudaDevice> device, CudaDevice::create(shared, static_cast<int>(ordinal)));
    return std::unique_ptr<Device>(std::move(device));
  }

  Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options,
                                                 std::span<const std::unique_ptr<Device>> devices) override {
    MW_TRY_ASSIGN(std::unique_ptr<Backend> backend,
                  isShared ? OneGpuBackend::create(options, devices) : NcclBackend::create(world, options, devices));
    return world.decorate(std::move(backend), options);
  }

private:
  /// The host's name and a number for each GPU that no other process's has.
  Status listGpus(Bytes &list) const {
    std::array<char, 256> name = {};
    gethostname(name.data(), name.size() - 1);
    auto add = [&](const auto &value) {
      auto bytes = std::as_bytes(std::span(&value, 1));
      list.insert(list.end(), bytes.begin(), bytes.end());
    };
    add(name);
    MW_TRY_ASSIGN(int count, getDeviceCount(*shared.api));
    for (int ordinal = 0; ordinal != count; ++ordinal) {
      CUdevice device = 0;
      CUuuid number = {};
      MW_CALL(*shared.api, cuDeviceGet, &device, ordinal);
      MW_CALL(*shared.api, cuDeviceGetUuid, &number, device);
      add(number);
    }
    return {};
  }

  /// That of the first GPU: 90 for a compute capability of 9.0.
  Result<int> getArchitecture() const {
    int major = 0, minor = 0;
    MW_TRY_ASSIGN(int count, getDeviceCount(*shared.api));
    if (count == 0)
      return faultError("this machine has no GPU that CUDA knows");
    CUdevice device = 0;
    MW_CALL(*shared.api, cuDeviceGet, &device, 0);
    MW_CALL(*shared.api, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    MW_CALL(*shared.api, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    return major * 10 + minor;
  }

  World &world;
  int64_t numRanks, firstOrdinal = 0;
  bool isShared = false;
  CudaShared shared;
  std::string target;
};

} // namespace

static Result<std::unique_ptr<Platform>> createCudaPlatform(const LoadedPackage &package, World &world,
                                                            int64_t numRanks, const PlatformOptions &options) {
  auto platform = std::make_unique<CudaPlatform>(world, numRanks);
  MW_TRY(world.agree(platform->prepare(package, options)));
  MW_TRY(platform->placeRanks());
  return std::unique_ptr<Platform>(std::move(platform));
}

static Result<int64_t> countGpus() {
  MW_TRY_ASSIGN(std::unique_ptr<CudaApi> api, CudaApi::load());
  MW_TRY_ASSIGN(int count, getDeviceCount(*api));
  return int64_t(count);
}

const DeviceKind meshwright::runtime::cudaKind = {
    "cuda", "an NVIDIA GPU for each rank", false, true, true, backends, createCudaPlatform, countGpus};
