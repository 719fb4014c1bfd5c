//===- KernelLibraries.cpp - compiled kernels of a package ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/KernelLibraries.h"
#include <dlfcn.h>
#include <fmt/ranges.h>
#include <fstream>
#include <set>
#include <sstream>

using namespace meshwright;
using namespace meshwright::runtime;

/// `avx512_bf16`, `avx512-bf16` and `+avx512bf16` are one.
static std::string normalizeFeature(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c != '_' && c != '-' && c != '.' && c != '+')
      result += c;
  // LLVM counts from the second one on.
  return result == "bmi" ? "bmi1" : result;
}

/// Features that code generators use for ordinary code and that every /proc/cpuinfo names if they are there. Others are
/// taken on trust: a kernel may be older than a CPU's newest features.
static bool matters(const std::string &feature) {
  static const std::set<std::string> known = {
      "avx",        "avx2",       "fma",         "f16c",       "bmi1",         "bmi2",
      "avx512f",    "avx512cd",   "avx512bw",    "avx512dq",   "avx512vl",     "avx512er",
      "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512bitalg", "avx512vpopcntdq",
      "avx512bf16", "avx512fp16", "amxtile",     "amxint8",    "amxbf16"};
  return known.contains(feature);
}

std::vector<std::string> meshwright::runtime::getMissingFeatures(std::span<const std::string> wanted,
                                                                 std::string_view flags) {
  std::set<std::string> present;
  std::istringstream words{std::string(flags)};
  for (std::string word; words >> word;)
    present.insert(normalizeFeature(word));
  std::vector<std::string> missing;
  for (const std::string &feature : wanted)
    if (std::string name = normalizeFeature(feature);
        matters(name) && !feature.starts_with("-") && !present.contains(name))
      missing.push_back(feature);
  return missing;
}

static std::string readCpuFlags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags"))
      if (size_t colon = line.find(':'); colon != std::string::npos)
        return line.substr(colon + 1);
  return "";
}

Result<LoadedKernels> LoadedKernels::load(const LoadedPackage &package, const std::string &target) {
  LoadedKernels kernels;
  const auto &libraries = package.message().libraries();
  if (libraries.empty() && target.empty())
    return kernels;
  std::string flags = readCpuFlags();
  std::vector<std::string> reasons;
  const KernelLibrary *chosen = nullptr;
  for (const KernelLibrary &library : libraries) {
    bool isForGpu = library.format() != KernelLibrary::SHARED_OBJECT || !library.gpu_kernels().empty();
    if (isForGpu || (!target.empty() && library.target() != target)) {
      reasons.push_back(library.target() + (isForGpu ? " (for a GPU)" : ""));
      continue;
    }
    std::vector<std::string> wanted(library.cpu_features().begin(), library.cpu_features().end());
    std::vector<std::string> missing = flags.empty() ? std::vector<std::string>() : getMissingFeatures(wanted, flags);
    if (missing.empty()) {
      chosen = &library;
      break;
    }
    reasons.push_back(fmt::format("{} (needs {})", library.target(), fmt::join(missing, ", ")));
  }
  if (!chosen)
    return inputError("the package has no kernels for {}; it has them for {}", target.empty() ? "this CPU" : target,
                      reasons.empty() ? "none" : fmt::format("{}", fmt::join(reasons, "; ")));
  kernels.target = chosen->target();
  kernels.path = package.getFolder() + "/" + chosen->file();
  // Without a slash the loader would search its own folders.
  if (kernels.path.find('/') == std::string::npos)
    kernels.path = "./" + kernels.path;
  MW_TRY_ASSIGN(InputFile file, InputFile::open(kernels.path));
  MW_TRY(package.checkLibraryFile(*chosen, file.bytes(), kernels.path));
  void *handle = dlopen(kernels.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return inputError("the kernels cannot be loaded: {}", dlerror());
  kernels.handle = std::shared_ptr<void>(handle, [](void *library) { dlclose(library); });
  return kernels;
}

Status LoadedKernels::checkArguments(const std::string &symbol, std::span<const std::span<std::byte>> arguments) const {
  const auto *extents = static_cast<const uint64_t *>(dlsym(handle.get(), (symbol + "_bytes").c_str()));
  if (!extents)
    return {};
  if (extents[0] != arguments.size())
    return inputError("kernel {} takes {} buffers but is given {}", symbol, extents[0], arguments.size());
  for (size_t i = 0; i != arguments.size(); ++i)
    if (extents[i + 1] > arguments[i].size())
      return inputError("argument {} of kernel {} is to have {} bytes but its buffer has {}", i, symbol, extents[i + 1],
                        arguments[i].size());
  return {};
}

Result<KernelFn> LoadedKernels::find(const std::string &symbol, std::span<const std::span<std::byte>> arguments) const {
  void *address = handle ? dlsym(handle.get(), symbol.c_str()) : nullptr;
  if (!address)
    return inputError("{} has no kernel {}", handle ? path : "the package, which has no kernels,", symbol);
  MW_TRY(checkArguments(symbol, arguments));
  return reinterpret_cast<KernelFn>(address);
}
