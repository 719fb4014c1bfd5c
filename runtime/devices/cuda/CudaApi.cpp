//===- CudaApi.cpp - the driver's functions -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaApi.h"
#include <array>

using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

Result<std::unique_ptr<CudaApi>> CudaApi::load() {
  auto api = std::make_unique<CudaApi>();
  constexpr const char *names[] = {"libcuda.so.1"};
  MW_TRY_ASSIGN(api->library, DynamicLibrary::open("MESHWRIGHT_CUDA_LIBRARY", names));
  MW_TRY(api->library.find(api->cuDriverGetVersion, "cuDriverGetVersion"));
  if (api->cuDriverGetVersion(&api->version) != CUDA_SUCCESS)
    api->version = 0;
  std::string version = fmt::format("{}.{}", api->version / 1000, api->version % 1000 / 10);
#define MW_FIND(name, symbol, ...) MW_TRY(api->library.find(api->name, #symbol, version));
  MW_CUDA_FUNCTIONS(MW_FIND)
#undef MW_FIND
#define MW_FIND_EITHER(name, symbol, ...)                                                                              \
  if (!api->library.find(api->name, #symbol).ok())                                                                     \
    MW_TRY(api->library.find(api->name, #name, version));
  MW_CUDA_RENAMED_FUNCTIONS(MW_FIND_EITHER)
#undef MW_FIND_EITHER
  MW_CALL(*api, cuInit, 0);
  return api;
}

Status CudaApi::check(CUresult result, const char *function) const {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return faultError("{} fails with error {}", function, static_cast<int>(result));
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    text = "no description";
  return faultError("{} fails with {} ({})", function, name, text);
}

DeviceMemory::~DeviceMemory() {
  if (address)
    (void)api->cuMemFree(address);
}

Status DeviceMemory::allocate(const CudaApi &driver, uint64_t bytes) {
  api = &driver;
  return driver.check(driver.cuMemAlloc(&address, bytes), "cuMemAlloc")
      .within(fmt::format("{} bytes of scratch memory cannot be had", bytes));
}

Result<Stream> cuda::createStream(const CudaApi &api) {
  CUstream stream = nullptr;
  MW_CALL(api, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  return Stream(stream, {api.cuStreamDestroy});
}

static Result<Event> createEvent(const CudaApi &api, unsigned flags) {
  CUevent event = nullptr;
  MW_CALL(api, cuEventCreate, &event, flags);
  return Event(event, {api.cuEventDestroy});
}

Result<Event> cuda::createEvent(const CudaApi &api) { return ::createEvent(api, CU_EVENT_DISABLE_TIMING); }
Result<Event> cuda::createTimedEvent(const CudaApi &api) { return ::createEvent(api, CU_EVENT_DEFAULT); }

Result<Module> cuda::loadModule(const CudaApi &api, const char *image) {
  // The assembler's messages about PTX that it refuses.
  std::array<char, 1024> log = {};
  std::array<CUjit_option, 2> options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void *, 2> values = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  CUmodule loaded = nullptr;
  Status status = api.check(api.cuModuleLoadDataEx(&loaded, image, options.size(), options.data(), values.data()),
                            "cuModuleLoadDataEx");
  if (!status.ok())
    return log[0] == 0 ? status : Status(status.code(), fmt::format("{}: {}", status.message(), log.data()));
  return Module(loaded, {api.cuModuleUnload});
}

Status cuda::joinStreams(const CudaApi &api, CUstream stream, CUstream other, CUevent event) {
  MW_CALL(api, cuEventRecord, event, other);
  MW_CALL(api, cuStreamWaitEvent, stream, event, 0);
  return {};
}
