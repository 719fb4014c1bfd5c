//===- CudaKernels.cpp - a package's kernels on a GPU ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the library of a package that suits the GPU's architecture, loads it once per device, and keeps the
// arguments of all launches in one array, so that a launch in a step is one call of the driver.
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include <algorithm>
#include <charconv>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

//===----------------------------------------------------------------------===//
// KernelImage
//===----------------------------------------------------------------------===//

/// 90 of `sm_90`; nothing of other targets.
static std::optional<int> getArchitecture(const std::string &target) {
  constexpr std::string_view prefix = "sm_";
  int number = 0;
  if (!target.starts_with(prefix))
    return std::nullopt;
  auto [end, error] = std::from_chars(target.data() + prefix.size(), target.data() + target.size(), number);
  return error == std::errc() && end == target.data() + target.size() ? std::optional(number) : std::nullopt;
}

/// How well a library suits an architecture: 0 not at all, and the highest best.
static int getSuitability(const KernelLibrary &library, int architecture) {
  std::optional<int> made = getArchitecture(library.target());
  if (!made || *made > architecture)
    return 0;
  if (library.format() == KernelLibrary::CUBIN)
    return *made == architecture ? architecture + 1 : 0;
  return library.format() == KernelLibrary::PTX ? *made : 0;
}

/// How a library is called in messages: `sm_90 (PTX)`.
static std::string describe(const KernelLibrary &library) {
  const char *format = library.format() == KernelLibrary::CUBIN ? "cubin"
                       : library.format() == KernelLibrary::PTX ? "PTX"
                                                                : "shared object";
  return fmt::format("{} ({})", library.target(), format);
}

Result<KernelImage> KernelImage::load(const LoadedPackage &package, const std::string &target, int architecture) {
  KernelImage image;
  const auto &libraries = package.message().libraries();
  if (libraries.empty() && target.empty())
    return image;
  std::string others;
  int best = 0;
  for (const KernelLibrary &library : libraries) {
    others += (others.empty() ? "" : ", ") + describe(library);
    int suitability = target.empty() ? getSuitability(library, architecture) : library.target() == target;
    if (suitability <= best)
      continue;
    best = suitability;
    image.library = &library;
  }
  if (!image.library)
    return inputError("the package has no kernels for {}; it has them for {}",
                      target.empty() ? fmt::format("sm_{}, the architecture of the GPU", architecture) : target,
                      others.empty() ? "none" : others);
  if (image.library->gpu_kernels().empty() && image.library->format() == KernelLibrary::SHARED_OBJECT)
    return inputError("the kernels for {} are for a CPU", describe(*image.library));
  image.path = package.getFolder() + "/" + image.library->file();
  MW_TRY_ASSIGN(InputFile file, InputFile::open(image.path));
  MW_TRY(package.checkLibraryFile(*image.library, file.bytes(), image.path));
  image.bytes.assign(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  return image;
}

//===----------------------------------------------------------------------===//
// CudaKernels
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<CudaKernels>> CudaKernels::create(const CudaApi &api, const KernelImage &image) {
  std::unique_ptr<CudaKernels> kernels(new CudaKernels(api, image));
  if (!image.library)
    return kernels;
  for (const GpuKernel &kernel : image.library->gpu_kernels())
    kernels->descriptions[kernel.symbol()] = &kernel;
  auto loaded = loadModule(api, image.bytes.c_str());
  if (!loaded.ok())
    return loaded.status().within(image.path);
  kernels->module = std::move(*loaded);
  return kernels;
}

Result<uint32_t> CudaKernels::prepare(const std::string &symbol, std::span<std::byte *const> buffers) {
  MW_TRY_ASSIGN(const Kernel *kernel, getKernel(symbol));
  size_t first = arguments.size();
  arguments.insert(arguments.end(), buffers.begin(), buffers.end());
  if (kernel->scratchBytes != 0)
    arguments.push_back(nullptr); // until there is scratch memory
  scratchBytes = std::max(scratchBytes, kernel->scratchBytes);
  calls.push_back({kernel, first, (arguments.size() - first) * sizeof(std::byte *)});
  return static_cast<uint32_t>(calls.size() - 1);
}

Status CudaKernels::finish() {
  if (scratchBytes == 0)
    return {};
  MW_TRY(scratch.allocate(api, scratchBytes));
  for (const Call &call : calls)
    if (call.kernel->scratchBytes != 0)
      arguments[call.firstArgument + call.argumentBytes / sizeof(std::byte *) - 1] = scratch.get();
  return {};
}

Result<const CudaKernels::Kernel *> CudaKernels::getKernel(const std::string &symbol) {
  auto [entry, isNew] = kernels.try_emplace(symbol);
  Kernel &kernel = entry->second;
  if (!isNew)
    return &kernel;
  auto description = descriptions.find(symbol);
  if (description == descriptions.end())
    return inputError("{} has no kernel {}", image.library ? image.path : "the package, which has no kernels,", symbol);
  kernel.scratchBytes = description->second->scratch_bytes();
  for (const GpuLaunch &launch : description->second->launches()) {
    auto function = getFunction(launch);
    if (!function.ok())
      return function.status().within(fmt::format("kernel {}", symbol));
    kernel.functions.push_back(*function);
  }
  return &kernel;
}

Result<CudaKernels::Function> CudaKernels::getFunction(const GpuLaunch &launch) const {
  // Beyond this a function has to ask.
  constexpr uint32_t plainSharedBytes = 48 << 10;
  Function function{nullptr, launch.blocks(), launch.threads(), launch.shared_bytes()};
  MW_TRY(api.check(api.cuModuleGetFunction(&function.handle, module.get(), launch.function().c_str()),
                   "cuModuleGetFunction")
             .within(launch.function()));
  if (launch.shared_bytes() > plainSharedBytes)
    MW_CALL(api, cuFuncSetAttribute, function.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            static_cast<int>(launch.shared_bytes()));
  return function;
}

Status CudaKernels::launch(uint32_t number, CUstream stream) const {
  const Call &call = calls[number];
  // The addresses as one block: they are all that a function takes.
  size_t bytes = call.argumentBytes;
  void *block[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte **>(arguments.data() + call.firstArgument),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  for (const Function &function : call.kernel->functions)
    MW_CALL(api, cuLaunchKernel, function.handle, function.blocks, 1, 1, function.threads, 1, 1, function.sharedBytes,
            stream, nullptr, block);
  return {};
}
