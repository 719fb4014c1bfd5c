//===- Executor.h - one rank's program, ready to run ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_EXECUTOR_H
#define MESHWRIGHT_RUNTIME_EXECUTOR_H

#include "meshwright/runtime/Communicator.h"
#include "meshwright/runtime/KernelLibraries.h"
#include "meshwright/runtime/MatmulSet.h"

namespace meshwright::runtime {

/// What an executor is made from. Everything outlives it.
struct ExecutorContext {
  const LoadedPackage &package;
  const Program &program;
  const Mesh &mesh;
  const LoadedKernels &kernels;
  Communicator &communicator;
  int64_t rank;
  /// The link between device and host, in each direction; copies are not delayed where there is none.
  std::optional<LinkModel> hostLink = {};
  /// Counts the allocations of the calling thread so far; null where nobody counts.
  uint64_t (*countAllocations)() = nullptr;
};

/// Allocations of a step, on one rank or on all.
struct AllocationCount {
  /// By the runtime and its backends.
  uint64_t own = 0;
  /// By libraries for their own bookkeeping.
  uint64_t library = 0;
};

/// One rank: its arenas and its program as a list of calls with their addresses. Made and used on the rank's thread.
class Executor {
public:
  /// Allocates the arenas, loads constants and prepares every instruction; after it, steps allocate nothing.
  static Result<std::unique_ptr<Executor>> create(const ExecutorContext &context);
  ~Executor();

  /// Runs the step at that position of a merge once. Errors name the rank.
  Status runStep(uint32_t position);
  /// Runs it once and measures, in seconds of CPU time, what each instruction costs in the order of the step:
  /// collectives and copies by what they cost this rank, wherever they run. The communicator's backend profiles.
  Status runProfiledStep(uint32_t position, std::vector<double> &seconds);
  /// Allocations of the last step.
  AllocationCount getStepAllocations() const;

  /// The array of a buffer.
  std::span<std::byte> getBuffer(int32_t index) const;
  uint64_t getArenaBytes() const;
  uint64_t getPersistentBytes() const;
  /// The arena in the memory of the host.
  uint64_t getHostArenaBytes() const;
  /// Scratch memory of libraries.
  uint64_t getScratchBytes() const;
  std::vector<std::string> getWarnings() const;

private:
  struct Implementation;
  explicit Executor(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace meshwright::runtime

#endif
