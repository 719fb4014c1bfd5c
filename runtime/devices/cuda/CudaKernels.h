//===- CudaKernels.h - a package's kernels on a GPU -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDAKERNELS_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDAKERNELS_H

#include "CudaApi.h"
#include "meshwright/runtime/Package.h"
#include <map>

namespace meshwright::runtime::cuda {

/// The code of a library, read once for all devices. Without one there are no kernels.
struct KernelImage {
  const KernelLibrary *library = nullptr;
  std::string path;
  /// Ends with a zero, as text has to.
  std::string bytes;

  /// The library of that target or, where it is empty, the one for exactly that architecture (90 is sm_90), or else the
  /// newest portable one that it can run. A package without libraries has an image without kernels.
  static Result<KernelImage> load(const LoadedPackage &package, const std::string &target, int architecture);
  std::string getTarget() const { return library ? library->target() : ""; }
};

/// The kernels of an image, loaded into a device's context.
class CudaKernels {
public:
  static Result<std::unique_ptr<CudaKernels>> create(const CudaApi &api, const KernelImage &image);

  /// Describes a call with these buffers; returns its number.
  Result<uint32_t> prepare(const std::string &symbol, std::span<std::byte *const> buffers);
  /// Allocates the scratch memory. Nothing is prepared afterwards.
  Status finish();
  /// Launches the functions of a call, one after the other. All calls use the same scratch memory, so they are launched
  /// on one stream.
  Status launch(uint32_t number, CUstream stream) const;
  uint64_t getScratchBytes() const { return scratchBytes; }

private:
  struct Function {
    CUfunction handle;
    uint32_t blocks, threads, sharedBytes;
  };
  struct Kernel {
    std::vector<Function> functions;
    uint64_t scratchBytes = 0;
  };
  struct Call {
    const Kernel *kernel;
    size_t firstArgument, argumentBytes;
  };
  CudaKernels(const CudaApi &api, const KernelImage &image) : api(api), image(image) {}
  Result<const Kernel *> getKernel(const std::string &symbol);
  Result<Function> getFunction(const GpuLaunch &launch) const;

  const CudaApi &api;
  const KernelImage &image;
  Module module;
  std::map<std::string, const GpuKernel *> descriptions;
  std::map<std::string, Kernel> kernels;
  std::vector<Call> calls;
  /// The arguments of all calls, one after the other, as the driver copies them.
  std::vector<std::byte *> arguments;
  DeviceMemory scratch;
  /// The need of the kernel that needs most.
  uint64_t scratchBytes = 0;
};

} // namespace meshwright::runtime::cuda

#endif
