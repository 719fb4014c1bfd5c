//===- AmxConvolution.h - f32 convolutions of bf16 tiles --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_AMXCONVOLUTION_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_AMXCONVOLUTION_H

#include "ConvolutionForm.h"
#include <cstddef>
#include <memory>

namespace meshwright::runtime {

/// A convolution in f32 that tiles of AMX compute, on several threads. Each element is summed in an order that depends
/// on the sizes of the convolution alone, so bits do not depend on the number of threads. Its error is on average at
/// most that of f32 operations, apart from 2^-126 for each term.
class AmxConvolution {
public:
  /// The way of tiles for so many threads; null where another way is faster, or where images have channels that are not
  /// neighbours, groups, dilations or more than two dimensions. `hasAmx` is asked by the caller.
  static std::unique_ptr<AmxConvolution> create(const ConvolutionForm &form, int threads);
  virtual ~AmxConvolution() = default;

  /// Bytes of scratch memory that all threads need together, aligned to 64.
  virtual uint64_t getScratchBytes() const = 0;

  /// Computes the convolution. False if some result is NaN or infinite, which it may be by products of planes alone:
  /// then no result counts.
  virtual bool execute(const std::byte *lhs, const std::byte *rhs, std::byte *out, std::byte *scratch) = 0;
};

} // namespace meshwright::runtime

#endif
