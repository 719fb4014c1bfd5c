//===- KernelComparison.h - kernels of a GPU and of a CPU -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_EMULATEDGPU_KERNELCOMPARISON_H
#define MESHWRIGHT_TEST_LIB_EMULATEDGPU_KERNELCOMPARISON_H

#include "meshwright/Gpu/GpuCompiler.h"
#include "meshwright/runtime/KernelTable.h"
#include "test/lib/EmulatedGpu/EmulatedGpu.h"
#include <map>

namespace meshwright::test {

/// Compiles the kernels of a scheduled module for the CPU and for an emulated GPU, runs both on the same random memory,
/// the GPU's twice with threads and blocks in other orders, and compares what they write.
///
/// Both runs of the GPU have to leave the same bits. They are those of the CPU, too, where no sum is taken in another
/// order and no function expanded; elsewhere results agree to a tolerance from the number of additions. Nothing may be
/// written beyond the outputs and a kernel's scratch memory, which holds something else before each run.
///
/// A kernel that threads of a CPU can divide is run in parts as well, cut at random and in random order, and has to
/// write the same bits as in one piece.
class KernelComparison {
public:
  /// Files go into `folder`.
  KernelComparison(mlir::ModuleOp scheduled, std::string folder);
  ~KernelComparison();

  /// Returns the differences found, one per line. `real` names a GPU for which the kernels have to compile as well.
  std::vector<std::string> run(uint64_t seed, llvm::StringRef real = "");

  /// The number of kernels compared, and of those compared bit by bit.
  int64_t numCompared = 0, numExact = 0;
  /// The number of kernels that were run in parts.
  int64_t numDivided = 0;
  /// The launches by their mapping.
  std::map<std::string, int64_t> mappings;
  /// The outputs of the last kernel on the emulated GPU.
  std::vector<std::vector<double>> results;

private:
  struct Memory;

  bool compile(llvm::StringRef real);
  std::string compare(size_t index, uint64_t seed);
  std::string compareParts(size_t index, uint64_t seed, const Memory &whole);
  void readResults(dist::KernelOp kernel, const Memory &memory);
  std::string compareOutputs(dist::KernelOp kernel, const Memory &expected, const Memory &actual, double tolerance);

  mlir::ModuleOp module;
  std::string folder;
  llvm::SmallVector<emit::KernelJob> jobs;
  Package package;
  std::map<std::string, const GpuKernel *> launches;
  std::map<std::string, const runtime::KernelEntry *> entries;
  void *cpu = nullptr, *gpu = nullptr;
};

} // namespace meshwright::test

#endif
