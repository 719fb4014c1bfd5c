//===- CudaRanges.cpp - ranges that profilers show ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRanges.h"
#include "abi/Nvtx.h"
#include <array>
#include <cstdlib>
#include <dlfcn.h>

using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

namespace {

/// The functions of a module that a profiler has, and the places where it writes their addresses.
struct Module {
  explicit Module(unsigned size) : size(size) {
    for (unsigned i = 1; i < size; ++i)
      places[i] = &functions[i];
  }
  unsigned size; ///< The numbers of NVTX 3 end before it.
  std::array<NvtxFunctionPointer, 16> functions = {};
  std::array<NvtxFunctionPointer *, 17> places = {}; ///< The last one is null, as the first one is.
};

/// By NvtxCallbackModule. Profilers write to all modules that they know, so each has its places, although only ranges
/// are called.
Module *findModule(unsigned number) {
  static std::array<Module, 7> modules = {Module(0), Module(16), Module(9), Module(15),
                                          Module(7), Module(16), Module(7)};
  return number > 0 && number < modules.size() ? &modules[number] : nullptr;
}

int getModuleFunctionTable(NvtxCallbackModule number, NvtxFunctionTable *table, unsigned *size) {
  Module *module = findModule(number);
  if (!module)
    return 0;
  if (table)
    *table = module->places.data();
  if (size)
    *size = module->size;
  return 1;
}

const void *getExportTable(uint32_t table) {
  static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), getModuleFunctionTable};
  static const NvtxExportTableVersionInfo version = {sizeof(version), nvtxVersion, 0, [](uint32_t) {}};
  switch (table) {
  case NVTX_ETID_CALLBACKS:
    return &callbacks;
  case NVTX_ETID_VERSIONINFO:
    return &version;
  default:
    return nullptr;
  }
}

/// Ranges of a profiler; both are null where there is none.
struct Profiler {
  int (*push)(const char *) = nullptr;
  int (*pop)() = nullptr;
};

Profiler openProfiler() {
  const char *path = std::getenv("NVTX_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_LAZY) : nullptr;
  if (!library)
    return {};
  auto initialize = reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(dlsym(library, "InitializeInjectionNvtx2"));
  if (!initialize || initialize(getExportTable) == 0) {
    dlclose(library);
    return {};
  }
  const auto &functions = findModule(NVTX_CB_MODULE_CORE)->functions;
  Profiler profiler = {reinterpret_cast<int (*)(const char *)>(functions[NVTX_CBID_CORE_RangePushA]),
                       reinterpret_cast<int (*)()>(functions[NVTX_CBID_CORE_RangePop])};
  // A depth below zero says that the profiler follows no ranges.
  if (!profiler.push || !profiler.pop || profiler.push("meshwright") < 0)
    return {};
  profiler.pop();
  return profiler;
}

const Profiler &getProfiler() {
  static const Profiler profiler = openProfiler();
  return profiler;
}

} // namespace

bool cuda::isProfilerThere() { return getProfiler().push != nullptr; }
void cuda::pushRange(const char *name) {
  if (const Profiler &profiler = getProfiler(); profiler.push)
    profiler.push(name);
}
void cuda::popRange() {
  if (const Profiler &profiler = getProfiler(); profiler.pop)
    profiler.pop();
}
