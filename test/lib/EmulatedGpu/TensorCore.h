//===- TensorCore.h - products of a warp, emulated --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_EMULATEDGPU_TENSORCORE_H
#define MESHWRIGHT_TEST_LIB_EMULATEDGPU_TENSORCORE_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace meshwright::test {

/// The words of a thread for `mma.sync.m16n8k16` (PTX ISA, "Matrix Fragments for mma.m16n8k16"): four of the left
/// matrix and two of the right one. Thread 4 g + t has columns 2 t and 2 t + 1 of rows g and g + 8 of each 8 columns of
/// the left matrix, and rows 2 t and 2 t + 1 of column g of each 8 rows of the right one.
using MatrixWords = std::array<uint32_t, 6>;

inline float readHalf(bool isBrain, uint32_t word, uint32_t half) {
  auto bits = static_cast<uint16_t>(word >> (16 * half));
  return isBrain ? std::bit_cast<float>(uint32_t(bits) << 16) : static_cast<float>(std::bit_cast<_Float16>(bits));
}

/// The tensor cores of a block: all its threads have a product at the same time.
class TensorCores {
public:
  /// Adds the product to the four sums of `thread`: columns 2 t and 2 t + 1 of row g, then of row g + 8. `wait` lets
  /// the threads of the block meet.
  template <typename Wait> void multiply(uint32_t thread, bool isBrain, const uint32_t *words, float *sums, Wait wait) {
    if (matrices.size() <= thread)
      matrices.resize(thread + 1);
    std::copy_n(words, matrices[thread].size(), matrices[thread].begin());
    wait();
    add(isBrain, &matrices[thread / 32 * 32], thread % 32, sums);
    wait();
  }

private:
  static void add(bool isBrain, const MatrixWords *warp, uint32_t lane, float *sums) {
    for (uint32_t place = 0; place < 4; ++place) {
      uint32_t row = lane / 4, column = lane % 4 * 2 + place % 2, lower = place / 2;
      double sum = sums[place];
      for (uint32_t k = 0; k < 16; ++k) {
        uint32_t quad = k % 8 / 2, upper = k / 8;
        float left = readHalf(isBrain, warp[row * 4 + quad][2 * upper + lower], k % 2),
              right = readHalf(isBrain, warp[column * 4 + quad][4 + upper], k % 2);
        sum += static_cast<double>(left) * right;
      }
      sums[place] = static_cast<float>(sum);
    }
  }

  std::vector<MatrixWords> matrices;
};

} // namespace meshwright::test

#endif
