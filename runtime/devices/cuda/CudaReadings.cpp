//===- CudaReadings.cpp - what the host reads of every step ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaReadings.h"
#include <cstring>

using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

Result<std::unique_ptr<CudaReadings>>
CudaReadings::create(const CudaApi &api, std::span<const std::span<const std::byte>> scalars, uint64_t scalarBytes) {
  std::unique_ptr<CudaReadings> readings(new CudaReadings(api, scalarBytes));
  readings->scalars.assign(scalars.begin(), scalars.end());
  MW_TRY(readings->memory.allocate(api, readings->getPlaces().size()));
  for (Place &place : readings->places) {
    MW_TRY_ASSIGN(place.begin, createTimedEvent(api));
    MW_TRY_ASSIGN(place.end, createTimedEvent(api));
  }
  return readings;
}

Status CudaReadings::begin(uint32_t place, CUstream stream) {
  latest = place;
  MW_CALL(api, cuEventRecord, places[place].begin.get(), stream);
  return {};
}

Status CudaReadings::take(uint32_t place, CUstream stream) {
  std::byte *to = memory.data() + place * scalars.size() * scalarBytes;
  for (std::span<const std::byte> scalar : scalars) {
    if (!scalar.empty())
      MW_TRY(api.check(api.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to),
                                         reinterpret_cast<CUdeviceptr>(scalar.data()), scalar.size(), stream),
                       "cuMemcpyAsync")
                 .within("what the host reads of the step"));
    to += scalarBytes;
  }
  MW_CALL(api, cuEventRecord, places[place].end.get(), stream);
  return {};
}

Result<double> CudaReadings::getSeconds(uint32_t place) const {
  float milliseconds = 0;
  MW_CALL(api, cuEventElapsedTime, &milliseconds, places[place].begin.get(), places[place].end.get());
  return static_cast<double>(milliseconds) * 1e-3;
}
