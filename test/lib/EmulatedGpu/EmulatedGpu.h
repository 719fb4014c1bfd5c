//===- EmulatedGpu.h - runs functions for target `emulated` -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU of one processor: blocks run one after the other, and the threads of one as fibers that switch where they meet
// a barrier. Blocks, and threads between two barriers, run in an order that is drawn; whatever depends on it is wrong.
// The functions that kernels ask, `mw_emulated_thread` and so on, are defined here; executables have to export
// them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_EMULATEDGPU_EMULATEDGPU_H
#define MESHWRIGHT_TEST_LIB_EMULATEDGPU_EMULATEDGPU_H

#include "test/lib/EmulatedGpu/TensorCore.h"
#include "test/lib/Fiber/Fiber.h"
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace meshwright::test {

class EmulatedGpu {
public:
  using Function = void (*)(void *const *);

  /// `seed` draws the orders.
  explicit EmulatedGpu(uint64_t seed);
  ~EmulatedGpu();

  /// Runs `function` in blocks of threads. Returns what went wrong: threads of a block that did not all come to the
  /// same barriers.
  std::string launch(Function function, void *const *arguments, uint32_t blocks, uint32_t threads, size_t sharedBytes);

  // Queries of the running thread.
  uint32_t getThread() const { return thread; }
  uint32_t getBlock() const { return block; }
  void *getShared() { return shared.data(); }
  void waitAtBarrier();
  /// The product of a warp; all warps of the block have one at the same time.
  void multiply(bool isBrain, const uint32_t *words, float *sums);

private:
  bool runBlock(uint32_t threads);
  void shuffle(std::vector<uint32_t> &order);

  std::mt19937_64 engine;
  Function function = nullptr;
  void *const *arguments = nullptr;
  uint32_t thread = 0, block = 0;
  std::vector<std::byte> shared;
  TensorCores tensorCores;
  std::vector<std::unique_ptr<Fiber>> fibers;
};

} // namespace meshwright::test

#endif
