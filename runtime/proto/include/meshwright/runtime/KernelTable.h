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

/// Accesses of the code of a kernel to a buffer.
enum KernelAccess : uint64_t {
  KERNEL_READS = 1,
  KERNEL_WRITES = 2,
  /// Its address goes where the compiler does not follow it; the other two say nothing.
  KERNEL_UNKNOWN = 4,
};

/// The buffers of a kernel, as the compiler derives them from its code.
struct KernelBuffer {
  /// How many bytes of it are read or written.
  uint64_t bytes;
  /// A combination of KernelAccess.
  uint64_t access;
  /// The number of the first buffer that is the same memory: its own, or that of an input which it overwrites. The
  /// kernel takes the address of that one.
  uint64_t memory;
};

/// A kernel of a table.
struct KernelEntry {
  const char *symbol;
  KernelFn function;
  /// The number of the buffers that it takes, and as many records; null in a table that is written by hand where
  /// nothing is said about them.
  const uint64_t *numBuffers;
  const KernelBuffer *buffers;
  /// Null for a kernel that one thread computes.
  const KernelDivision *division;
};

/// The table: `count` entries, in any order.
struct KernelTable {
  uint64_t count;
  const KernelEntry *entries;
};

/// The symbol of the table.
inline constexpr char kernelTableSymbol[] = "meshwright_kernel_table";

/// The symbol of a pointer in a library of exact kernels: the runtime lets it point to the functions that they call
/// (Residue.h) before it calls any.
inline constexpr char exactFunctionsSymbol[] = "meshwright_exact_functions";

/// The same in a library of the twin's kernels (TwinFunctions.h).
inline constexpr char twinFunctionsSymbol[] = "meshwright_twin_functions";

} // namespace meshwright::runtime

#endif
