//===- CudaReadings.h - what the host reads of every step -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a step its scalars are copied to pinned memory, and an event follows the copies. While the device is at
// the next step, whose scalars go to another place, the host waits for that event alone:
//
//   compute   begin 0 ▸ step k ▸ copies ▸ end 0 ▸ begin 1 ▸ step k+1 ▸ copies ▸ end 1 ▸
//   host                                            waits for end 0, reads place 0
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDAREADINGS_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDAREADINGS_H

#include "Staging.h"
#include <vector>

namespace meshwright::runtime::cuda {

class CudaReadings {
public:
  /// Readings of scalars that have no more than `scalarBytes` each.
  static Result<std::unique_ptr<CudaReadings>>
  create(const CudaApi &api, std::span<const std::span<const std::byte>> scalars, uint64_t scalarBytes);
  /// The scalars of place 0, `scalarBytes` apart, then those of place 1.
  std::span<std::byte> getPlaces() const { return {memory.data(), 2 * scalars.size() * scalarBytes}; }

  /// A step comes on this stream, and has been issued there.
  Status begin(uint32_t place, CUstream stream);
  Status take(uint32_t place, CUstream stream);
  /// The event after the copies of a place's scalars.
  CUevent getEnd(uint32_t place) const { return places[place].end.get(); }
  /// True if no step was begun after that of a place.
  bool isLatest(uint32_t place) const { return place == latest; }
  /// The seconds between the events of a place, which have taken place.
  Result<double> getSeconds(uint32_t place) const;

private:
  struct Place {
    Event begin, end;
  };

  CudaReadings(const CudaApi &api, uint64_t scalarBytes) : api(api), scalarBytes(scalarBytes) {}

  const CudaApi &api;
  uint64_t scalarBytes;
  std::vector<std::span<const std::byte>> scalars;
  PinnedMemory memory;
  std::array<Place, 2> places;
  uint32_t latest = 0;
};

} // namespace meshwright::runtime::cuda

#endif
