//===- Device.h - what computes for a rank ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of CPUs and GPUs: memory, kernels, products and copies. An executor describes all that
// its program does once, before the first step, and then asks for it by number.
//
// A device does what it is asked for in that order, or with the same results: `launch`, `multiply`, `convolve`,
// `store` and `copy` may return before it is done (on a GPU), but whatever is asked for later, `read` included, finds
// the results there. Copies between the memories that are started go on beside all else until they are waited for.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICE_H
#define MESHWRIGHT_RUNTIME_DEVICE_H

#include "meshwright/runtime/Status.h"
#include "meshwright/runtime/TimeRange.h"
#include "package.pb.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace meshwright::runtime {

/// Between which memories of a rank a copy goes: a buffer of the device or of the host is at either end.
enum class CopyPath { Within, FromHost, ToHost };

/// The addresses that a product and its epilogue read and write; null for absent operands and results.
struct MatmulAddresses {
  const std::byte *lhs, *rhs;
  std::byte *out;
  const std::byte *bias = nullptr;
  std::byte *preactivation = nullptr;
  std::byte *finished = nullptr; ///< what the epilogue makes
  uint64_t rhsVersion = 0;       ///< of products with the same right operand, done in the order they are prepared in
};

/// When a device came to what it was asked for.
struct DeviceTrace {
  /// By `mark`, in nanoseconds of the steady clock.
  std::vector<int64_t> marks;
  /// When copies between the memories took place, in the order in which they were started; empty where the device does
  /// not know.
  std::vector<TimeRange> copies;
};

/// The rates that a device reaches at its best, for the rates of a program to be compared with.
struct DeviceRates {
  /// Bytes read and written by a copy of arrays that no cache holds.
  double bytesPerSecond = 0;
  /// Operations of a large product with operands of a type.
  std::map<DType, double> flopsPerSecond = {};
};

/// The device that one rank computes on. Used by the rank's thread, except that `read` and `write` may come from any
/// thread while no step is being issued.
class Device {
public:
  /// The most that a scalar has, and what it takes among readings.
  static constexpr uint64_t scalarBytes = 8;
  virtual ~Device() = default;

  // Before the first step. One large allocation per memory, then a description per instruction: what costs time or
  // memory (loading, choosing algorithms) is done here.

  /// Allocates the arenas of both memories, filled with zeros; once, before all else. So many bytes are written in
  /// front of every step.
  virtual Status allocate(uint64_t deviceBytes, uint64_t hostBytes, uint64_t fedBytes) = 0;
  /// Instead: works in the arenas of `owner`, a device of the same kind and rank that outlives this one. They are never
  /// at work at once.
  virtual Status share(const Device &owner, uint64_t fedBytes) = 0;
  /// The address at which an arena begins, also if the host may not touch it.
  virtual std::byte *getArena(Memory memory) const = 0;
  /// Describes a call of a kernel with these buffers, of which it writes the last `numOutputs`. Returns its number.
  virtual Result<uint32_t> prepareKernel(const std::string &symbol, std::span<const std::span<std::byte>> buffers,
                                         uint32_t numOutputs) = 0;
  /// Describes a checked product at these addresses; an instruction may come with several. Returns its number.
  virtual Result<uint32_t> prepareMatmul(const Instruction &instruction, const MatmulAddresses &addresses) = 0;
  /// True if a product computes its epilogue, so that the kernel after it is not launched.
  virtual bool hasEpilogue(uint32_t matmul) const = 0;
  /// The same of a checked convolution.
  virtual Result<uint32_t> prepareConvolution(const Instruction &instruction, const std::byte *lhs,
                                              const std::byte *rhs, std::byte *out) = 0;
  /// Describes a copy. Returns its number.
  virtual Result<uint32_t> prepareCopy(std::byte *to, const std::byte *from, uint64_t bytes, CopyPath path) = 0;
  /// Everything is described: allocates the scratch memory of libraries and kernels.
  virtual Status finishPreparation() = 0;

  // Work that threads of the rank share: each thread has a device of its own for it, which computes with one thread.

  /// The number of threads that `runOnThreads` has; 1 where there is nothing to share.
  virtual int getNumThreads() const { return 1; }
  /// Makes the device of one thread, with arenas of its own. It works at all addresses that this device works at.
  virtual Result<std::unique_ptr<Device>> createThreadDevice() { return std::unique_ptr<Device>(); }
  /// Calls work(0), …, work(getNumThreads() - 1) at the same time, the first on the calling thread; returns when all
  /// are done. In a step: allocates nothing.
  virtual void runOnThreads(const std::function<void(int thread)> &work) { work(0); }

  // In a step. Nothing here allocates memory.

  virtual Status launch(uint32_t kernel) = 0;
  virtual Status multiply(uint32_t matmul) = 0;
  virtual Status convolve(uint32_t convolution) = 0;
  /// Writes a number into a buffer of the device.
  virtual Status store(std::byte *to, int32_t value) = 0;
  /// Copies, and goes on when that is done.
  virtual Status copy(uint32_t number) = 0;
  /// Starts a copy between the memories; those of one direction take place in the order in which they are started.
  virtual Status startCopy(uint32_t number) = 0;
  /// Goes on when a copy that was started is over.
  virtual Status waitCopy(uint32_t number) = 0;
  /// The step has been issued, or has failed: returns when no copy of it will touch memory any more that others use.
  virtual Status finishStep() = 0;

  /// Issues a step that was recorded, and says whether there was one. `variant` is which of the package's steps.
  virtual Result<bool> replay(size_t variant) { return false; }
  /// May record what `issue` does, to replay it from now on; the step was issued once without.
  virtual Status record(size_t variant, const std::function<Status()> &issue) { return {}; }

  // Readings: the scalars of each step that the host wants to know, without letting the device stand still for them.
  // They have two places, so that those of a step are read while the next one goes on.

  /// Describes the scalars, once. Returns where they will lie: those of place 0, `scalarBytes` each, then of place 1.
  virtual Result<std::span<std::byte>> prepareReadings(std::span<const std::span<const std::byte>> scalars) = 0;
  /// A step comes whose readings go to that place.
  virtual Status beginReadings(uint32_t place) = 0;
  /// The step has been issued: its readings are taken after it.
  virtual Status takeReadings(uint32_t place) = 0;
  /// Waits until they are there, and for no later work. Returns how long the device took for the step, in
  /// seconds; 0 of a device that the host takes the time of. From any thread.
  virtual Result<double> finishReadings(uint32_t place) = 0;

  // Between steps.

  /// Copies from the host into an arena; the host's bytes are its own again on return.
  virtual Status write(std::byte *to, std::span<const std::byte> from) = 0;
  /// Copies from an arena to the host; waits until the device has come to it.
  virtual Status read(std::span<std::byte> to, const std::byte *from) const = 0;
  /// Waits until all is done that the device was asked for; what went wrong with it meanwhile is an error here at the
  /// latest.
  virtual Status synchronize() const { return {}; }
  /// True if the host reads and writes the device's memory by its addresses.
  virtual bool isAddressable() const = 0;

  // Traces of steps that are issued, not replayed.

  /// Forgets the trace before; what comes is traced.
  virtual Status beginTrace() = 0;
  /// Marks when the computation comes to here.
  virtual Status mark() = 0;
  /// Waits until all is done, and says when the marks were; what comes is not traced.
  virtual Result<DeviceTrace> endTrace() = 0;
  /// True if a profiler shows ranges around issued work; opens one of the calling thread, and closes the last one.
  virtual bool showsRanges() const { return false; }
  virtual void pushRange(const char *name) {}
  virtual void popRange() {}

  /// Measures the best rates between steps, of products with operands of these types, with memory of its own. The
  /// devices of other ranks measure at the same time. Nothing for a kind that cannot tell.
  virtual Result<std::optional<DeviceRates>> measureRates(std::span<const DType> types) {
    return std::optional<DeviceRates>();
  }

  /// Scratch memory of libraries and kernels.
  virtual uint64_t getScratchBytes() const = 0;
  /// The number of times that the host has waited until the device was idle.
  virtual uint64_t getHostSyncs() const { return 0; }
  /// Warnings about work that is slower than it could be.
  virtual std::vector<std::string> getWarnings() const = 0;

  /// Switches profiling: then copies between the memories are measured, and no modelled link delays them.
  virtual void setProfiling(bool on) {}
  /// The cost of a copy when it was made last, in seconds of CPU time, while profiling is on.
  virtual double getCopySeconds(uint32_t number) const { return 0; }
};

} // namespace meshwright::runtime

#endif
