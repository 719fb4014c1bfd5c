//===- CudaDevice.cpp - a rank that computes on a GPU ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests go to the four streams of CudaDevice.h; events order the streams. Everything that takes memory or may fail
// for lack of it, including modules, plans of products and events, is made before the first step.
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include <chrono>
#include <cstring>
#include <thread>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

static CUdeviceptr getPointer(const std::byte *address) { return reinterpret_cast<CUdeviceptr>(address); }

//===----------------------------------------------------------------------===//
// PrimaryContext
//===----------------------------------------------------------------------===//

PrimaryContext::~PrimaryContext() {
  if (context)
    (void)api->cuDevicePrimaryCtxRelease(device);
}

Status PrimaryContext::retain(const CudaApi &driver, CUdevice number) {
  MW_CALL(driver, cuDevicePrimaryCtxRetain, &context, number);
  api = &driver;
  device = number;
  return use();
}

Status PrimaryContext::use() const {
  MW_CALL(*api, cuCtxSetCurrent, context);
  return {};
}

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(const CudaShared &shared, int ordinal) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(shared, ordinal));
  MW_TRY(device->prepareStreams().within(fmt::format("GPU {}", ordinal)));
  return device;
}

Status CudaDevice::prepareStreams() {
  CUdevice number = 0;
  MW_CALL(api, cuDeviceGet, &number, ordinal);
  MW_TRY(context.retain(api, number));
  for (Stream *stream : {&compute, &communication, &fetch, &writeBack}) {
    MW_TRY_ASSIGN(*stream, createStream(api));
  }
  MW_TRY_ASSIGN(forked, createEvent(api));
  return {};
}

CudaDevice::~CudaDevice() {
  if (!context.isRetained())
    return;
  // Work under way uses memory that is about to be freed. After an error of the device all of this fails too, at once.
  (void)context.use();
  for (const Stream *stream : {&compute, &communication, &fetch, &writeBack})
    if (*stream)
      (void)api.cuStreamSynchronize(stream->get());
  if (ownArena)
    (void)api.cuMemFree(ownArena);
}

Status CudaDevice::allocate(uint64_t deviceBytes, uint64_t hostBytes, uint64_t fedBytes) {
  MW_TRY(use());
  if (deviceBytes != 0) {
    size_t free = 0, total = 0;
    MW_CALL(api, cuMemGetInfo, &free, &total);
    MW_TRY(api.check(api.cuMemAlloc(&ownArena, deviceBytes), "cuMemAlloc")
               .within(fmt::format("{} bytes cannot be had on GPU {}, which has {} free of {}", deviceBytes, ordinal,
                                   free, total)));
    MW_CALL(api, cuMemsetD8Async, ownArena, 0, deviceBytes, compute.get());
  }
  MW_TRY(ownHostArena.allocate(api, hostBytes));
  if (hostBytes != 0)
    std::memset(ownHostArena.data(), 0, hostBytes);
  arena = ownArena;
  hostArena = ownHostArena.data();
  hostArenaBytes = hostBytes;
  return prepareWork(fedBytes);
}

Status CudaDevice::share(const Device &owner, uint64_t fedBytes) {
  MW_TRY(use());
  const auto &other = static_cast<const CudaDevice &>(owner);
  arena = other.arena;
  hostArena = other.hostArena;
  hostArenaBytes = other.hostArenaBytes;
  return prepareWork(fedBytes);
}

Status CudaDevice::prepareWork(uint64_t fedBytes) {
  MW_TRY(staging.create(api, fedBytes));
  MW_TRY_ASSIGN(kernels, CudaKernels::create(api, shared.image));
  MW_TRY_ASSIGN(products, CudaProducts::create(api, *shared.lt, shared.options.allowTf32));
  return {};
}

std::byte *CudaDevice::getArena(Memory memory) const {
  return memory == HOST ? hostArena : reinterpret_cast<std::byte *>(arena);
}

Result<uint32_t> CudaDevice::prepareKernel(const std::string &symbol, std::span<const std::span<std::byte>> buffers,
                                           uint32_t) {
  std::vector<std::byte *> addresses;
  for (std::span<std::byte> buffer : buffers)
    addresses.push_back(buffer.data());
  return kernels->prepare(symbol, addresses);
}

Result<uint32_t> CudaDevice::prepareMatmul(const Instruction &instruction, const MatmulAddresses &addresses) {
  auto number = products->prepare(instruction.matmul(), addresses);
  if (number.ok())
    return number;
  return number.status().within(fmt::format("\"{}\" ({})", instruction.name(), instruction.location()));
}

Result<uint32_t> CudaDevice::prepareCopy(std::byte *to, const std::byte *from, uint64_t bytes, CopyPath path) {
  Copy copy{path, to, from, bytes, {}};
  if (path != CopyPath::Within) {
    MW_TRY_ASSIGN(copy.done, createEvent(api));
  }
  copies.push_back(std::move(copy));
  return static_cast<uint32_t>(copies.size() - 1);
}

Status CudaDevice::finishPreparation() {
  MW_TRY(kernels->finish());
  return products->finish(staging, compute.get());
}

uint64_t CudaDevice::getScratchBytes() const {
  return communicationScratch + (kernels ? kernels->getScratchBytes() : 0) +
         (products ? products->getScratchBytes() : 0);
}

std::vector<std::string> CudaDevice::getWarnings() const {
  size_t number = products ? products->countWithoutEpilogue() : 0;
  if (number == 0)
    return {};
  return {fmt::format("cuBLASLt has no algorithm for the epilogues of {} products; kernels compute them", number)};
}

//===----------------------------------------------------------------------===//
// In a step
//===----------------------------------------------------------------------===//

Status CudaDevice::launch(uint32_t kernel) { return kernels->launch(kernel, compute.get()); }
Result<uint32_t> CudaDevice::prepareConvolution(const Instruction &instruction, const std::byte *, const std::byte *,
                                                std::byte *) {
  return inputError("{} ({}): the package computes its convolutions by the library of CPUs; one that is compiled for "
                    "GPUs has kernels for them",
                    instruction.name(), instruction.location());
}

Status CudaDevice::convolve(uint32_t convolution) { return faultError("convolution {} was not prepared", convolution); }

Status CudaDevice::multiply(uint32_t matmul) { return products->execute(matmul, compute.get()); }

Status CudaDevice::store(std::byte *to, int32_t value) {
  MW_CALL(api, cuMemsetD32Async, getPointer(to), static_cast<uint32_t>(value), 1, compute.get());
  return {};
}

Status CudaDevice::fork(CUstream stream) { return joinStreams(api, stream, compute.get(), forked.get()); }

Status CudaDevice::join(CUevent event) {
  MW_CALL(api, cuStreamWaitEvent, compute.get(), event, 0);
  return {};
}

Status CudaDevice::copy(uint32_t number) {
  const Copy &copy = copies[number];
  if (copy.path != CopyPath::Within) {
    MW_TRY(startCopy(number));
    return waitCopy(number);
  }
  if (copy.bytes != 0)
    MW_CALL(api, cuMemcpyAsync, getPointer(copy.to), getPointer(copy.from), copy.bytes, compute.get());
  return {};
}

Status CudaDevice::startCopy(uint32_t number) {
  const Copy &copy = copies[number];
  CUstream stream = getStream(copy.path);
  MW_TRY(fork(stream));
  MW_TRY(traceOn(stream, copyMoments, [&]() -> Status {
    if (copy.bytes != 0)
      MW_CALL(api, cuMemcpyAsync, getPointer(copy.to), getPointer(copy.from), copy.bytes, stream);
    return {};
  }));
  MW_CALL(api, cuEventRecord, copy.done.get(), stream);
  return {};
}

Status CudaDevice::waitCopy(uint32_t number) { return join(copies[number].done.get()); }

//===----------------------------------------------------------------------===//
// Recorded steps
//===----------------------------------------------------------------------===//

Result<bool> CudaDevice::replay(size_t variant) {
  auto graph = graphs.find(variant);
  if (graph == graphs.end())
    return false;
  MW_CALL(api, cuGraphLaunch, graph->second.get(), compute.get());
  return true;
}

Status CudaDevice::record(size_t variant, const std::function<Status()> &issue) {
  if (!shared.options.recordsSteps)
    return {};
  // Other threads' requests in the meantime are their own.
  MW_CALL(api, cuStreamBeginCapture, compute.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  Status status = issue();
  // Ended in any case, so that the stream is of use again.
  CUgraph captured = nullptr;
  Status ended = api.check(api.cuStreamEndCapture(compute.get(), &captured), "cuStreamEndCapture");
  Graph graph(captured, {api.cuGraphDestroy});
  MW_TRY(status);
  MW_TRY(ended);
  CUgraphExec executable = nullptr;
  MW_CALL(api, cuGraphInstantiate, &executable, graph.get(), 0);
  graphs[variant] = GraphExec(executable, {api.cuGraphExecDestroy});
  return {};
}

//===----------------------------------------------------------------------===//
// Traces
//===----------------------------------------------------------------------===//

Status CudaDevice::beginTrace() {
  marks.clear();
  copyMoments.clear();
  MW_TRY(synchronize());
  return trace.begin(compute.get());
}

Status CudaDevice::mark() {
  MW_TRY_ASSIGN(marks.emplace_back(), trace.mark(compute.get()));
  return {};
}

Result<DeviceTrace> CudaDevice::endTrace() {
  MW_TRY(synchronize());
  MW_TRY(trace.end());
  DeviceTrace known;
  for (uint32_t moment : marks)
    known.marks.push_back(trace.getTime(moment));
  known.copies = getTimes(copyMoments);
  return known;
}

std::vector<TimeRange> CudaDevice::getTimes(const std::vector<uint32_t> &moments) const {
  std::vector<TimeRange> times;
  for (size_t i = 0; i + 1 < moments.size(); i += 2)
    times.push_back({trace.getTime(moments[i]), trace.getTime(moments[i + 1])});
  return times;
}

//===----------------------------------------------------------------------===//
// Readings
//===----------------------------------------------------------------------===//

Result<std::span<std::byte>> CudaDevice::prepareReadings(std::span<const std::span<const std::byte>> scalars) {
  MW_TRY(use());
  MW_TRY_ASSIGN(readings, CudaReadings::create(api, scalars, scalarBytes));
  return readings->getPlaces();
}

Result<double> CudaDevice::finishReadings(uint32_t place) {
  MW_TRY(use());
  if (readings->isLatest(place))
    ++hostSyncs;
  MW_TRY(await([&] { return api.cuEventQuery(readings->getEnd(place)); }, "cuEventQuery"));
  return readings->getSeconds(place);
}

//===----------------------------------------------------------------------===//
// Between steps
//===----------------------------------------------------------------------===//

bool CudaDevice::isInHostArena(const std::byte *address) const {
  return hostArena && std::less_equal<>()(static_cast<const std::byte *>(hostArena), address) &&
         std::less<>()(address, static_cast<const std::byte *>(hostArena) + hostArenaBytes);
}

template <typename Query> Status CudaDevice::await(Query &&query, const char *function) const {
  using Clock = std::chrono::steady_clock;
  auto deadline = Clock::now() + std::chrono::duration<double>(shared.options.timeoutSeconds);
  while (true) {
    CUresult state = query();
    if (state != CUDA_ERROR_NOT_READY)
      return api.check(state, function);
    if (Clock::now() > deadline)
      return faultError("GPU {} has not come to the end of the step for {} s", ordinal, shared.options.timeoutSeconds);
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

Status CudaDevice::synchronize() const {
  MW_TRY(use());
  ++hostSyncs;
  return await([&] { return api.cuStreamQuery(compute.get()); }, "cuStreamQuery");
}

Status CudaDevice::write(std::byte *to, std::span<const std::byte> from) {
  if (from.empty())
    return {};
  if (isInHostArena(to)) {
    MW_TRY(synchronize());
    std::memcpy(to, from.data(), from.size());
    return {};
  }
  MW_TRY(use());
  return staging.upload(getPointer(to), from, compute.get());
}

Status CudaDevice::read(std::span<std::byte> to, const std::byte *from) const {
  if (to.empty())
    return {};
  MW_TRY(synchronize());
  if (!isInHostArena(from))
    return staging.download(to, getPointer(from), compute.get());
  std::memcpy(to.data(), from, to.size());
  return {};
}
