//===- Attach.h - how folds are attached to operations ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fold is a function that returns a simpler value, or null. It is a template argument of the external model, so that
// a family is a list of folds. Constants stay splats: a fold never makes an attribute with more elements than those it
// started from.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_FOLD_ATTACH_H
#define MESHWRIGHT_LIB_RULES_FOLD_ATTACH_H

#include "dialects/Net/Fold.h"
#include "dialects/Net/NetBuilder.h"

namespace meshwright::net::fold {

/// The model of an operation with `rule(OpT, NetBuilder &) -> Value`; the builder is at the operation's location.
template <typename OpT, auto rule> struct Model : FoldOpInterface::ExternalModel<Model<OpT, rule>, OpT> {
  mlir::Value simplify(mlir::Operation *op, mlir::OpBuilder &builder) const {
    NetBuilder build(builder, op->getLoc());
    return rule(llvm::cast<OpT>(op), build);
  }
};

template <typename OpT, auto rule> void attach(mlir::MLIRContext *context) {
  OpT::template attachInterface<Model<OpT, rule>>(*context);
}

/// The splat constant that defines `value`, or null.
inline mlir::SplatElementsAttr getSplat(mlir::Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue()) : mlir::SplatElementsAttr();
}

/// A constant of the type of `like`.
inline mlir::Value makeConstant(NetBuilder &build, mlir::Value like, mlir::DenseElementsAttr value) {
  return ConstantOp::create(build.builder, build.location, like.getType(), value);
}

/// The same with `element` everywhere.
inline mlir::Value makeSplat(NetBuilder &build, mlir::Value like, mlir::Attribute element) {
  return makeConstant(build, like, mlir::DenseElementsAttr::get(typeOf(like), element));
}

// One function per family, in files of their names.
void attachElementwise(mlir::MLIRContext *context);
void attachLayout(mlir::MLIRContext *context);
void attachContraction(mlir::MLIRContext *context);

} // namespace meshwright::net::fold

#endif
