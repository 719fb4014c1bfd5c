//===- Platform.h - kinds of devices ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PLATFORM_H
#define MESHWRIGHT_RUNTIME_PLATFORM_H

#include "meshwright/runtime/Device.h"
#include "meshwright/runtime/Package.h"
#include "meshwright/runtime/World.h"

namespace meshwright::runtime {

/// What the ranks of a run compute on, and how they reach each other there. A rank's device is made first, then the
/// backend of all ranks of the process, which is gone before them, as they are before their platform.
class Platform {
public:
  virtual ~Platform() = default;
  /// The target whose kernels run; empty for a package that has none.
  virtual const std::string &getTarget() const = 0;
  /// The device of a rank of this process.
  virtual Result<std::unique_ptr<Device>> createDevice(int64_t rank) = 0;
  /// The backend of the ranks that compute on `devices`, which are those of this process in their order.
  virtual Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options,
                                                         std::span<const std::unique_ptr<Device>> devices) = 0;
};

/// The CPU, with the kernels for `target` or, where it is empty, the first that this CPU can run. `hostLink` delays
/// copies between the memories; ranks reach each other as `world` has it. Package and world outlive the platform.
Result<std::unique_ptr<Platform>> createCpuPlatform(const LoadedPackage &package, World &world,
                                                    const std::string &target,
                                                    const std::optional<LinkModel> &hostLink);

struct CudaOptions {
  /// The target whose kernels are loaded; empty for the GPU's own.
  std::string target;
  /// Lets products of f32 round their operands to 10 bits of fraction, as TF32 does.
  bool allowTf32 = false;
  /// Records steps as graphs.
  bool useGraphs = true;
  /// All ranks share the first GPU, with memory and streams of their own, and reach each other there without NCCL; they
  /// are of one process. Steps are not recorded then.
  bool oneGpu = false;
  /// After so many seconds in which a GPU does not come to the end of what it was asked for, it has failed.
  double timeoutSeconds = 600;
};

/// GPUs of NVIDIA, one for each of so many ranks or one for all, through the driver, cuBLASLt and, between GPUs, NCCL:
/// they are opened when asked for. The ranks of a machine take its GPUs in their order. Errors say what is missing.
/// Called by all processes. Package and world outlive the platform.
Result<std::unique_ptr<Platform>> createCudaPlatform(const LoadedPackage &package, World &world, int64_t numRanks,
                                                     const CudaOptions &options);

/// How many GPUs of NVIDIA this machine has; an error where it has no driver for them.
Result<int64_t> countGpus();

} // namespace meshwright::runtime

#endif
