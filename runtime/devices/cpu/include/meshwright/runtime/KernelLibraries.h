//===- KernelLibraries.h - compiled kernels of a package --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_KERNELLIBRARIES_H
#define MESHWRIGHT_RUNTIME_KERNELLIBRARIES_H

#include "meshwright/runtime/KernelTable.h"
#include "meshwright/runtime/Package.h"
#include <memory>
#include <unordered_map>

namespace meshwright::runtime {

class InputFile;

/// The kernels of a package for one target, loaded.
class LoadedKernels {
public:
  /// Loads the library for `target`, or the first whose features the CPU has where `target` is empty; of an exact
  /// package or a twin its only one. A package without libraries loads as one without kernels.
  static Result<LoadedKernels> load(const LoadedPackage &package, const std::string &target);

  /// The kernel of that name in the library's table, for these arguments, of which the last `numOutputs` are written.
  /// The table says of a compiled kernel how many bytes of each it touches, whether it writes them, and where it works
  /// in place; a call that is not of this kind is an error.
  Result<const KernelEntry *> find(const std::string &symbol, std::span<const std::span<std::byte>> arguments,
                                   uint32_t numOutputs) const;
  const std::string &getTarget() const { return target; }

private:
  Status open(const InputFile &file);
  Status readTable();
  /// Tells kernels of a check where the functions are that they call.
  Status giveFunctions(const char *symbol, const void *functions);

  std::shared_ptr<void> handle;
  std::string target, path;
  std::unordered_map<std::string_view, const KernelEntry *> entries;
};

/// The features among `wanted` that matter (vectors and the like) and that a CPU with the space-separated `flags` of
/// /proc/cpuinfo lacks.
std::vector<std::string> getMissingFeatures(std::span<const std::string> wanted, std::string_view flags);

} // namespace meshwright::runtime

#endif
