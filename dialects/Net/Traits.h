//===- Traits.h - classes of operations of networks -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes ask for a trait instead of listing operations, so that a new operation states its class once, in TableGen.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_TRAITS_H
#define MESHWRIGHT_DIALECTS_NET_TRAITS_H

#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace meshwright::net {

/// How a layout operation, which only moves data, makes its result.
enum class Movement {
  /// Every element of the operand once, in another order or shape.
  Permutes,
  /// Every element of the operand, at least once.
  Repeats,
  /// Some elements of the operand.
  Selects,
  /// The elements of several operands.
  Joins
};

/// The trait of a layout operation. Which elements go where depends on attributes alone, never on data.
template <Movement movement> struct Moves {
  template <typename ConcreteType> class Impl : public mlir::OpTrait::TraitBase<ConcreteType, Moves<movement>::Impl> {};
};

/// An operation that belongs to a loop: its two ends, and what carries values into it, through it and out of it.
template <typename ConcreteType> class LoopPart : public mlir::OpTrait::TraitBase<ConcreteType, LoopPart> {};

/// How `op` moves data; nothing where it is no layout operation.
std::optional<Movement> getMovement(mlir::Operation *op);

/// Whether `op` is a layout operation whose result has every element of its only operand.
bool movesWhole(mlir::Operation *op);

} // namespace meshwright::net

#endif
