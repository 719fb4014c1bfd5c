//===- Attach.h - attaches derivatives to operations -------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule is a function that builds the cotangents of one operation. It is a template argument of the external model, so
// that a family is a list of rules.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_DERIVATIVE_ATTACH_H
#define MESHWRIGHT_LIB_RULES_DERIVATIVE_ATTACH_H

#include "dialects/Net/Interfaces.h"
#include "dialects/Net/NetBuilder.h"

namespace meshwright::net::derivative {

/// The cotangents of the operands, null where there is none.
using Cotangents = llvm::SmallVector<mlir::Value>;

/// The arguments of a rule of one result: a builder at the operation's location, the cotangent of the result, which is
/// not null, and the operands that need a cotangent.
struct Context {
  NetBuilder &build;
  mlir::Value cotangent;
  const llvm::BitVector &wanted;
};

/// The model of an operation with one result and `rule(OpT, Context) -> FailureOr<Cotangents>`.
template <typename OpT, auto rule> struct Model : DerivativeOpInterface::ExternalModel<Model<OpT, rule>, OpT> {
  mlir::FailureOr<Cotangents> differentiate(mlir::Operation *op, mlir::OpBuilder &builder,
                                            llvm::ArrayRef<mlir::Value> cotangents,
                                            const llvm::BitVector &wanted) const {
    NetBuilder build(builder, op->getLoc());
    return rule(llvm::cast<OpT>(op), Context{build, cotangents.front(), wanted});
  }
};

template <typename OpT, auto rule> void attach(mlir::MLIRContext *context) {
  OpT::template attachInterface<Model<OpT, rule>>(*context);
}

// One function per family, in files of their names.
void attachElementwise(mlir::MLIRContext *context);
void attachLayout(mlir::MLIRContext *context);
void attachContraction(mlir::MLIRContext *context);
void attachReduction(mlir::MLIRContext *context);
void attachIndexing(mlir::MLIRContext *context);
void attachDynamic(mlir::MLIRContext *context);
void attachMatrix(mlir::MLIRContext *context);
void attachWindow(mlir::MLIRContext *context);

} // namespace meshwright::net::derivative

#endif
