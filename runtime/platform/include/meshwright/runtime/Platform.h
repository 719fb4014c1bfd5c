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

/// The devices that the ranks of a run compute on, and the backend by which they reach each other. A rank's device is
/// made first, then the backend of all ranks of the process, which is gone before them, as they are before their
/// platform.
class Platform {
public:
  virtual ~Platform() = default;
  /// The target whose kernels run; empty for a package that has none.
  virtual const std::string &getTarget() const = 0;
  /// Prepares the calling thread, which is that of a rank of this process, before the rank uses its device.
  virtual void prepareThread() {}
  /// The device of a rank of this process.
  virtual Result<std::unique_ptr<Device>> createDevice(int64_t rank) = 0;
  /// The backend of the ranks that compute on `devices`, which are those of this process in their order.
  virtual Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options,
                                                         std::span<const std::unique_ptr<Device>> devices) = 0;
};

/// Options of a run for its platform. A kind ignores options that it has no use for; `DeviceKind` says which.
struct PlatformOptions {
  /// The target whose kernels are loaded; empty for the first that the device can run.
  std::string target = {};
  /// The backend of the kind by which ranks reach each other; empty for its first one.
  std::string backend = {};
  /// Threads that a rank computes on; 0 for those of OMP_NUM_THREADS or, without it, this host's cores shared by its
  /// ranks.
  int threads = 1;
  /// The link between device and host, in each direction, that their copies are delayed by.
  std::optional<LinkModel> hostLink = {};
  /// Lets products of f32 round their operands to 10 bits of fraction, as TF32 does.
  bool allowTf32 = false;
  /// Records steps, where kind and backend can.
  bool recordsSteps = true;
  /// After so many seconds in which a device does not come to the end of what it was asked for, it has failed.
  double timeoutSeconds = 600;
};

/// A backend that a kind of devices brings for its ranks, beside those of worlds.
struct DeviceBackend {
  /// As `--comm` has it: `nccl`.
  std::string_view name;
  /// Says in `--help` how ranks reach each other.
  std::string_view help;
  /// True if ranks share a device. Then they are of one process, and steps are not recorded.
  bool sharesDevice;
};

/// A kind of devices that ranks can compute on: a row of the table in Catalog.h, filled by the library of the kind.
struct DeviceKind {
  /// As `--device` and messages have it: `cuda`.
  std::string_view name;
  /// Says in `--help` what a rank gets.
  std::string_view help;
  /// True if ranks compute in the memory of the host and send from there. Then worlds have their backends, links can be
  /// modelled, and messages be checked.
  bool computesOnHost;
  /// True if products can round their operands to TF32; true if steps can be recorded.
  bool hasTf32, recordsSteps;
  /// The backends that it brings, the usual one first; none for ranks that use those of worlds.
  std::span<const DeviceBackend> backends;
  /// Makes the platform of so many ranks over all processes, which all call it and get the same error. Package and
  /// world outlive it.
  Result<std::unique_ptr<Platform>> (*createPlatform)(const LoadedPackage &package, World &world, int64_t numRanks,
                                                      const PlatformOptions &options);
  /// The number of devices of this machine, one for each rank; an error where it has no driver for them. Null for a
  /// kind whose ranks share what there is.
  Result<int64_t> (*countDevices)() = nullptr;

  /// The backend of that name, the first one for an empty name; null where there is none.
  const DeviceBackend *findBackend(std::string_view backend) const {
    for (const DeviceBackend &candidate : backends)
      if (backend.empty() || candidate.name == backend)
        return &candidate;
    return nullptr;
  }
};

} // namespace meshwright::runtime

#endif
