//===- Traits.h - classes of operations of programs -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes ask for a trait instead of listing operations, so that a new operation states its class once, in TableGen.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_COMMON_TRAITS_H
#define MESHWRIGHT_DIALECTS_COMMON_TRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace meshwright {

/// An operation of a scheduled program that occupies the device: a kernel, or a product or convolution of a library.
template <typename ConcreteType> class Computation : public mlir::OpTrait::TraitBase<ConcreteType, Computation> {};

/// An operation whose value is there from the start of a step, on every rank and at every time: a variable's value or
/// the coordinate of the rank. Constants are available too; they have MLIR's trait `ConstantLike`.
template <typename ConcreteType>
class AlwaysAvailable : public mlir::OpTrait::TraitBase<ConcreteType, AlwaysAvailable> {};

/// Whether `op` occupies the device.
inline bool isComputation(mlir::Operation *op) { return op->hasTrait<Computation>(); }

/// Whether the value of `op` is there from the start, on every rank and at every time.
inline bool isAlwaysAvailable(mlir::Operation *op) {
  return op->hasTrait<AlwaysAvailable>() || op->hasTrait<mlir::OpTrait::ConstantLike>();
}

} // namespace meshwright

#endif
