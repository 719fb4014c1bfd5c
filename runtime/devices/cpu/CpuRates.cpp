//===- CpuRates.cpp - the best rates of a rank's threads ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuRates.h"
#include "Threads.h"
#include "meshwright/runtime/Arena.h"
#include "meshwright/runtime/MatmulSet.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

/// The size of each array of a copy: more than the last cache of a rank holds.
static constexpr int64_t copiedBytes = int64_t{1} << 26;
/// Rows, columns and addends of a product that is large enough for a library to be at its best.
static constexpr int64_t productSize = 1024;
/// A measurement runs so often, and the best time counts.
static constexpr int numRuns = 5;

/// The seconds of the fastest of several runs, after one that warms up.
template <typename Work> static Result<double> findBest(Work work) {
  MW_TRY(work());
  int64_t best = INT64_MAX;
  for (int run = 0; run != numRuns; ++run) {
    int64_t begin = TimeRange::now();
    MW_TRY(work());
    best = std::min(best, TimeRange::now() - begin);
  }
  return static_cast<double>(std::max<int64_t>(best, 1)) * 1e-9;
}

static Result<double> measureCopy(int threads) {
  Arena from, to;
  MW_TRY(from.allocate(copiedBytes));
  MW_TRY(to.allocate(copiedBytes));
  std::memset(from.data(), 1, copiedBytes);
  MW_TRY_ASSIGN(double seconds, findBest([&]() -> Status {
                  divide(threads, copiedBytes, 4096, [&](int, int64_t begin, int64_t end) {
                    std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
                  });
                  return {};
                }));
  return 2.0 * copiedBytes / seconds;
}

static Result<double> measureProduct(DType type, int threads) {
  uint64_t bytes = static_cast<uint64_t>(productSize * productSize) * runtime::getSize(type);
  Arena lhs, rhs, out;
  for (Arena *arena : {&lhs, &rhs, &out})
    MW_TRY(arena->allocate(bytes));
  Matmul matmul;
  matmul.set_lhs_dtype(type);
  matmul.set_rhs_dtype(type);
  matmul.set_out_dtype(type);
  matmul.set_m(productSize);
  matmul.set_n(productSize);
  matmul.set_k(productSize);
  for (auto *strides : {matmul.mutable_lhs_strides(), matmul.mutable_rhs_strides(), matmul.mutable_out_strides()}) {
    strides->Add(productSize);
    strides->Add(1);
  }
  MW_TRY_ASSIGN(std::unique_ptr<MatmulSet> products, MatmulSet::create(threads));
  MW_TRY_ASSIGN(uint32_t number, products->prepare(matmul, lhs.data(), rhs.data(), out.data(), "rate"));
  MW_TRY(products->finish());
  MW_TRY_ASSIGN(double seconds, findBest([&] { return products->execute(number); }));
  return 2.0 * productSize * productSize * productSize / seconds;
}

Result<DeviceRates> meshwright::runtime::measureCpuRates(int threads, std::span<const DType> types) {
  DeviceRates rates;
  MW_TRY_ASSIGN(rates.bytesPerSecond, measureCopy(threads));
  for (DType type : types) {
    MW_TRY_ASSIGN(rates.flopsPerSecond[type], measureProduct(type, threads));
  }
  return rates;
}
