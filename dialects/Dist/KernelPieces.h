//===- KernelPieces.h - loops that read one operand at a time ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_KERNELPIECES_H
#define MESHWRIGHT_DIALECTS_DIST_KERNELPIECES_H

#include "mlir/IR/BuiltinAttributes.h"

namespace meshwright::dist {

/// States of a `linalg.generic` that lowers tensors side by side which of them an element comes from: the dimension,
/// then the index in it at which each one starts, from 0. The `tensor.extract`s of the body read them in this order; the
/// value that one selects is the only one that counts. A loop over the dimension may run piece by piece.
inline constexpr llvm::StringLiteral kPiecesAttrName = "dist.pieces";

} // namespace meshwright::dist

#endif
