//===- ProductEpilogue.h - what libraries do behind a product ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some libraries add a vector to every row of a product and take the GELU of that before they store it. A kernel that
// does just this right behind a product is its *epilogue*: a hint, as the kernel stays where it is for those who need
// it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PRODUCTEPILOGUE_H
#define MESHWRIGHT_SCHEDULE_PRODUCTEPILOGUE_H

#include "dialects/Dist/Dist.h"
#include <optional>
#include <string>

namespace meshwright::schedule {

/// With x for the product and h for x + bias: `preactivation` is h, and `out` h or its GELU, by the tanh approximation.
struct ProductEpilogue {
  /// A vector along the last dimension; null where nothing is added.
  mlir::Value bias;
  bool isGelu = false;
  /// A result of the kernel, or the product where that is h and is read later; null where nobody wants h beside its
  /// GELU.
  mlir::Value preactivation;
  mlir::Value out;
};

/// Whether libraries have epilogues for products of `type`.
bool hasEpilogues(mlir::Type type);

/// The kernel right behind `product` that reads it; null where there is none.
dist::KernelOp getKernelBehind(dist::MatmulOp product);

/// What `kernel`, which reads `product`, is as its epilogue; nullopt, and why, where it is none.
std::optional<ProductEpilogue> findEpilogue(dist::MatmulOp product, dist::KernelOp kernel, std::string &reason);

} // namespace meshwright::schedule

#endif
