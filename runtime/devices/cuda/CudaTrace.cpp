//===- CudaTrace.cpp - when a GPU came to what ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaTrace.h"
#include <cmath>

using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

Status CudaTrace::begin(CUstream stream) {
  used = 0;
  times.clear();
  MW_TRY(mark(stream).status());
  MW_CALL(api, cuEventSynchronize, events.front().get());
  origin = TimeRange::now();
  on = true;
  return {};
}

Result<uint32_t> CudaTrace::mark(CUstream stream) {
  if (used == events.size()) {
    MW_TRY_ASSIGN(Event event, createTimedEvent(api));
    events.push_back(std::move(event));
  }
  MW_CALL(api, cuEventRecord, events[used].get(), stream);
  return static_cast<uint32_t>(used++);
}

Status CudaTrace::end() {
  on = false;
  std::vector<int64_t> known;
  for (size_t i = 0; i != used; ++i) {
    float milliseconds = 0;
    MW_CALL(api, cuEventElapsedTime, &milliseconds, events.front().get(), events[i].get());
    known.push_back(origin + std::llround(static_cast<double>(milliseconds) * 1e6));
  }
  times = std::move(known);
  return {};
}
