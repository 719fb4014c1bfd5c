//===- LibraryConvolution.h - a convolution by oneDNN -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_LIBRARYCONVOLUTION_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_LIBRARYCONVOLUTION_H

#include "meshwright/runtime/DType.h"
#include "meshwright/runtime/Status.h"
#include <cstddef>
#include <memory>
#include <span>

namespace meshwright::runtime {

/// A convolution that primitives of oneDNN compute. Its work is divided into parts, each on one thread, by the sizes of
/// the convolution alone: images of a forward convolution or of the gradient of data; for the gradient of weights,
/// images whose sums are added in order, or channels. So bits do not depend on the number of threads.
class LibraryConvolution {
public:
  struct Addresses {
    const std::byte *lhs, *rhs;
    std::byte *out;
  };

  /// The way of the library for so many threads; null where it has no code compiled for this convolution on this CPU.
  /// Leaves the calling thread with any number of threads of the library.
  static std::unique_ptr<LibraryConvolution> create(const Convolution &convolution, int threads);
  ~LibraryConvolution();

  int64_t getNumParts() const;
  /// The scratch memory that all parts share, and that of each thread.
  uint64_t getSharedBytes() const;
  uint64_t getScratchBytes() const;

  /// Gives it its scratch memory, that of every thread.
  Status bind(std::byte *shared, std::span<std::byte *const> scratch);

  /// One execution: `begin`, all parts in any order, on threads that are numbered as their scratch memory, and `end`.
  Status begin(const Addresses &at);
  Status runParts(size_t thread, const Addresses &at, int64_t from, int64_t to);
  Status end(const Addresses &at);

private:
  struct Implementation;
  explicit LibraryConvolution(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace meshwright::runtime

#endif
