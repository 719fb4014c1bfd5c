//===- CudaTrace.h - when a GPU came to what -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDATRACE_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDATRACE_H

#include "CudaApi.h"
#include "meshwright/runtime/Device.h"

namespace meshwright::runtime::cuda {

/// Moments of a device's streams: events from a pool, which have the time of the host's steady clock once they are
/// over.
class CudaTrace {
public:
  explicit CudaTrace(const CudaApi &api) : api(api) {}
  /// Forgets the moments of the step before. The device, which `stream` is of, has nothing to do: so the host's clock
  /// and its own are read at one time.
  Status begin(CUstream stream);
  bool isOn() const { return on; }
  /// A moment: when a stream has come to here. Returns its number.
  Result<uint32_t> mark(CUstream stream);
  /// All that the device was asked for is over, and so are the moments.
  Status end();
  /// When a moment was, in nanoseconds of the steady clock; 0 of one of a trace that did not end.
  int64_t getTime(uint32_t moment) const { return moment < times.size() ? times[moment] : 0; }

private:
  const CudaApi &api;
  bool on = false;
  /// The first precedes all moments, at `origin` of the host's clock.
  std::vector<Event> events;
  size_t used = 0;
  int64_t origin = 0;
  std::vector<int64_t> times;
};

} // namespace meshwright::runtime::cuda

#endif
