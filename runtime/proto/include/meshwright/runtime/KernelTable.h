//===- KernelTable.h - the kernels of a shared object -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A shared object of kernels exports one table of them. The compiler writes it, and the runtime calls nothing else of
// the object: a name in a package that is none of the table's is refused, whatever else the object has by that name.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_KERNELTABLE_H
#define MESHWRIGHT_RUNTIME_KERNELTABLE_H

#include <cstdint>

namespace meshwright::runtime {

/// A compiled kernel: reads and writes the buffers at these addresses.
using KernelFn = void (*)(void *const *buffers);

/// How threads divide a kernel: each computes some of its iterations, in any order, whose results are the same bits
/// whatever the parts are. Parts begin at multiples of `grain`.
struct KernelDivision {
  void (*function)(void *const *buffers, int64_t begin, int64_t end);
  int64_t iterations, grain;
};

/// A kernel of a table.
struct KernelEntry {
  const char *symbol;
  KernelFn function;
  /// How many buffers it takes, then how many bytes of each it reads or writes; null in a table that is written by hand
  /// where nothing is said about them.
  const uint64_t *extents;
  /// Null for a kernel that one thread computes.
  const KernelDivision *division;
};

/// The table: `count` entries, in any order.
struct KernelTable {
  uint64_t count;
  const KernelEntry *entries;
};

/// The symbol of the table.
inline constexpr char kernelTableSymbol[] = "meshwright_kernels";

/// The symbol of a pointer in a library of exact kernels: the runtime lets it point to the functions that they call
/// (Residue.h) before it calls any.
inline constexpr char exactFunctionsSymbol[] = "meshwright_exact_functions";

/// The same in a library of the twin's kernels (TwinFunctions.h).
inline constexpr char twinFunctionsSymbol[] = "meshwright_twin_functions";

} // namespace meshwright::runtime

#endif
