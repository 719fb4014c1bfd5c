//===- EmulatedGpu.cpp - runs functions for target `emulated` -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/EmulatedGpu/EmulatedGpu.h"
#include <algorithm>
#include <cstring>
#include <numeric>

using namespace meshwright::test;

/// The GPU whose thread is running.
static EmulatedGpu *running = nullptr;

extern "C" {
uint32_t mw_emulated_thread() { return running->getThread(); }
uint32_t mw_emulated_block() { return running->getBlock(); }
void *mw_emulated_shared() { return running->getShared(); }
void mw_emulated_barrier() { running->waitAtBarrier(); }
void mw_emulated_multiply(uint32_t isBrain, const uint32_t *words, float *sums) {
  running->multiply(isBrain != 0, words, sums);
}
}

EmulatedGpu::EmulatedGpu(uint64_t seed) : engine(seed) {}
EmulatedGpu::~EmulatedGpu() = default;

void EmulatedGpu::shuffle(std::vector<uint32_t> &order) {
  for (size_t last = order.size(); last > 1; --last)
    std::swap(order[last - 1], order[engine() % last]);
}

void EmulatedGpu::waitAtBarrier() { fibers[thread]->suspend(); }

void EmulatedGpu::multiply(bool isBrain, const uint32_t *words, float *sums) {
  tensorCores.multiply(thread, isBrain, words, sums, [this] { waitAtBarrier(); });
}

/// Runs all threads from barrier to barrier. False where some have ended when others wait.
bool EmulatedGpu::runBlock(uint32_t threads) {
  for (uint32_t index = 0; index < threads; ++index)
    fibers[index]->begin([this] { function(arguments); });
  std::vector<uint32_t> order(threads);
  std::iota(order.begin(), order.end(), 0);
  while (true) {
    shuffle(order);
    for (uint32_t index : order) {
      thread = index;
      fibers[index]->resume();
    }
    auto done = std::count_if(order.begin(), order.end(), [&](uint32_t index) { return fibers[index]->isDone(); });
    if (done != 0)
      return done == threads;
  }
}

std::string EmulatedGpu::launch(Function code, void *const *addresses, uint32_t blocks, uint32_t threads,
                                size_t sharedBytes) {
  function = code;
  arguments = addresses;
  while (fibers.size() < threads)
    fibers.push_back(std::make_unique<Fiber>());
  std::vector<uint32_t> order(blocks);
  std::iota(order.begin(), order.end(), 0);
  shuffle(order);
  EmulatedGpu *before = std::exchange(running, this);
  std::string problem;
  for (uint32_t index : order) {
    block = index;
    // Shared memory is uninitialized at the start of a block.
    shared.assign(sharedBytes, std::byte(0xa5));
    if (!runBlock(threads))
      problem = "threads of block " + std::to_string(index) + " wait at a barrier that others do not come to";
    if (!problem.empty())
      break;
  }
  running = before;
  return problem;
}
