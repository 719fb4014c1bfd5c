//===- CudaApi.h - the driver's functions -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDAAPI_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDAAPI_H

#include "DynamicLibrary.h"
#include "abi/CudaDriver.h"
#include <type_traits>

namespace meshwright::runtime::cuda {

/// The driver, libcuda.so.1 or what MESHWRIGHT_CUDA_LIBRARY names.
struct CudaApi {
  /// Opens the driver and initializes it.
  static Result<std::unique_ptr<CudaApi>> load();

  /// Success, or an error that says which function failed and how.
  Status check(CUresult result, const char *function) const;

  DynamicLibrary library;
  int version = 0; ///< 12040 is 12.4
#define MW_DECLARE(name, symbol, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  MW_CUDA_FUNCTIONS(MW_DECLARE)
  MW_CUDA_RENAMED_FUNCTIONS(MW_DECLARE)
#undef MW_DECLARE
};

/// Destroys a handle of the driver by one of its functions, in the context that is current.
template <typename Handle> struct Destroyer {
  CUresult (*destroy)(Handle *) = nullptr;
  void operator()(Handle *handle) const { (void)destroy(handle); }
};
template <typename Handle> using Owned = std::unique_ptr<Handle, Destroyer<Handle>>;

using Stream = Owned<CUstream_st>;
using Event = Owned<CUevent_st>;
using Module = Owned<CUmod_st>;
using Graph = Owned<CUgraph_st>;
using GraphExec = Owned<CUgraphExec_st>;

/// Memory of the device whose context is current when it is allocated and freed.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  ~DeviceMemory();
  /// Once, of at least a byte.
  Status allocate(const CudaApi &driver, uint64_t bytes);
  std::byte *get() const { return reinterpret_cast<std::byte *>(address); }

private:
  const CudaApi *api = nullptr;
  CUdeviceptr address = 0;
};

Result<Stream> createStream(const CudaApi &api);
/// An event that measures no time.
Result<Event> createEvent(const CudaApi &api);
/// An event that has a time.
Result<Event> createTimedEvent(const CudaApi &api);
/// Loads code into the context that is current: a cubin, or PTX, which ends with a zero.
Result<Module> loadModule(const CudaApi &api, const char *image);
/// Orders later requests of `stream` after the requests of `other` until now.
Status joinStreams(const CudaApi &api, CUstream stream, CUstream other, CUevent event);

} // namespace meshwright::runtime::cuda

/// Calls a function of a table that `check`s, or returns its error from the enclosing function.
#define MW_CALL(api, name, ...) MW_TRY((api).check((api).name(__VA_ARGS__), #name))

#endif
