//===- Driver.cpp - the driver's functions --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements functions of the CUDA driver that the runtime calls. Memory is the host's, filled with a pattern when it
// is allocated, and calls check their addresses, so that errors which a GPU would let pass show here.
//
//===----------------------------------------------------------------------===//

#include "DriverStub.h"
#include <cstdlib>
#include <cstring>

using namespace meshwright::stub;

namespace {

struct Allocation {
  uint64_t bytes;
  Live live;
};

/// The objects that the process has made. Handles of the driver are their addresses.
struct Driver {
  std::mutex mutex;
  std::map<uintptr_t, Allocation> memory;
  std::map<int, int> retained;
};

Driver &getDriver() {
  static Driver driver;
  return driver;
}

/// The device whose context is the thread's, or -1.
thread_local int current = -1;

CUresult toResult(StreamStatus status) {
  switch (status) {
  case StreamStatus::Ok:
    return CUDA_SUCCESS;
  case StreamStatus::Capturing:
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  case StreamStatus::NotCapturing:
    return CUDA_ERROR_ILLEGAL_STATE;
  case StreamStatus::Isolated:
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  default:
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
}

/// True if the bytes lie in one allocation.
bool isAllocated(CUdeviceptr address, uint64_t bytes) {
  if (isAnyMemoryTaken())
    return true;
  Driver &driver = getDriver();
  std::lock_guard held(driver.mutex);
  auto next = driver.memory.upper_bound(address);
  if (next == driver.memory.begin())
    return false;
  auto &[begin, allocation] = *--next;
  return address + bytes <= begin + allocation.bytes;
}

CUresult allocate(void **address, uint64_t bytes) {
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  // No more than what a large GPU has.
  if (bytes > uint64_t(192) << 30)
    return CUDA_ERROR_OUT_OF_MEMORY;
  void *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // Fill the memory with a pattern, so that a read of unwritten memory shows.
  std::memset(memory, 0xa5, bytes);
  Driver &driver = getDriver();
  std::lock_guard held(driver.mutex);
  driver.memory[reinterpret_cast<uintptr_t>(memory)].bytes = bytes;
  *address = memory;
  return CUDA_SUCCESS;
}

CUresult release(void *address) {
  Driver &driver = getDriver();
  {
    std::lock_guard held(driver.mutex);
    if (driver.memory.erase(reinterpret_cast<uintptr_t>(address)) == 0)
      return CUDA_ERROR_INVALID_VALUE;
  }
  std::free(address);
  return CUDA_SUCCESS;
}

/// Work on memory, in its stream's turn.
CUresult copy(Call &call, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle) {
  Stream &stream = getStream(handle);
  call.note("stream", stream.id).note("to", to).note("from", from).note("bytes", bytes);
  if (call.fails())
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (!isAllocated(to, bytes) || !isAllocated(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  stream.push(
      [to, from, bytes] { std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes); });
  return CUDA_SUCCESS;
}

template <typename T> CUresult fill(Call &call, CUdeviceptr to, T value, size_t count, CUstream handle) {
  Stream &stream = getStream(handle);
  call.note("stream", stream.id).note("to", to).note("bytes", count * sizeof(T)).note("value", value);
  if (call.fails())
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (!isAllocated(to, count * sizeof(T)))
    return CUDA_ERROR_INVALID_VALUE;
  stream.push([to, value, count] {
    for (size_t i = 0; i != count; ++i)
      std::memcpy(reinterpret_cast<char *>(to) + i * sizeof(T), &value, sizeof(T));
  });
  return CUDA_SUCCESS;
}

} // namespace

Stream &meshwright::stub::getStream(void *handle) { return *static_cast<Stream *>(handle); }

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

MW_STUB(cuInit)(unsigned) { return Call("cuInit").fails() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; }

MW_STUB(cuDriverGetVersion)(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

MW_STUB(cuGetErrorName)(CUresult error, const char **name) {
  static const std::map<CUresult, const char *> names = {
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
      {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
      {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
      {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
      {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
      {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
      {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"}};
  auto known = names.find(error);
  *name = known == names.end() ? nullptr : known->second;
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

MW_STUB(cuGetErrorString)(CUresult, const char **text) {
  *text = "of the stub";
  return CUDA_SUCCESS;
}

MW_STUB(cuDeviceGetCount)(int *count) {
  Call call("cuDeviceGetCount");
  *count = getNumDevices();
  return call.fails() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

MW_STUB(cuDeviceGet)(CUdevice *device, int ordinal) {
  Call call("cuDeviceGet");
  *device = ordinal;
  return call.fails() || ordinal >= getNumDevices() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

/// That of the machine, however many of its GPUs the process sees.
MW_STUB(cuDeviceGetUuid_v2)(CUuuid *number, CUdevice device) {
  Call call("cuDeviceGetUuid");
  std::memset(number, 0, sizeof(*number));
  number->bytes[0] = static_cast<char>(getPhysicalDevice(device));
  return call.fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/// An architecture of its own: 9.0.
MW_STUB(cuDeviceGetAttribute)(int *value, CUdevice_attribute attribute, CUdevice) {
  Call call("cuDeviceGetAttribute");
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
  return call.fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

MW_STUB(cuDevicePrimaryCtxRetain)(CUcontext *context, CUdevice device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (call.note("device", device).fails())
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard held(getDriver().mutex);
  ++getDriver().retained[device];
  *context = reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device) + 1);
  return CUDA_SUCCESS;
}

MW_STUB(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  Call call("cuDevicePrimaryCtxRelease");
  std::lock_guard held(getDriver().mutex);
  return --getDriver().retained[device] < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

MW_STUB(cuCtxSetCurrent)(CUcontext context) {
  Call call("cuCtxSetCurrent");
  if (call.fails())
    return CUDA_ERROR_INVALID_CONTEXT;
  current = static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

MW_STUB(cuMemGetInfo_v2)(size_t *free, size_t *total) {
  Call call("cuMemGetInfo");
  *free = *total = size_t(192) << 30;
  return call.fails() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

MW_STUB(cuMemAlloc_v2)(CUdeviceptr *address, size_t bytes) {
  Call call("cuMemAlloc");
  if (current < 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  void *memory = nullptr;
  CUresult result = call.fails() ? CUDA_ERROR_OUT_OF_MEMORY : allocate(&memory, bytes);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  call.note("device", current).note("address", memory).note("bytes", bytes);
  return result;
}

MW_STUB(cuMemFree_v2)(CUdeviceptr address) {
  Call call("cuMemFree");
  call.note("address", address);
  return release(reinterpret_cast<void *>(address));
}

MW_STUB(cuMemHostAlloc)(void **address, size_t bytes, unsigned) {
  Call call("cuMemHostAlloc");
  CUresult result = call.fails() ? CUDA_ERROR_OUT_OF_MEMORY : allocate(address, bytes);
  call.note("address", *address).note("bytes", bytes);
  return result;
}

MW_STUB(cuMemFreeHost)(void *address) {
  Call call("cuMemFreeHost");
  call.note("address", address);
  return release(address);
}

MW_STUB(cuMemcpyAsync)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  Call call("cuMemcpyAsync");
  return copy(call, to, from, bytes, stream);
}

MW_STUB(cuMemcpyHtoDAsync_v2)(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  Call call("cuMemcpyHtoDAsync");
  return copy(call, to, reinterpret_cast<CUdeviceptr>(from), bytes, stream);
}

MW_STUB(cuMemcpyDtoHAsync_v2)(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  Call call("cuMemcpyDtoHAsync");
  return copy(call, reinterpret_cast<CUdeviceptr>(to), from, bytes, stream);
}

MW_STUB(cuMemsetD8Async)(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  Call call("cuMemsetD8Async");
  return fill<unsigned char>(call, to, value, count, stream);
}

MW_STUB(cuMemsetD32Async)(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  Call call("cuMemsetD32Async");
  return fill<unsigned>(call, to, value, count, stream);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

MW_STUB(cuStreamCreate)(CUstream *stream, unsigned) {
  Call call("cuStreamCreate");
  if (call.fails())
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (current < 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  auto *made = new Stream(makeId(), current);
  call.note("stream", made->id).note("device", made->device);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}

MW_STUB(cuStreamDestroy_v2)(CUstream stream) {
  Call("cuStreamDestroy").note("stream", getStream(stream).id);
  delete &getStream(stream);
  return CUDA_SUCCESS;
}

MW_STUB(cuStreamSynchronize)(CUstream stream) {
  Call call("cuStreamSynchronize");
  call.note("stream", getStream(stream).id);
  return call.fails() ? CUDA_ERROR_LAUNCH_FAILED : toResult(getStream(stream).synchronize());
}

MW_STUB(cuStreamQuery)(CUstream stream) {
  Call call("cuStreamQuery");
  call.note("stream", getStream(stream).id);
  return call.fails() ? CUDA_ERROR_LAUNCH_FAILED : getStream(stream).isIdle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

MW_STUB(cuStreamWaitEvent)(CUstream stream, CUevent handle, unsigned) {
  Call call("cuStreamWaitEvent");
  auto &event = *reinterpret_cast<Event *>(handle);
  call.note("stream", getStream(stream).id).note("event", event.id);
  return call.fails() ? CUDA_ERROR_LAUNCH_FAILED : toResult(getStream(stream).waitFor(event));
}

MW_STUB(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode) {
  Call call("cuStreamBeginCapture");
  call.note("stream", getStream(stream).id);
  return call.fails() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : toResult(getStream(stream).beginCapture());
}

MW_STUB(cuStreamEndCapture)(CUstream stream, CUgraph *graph) {
  Call call("cuStreamEndCapture");
  call.note("stream", getStream(stream).id);
  std::unique_ptr<Graph> captured;
  *graph = nullptr;
  CUresult result = toResult(getStream(stream).endCapture(captured));
  if (call.fails())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  *graph = reinterpret_cast<CUgraph>(captured.release());
  return result;
}

MW_STUB(cuEventCreate)(CUevent *event, unsigned flags) {
  Call call("cuEventCreate");
  if (call.fails())
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (current < 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  auto *made = new Event(makeId(), (flags & CU_EVENT_DISABLE_TIMING) != 0);
  call.note("event", made->id);
  *event = reinterpret_cast<CUevent>(made);
  return CUDA_SUCCESS;
}

MW_STUB(cuEventDestroy_v2)(CUevent event) {
  Call("cuEventDestroy").note("event", reinterpret_cast<Event *>(event)->id);
  delete reinterpret_cast<Event *>(event);
  return CUDA_SUCCESS;
}

MW_STUB(cuEventRecord)(CUevent handle, CUstream stream) {
  Call call("cuEventRecord");
  auto &event = *reinterpret_cast<Event *>(handle);
  call.note("stream", getStream(stream).id).note("event", event.id);
  return call.fails() ? CUDA_ERROR_LAUNCH_FAILED : toResult(getStream(stream).record(event));
}

MW_STUB(cuEventSynchronize)(CUevent event) {
  Call call("cuEventSynchronize");
  call.note("event", reinterpret_cast<Event *>(event)->id);
  return call.fails() ? CUDA_ERROR_LAUNCH_FAILED : toResult(Stream::synchronize(*reinterpret_cast<Event *>(event)));
}

MW_STUB(cuEventQuery)(CUevent handle) {
  Call call("cuEventQuery");
  auto &event = *reinterpret_cast<Event *>(handle);
  call.note("event", event.id);
  if (call.fails())
    return CUDA_ERROR_LAUNCH_FAILED;
  std::optional<bool> isOver = Stream::isOver(event);
  if (!isOver)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return *isOver ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

MW_STUB(cuEventElapsedTime_v2)(float *milliseconds, CUevent first, CUevent second) {
  Call call("cuEventElapsedTime");
  auto &begin = *reinterpret_cast<Event *>(first), &end = *reinterpret_cast<Event *>(second);
  call.note("event", begin.id).note("end", end.id);
  if (call.fails())
    return CUDA_ERROR_LAUNCH_FAILED;
  if (begin.measuresNothing || end.measuresNothing)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!Stream::isOver(begin).value_or(false) || !Stream::isOver(end).value_or(false))
    return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(Stream::getTime(end) - Stream::getTime(begin)).count();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

MW_STUB(cuGraphInstantiateWithFlags)(CUgraphExec *executable, CUgraph graph, unsigned long long) {
  Call call("cuGraphInstantiate");
  if (call.fails())
    return CUDA_ERROR_OUT_OF_MEMORY;
  auto *made = new Graph(*reinterpret_cast<Graph *>(graph));
  call.note("graph", made);
  *executable = reinterpret_cast<CUgraphExec>(made);
  return CUDA_SUCCESS;
}

MW_STUB(cuGraphLaunch)(CUgraphExec executable, CUstream stream) {
  Call call("cuGraphLaunch");
  auto &graph = *reinterpret_cast<Graph *>(executable);
  call.note("graph", &graph).note("stream", getStream(stream).id);
  if (call.fails())
    return CUDA_ERROR_LAUNCH_FAILED;
  // Issued where it was captured, which is the only stream that it is launched on here.
  if (graph.origin != &getStream(stream))
    return CUDA_ERROR_INVALID_VALUE;
  for (const auto &issue : graph.issues)
    issue();
  return CUDA_SUCCESS;
}

MW_STUB(cuGraphDestroy)(CUgraph graph) {
  Call call("cuGraphDestroy");
  delete reinterpret_cast<Graph *>(graph);
  return CUDA_SUCCESS;
}

MW_STUB(cuGraphExecDestroy)(CUgraphExec executable) {
  Call call("cuGraphExecDestroy");
  delete reinterpret_cast<Graph *>(executable);
  return CUDA_SUCCESS;
}
