//===- Brick.h - the dialect of a framework ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two operations that a framework might have. Nothing here knows of Meshwright.
//
//===----------------------------------------------------------------------===//

#ifndef EXAMPLES_EMBED_CMAKE_BRICK_H
#define EXAMPLES_EMBED_CMAKE_BRICK_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace brick {

/// An operation without side effects, with a tensor as its result and operands as `OperandsT` has them.
template <typename OpT, template <typename> class OperandsT>
class PureOp : public mlir::Op<OpT, mlir::OpTrait::ZeroRegions, mlir::OpTrait::OneResult,
                               mlir::OpTrait::OneTypedResult<mlir::RankedTensorType>::template Impl,
                               mlir::OpTrait::ZeroSuccessors, OperandsT, mlir::MemoryEffectOpInterface::Trait> {
public:
  using PureOp::Op::Op;
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }
  void getEffects(llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &) {}
};

/// `"brick.linear"(%x, %w)`: the product of x [i, k] with a matrix w [j, k], [i, j].
class LinearOp : public PureOp<LinearOp, mlir::OpTrait::NOperands<2>::Impl> {
public:
  using PureOp::PureOp;
  static llvm::StringRef getOperationName() { return "brick.linear"; }
};

/// `"brick.relu"(%x)`: the larger of each element and 0.
class ReluOp : public PureOp<ReluOp, mlir::OpTrait::OneOperand> {
public:
  using PureOp::PureOp;
  static llvm::StringRef getOperationName() { return "brick.relu"; }
};

class BrickDialect : public mlir::Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BrickDialect)
  static constexpr llvm::StringLiteral getDialectNamespace() { return "brick"; }
  explicit BrickDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context, mlir::TypeID::get<BrickDialect>()) {
    addOperations<LinearOp, ReluOp>();
  }
};

} // namespace brick

#endif
