//===- ProductEpilogue.h - finds kernels that fuse into a GEMM's epilogue -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some libraries can add a vector to every row of a GEMM's result and apply GELU before they store it. A kernel
// directly after a GEMM that does exactly this is its *epilogue*. The mark is a hint: the kernel stays in the program
// for targets whose library has no such epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_KERNELS_PRODUCTEPILOGUE_H
#define MESHWRIGHT_KERNELS_PRODUCTEPILOGUE_H

#include "dialects/Dist/Dist.h"
#include <optional>
#include <string>

namespace meshwright::schedule {

/// With x for the GEMM's result and h = x + bias: `preactivation` is h, and `out` is h or GELU(h) by the tanh
/// approximation.
struct ProductEpilogue {
  /// A vector along the last dimension; null if there is no bias.
  mlir::Value bias;
  bool isGelu = false;
  /// The value that h is stored in: a result of the kernel, or the GEMM's result if that is h and is read later; null
  /// if h is read only by its GELU.
  mlir::Value preactivation;
  mlir::Value out;
};

/// True if libraries have epilogues for GEMMs of `type`.
bool hasEpilogues(mlir::Type type);

/// The kernel directly after `product` that reads its result; null if there is none.
dist::KernelOp getKernelBehind(dist::MatmulOp product);

/// Describes `kernel`, which reads `product`, as an epilogue; nullopt and `reason` if it is not one.
std::optional<ProductEpilogue> findEpilogue(dist::MatmulOp product, dist::KernelOp kernel, std::string &reason);

} // namespace meshwright::schedule

#endif
