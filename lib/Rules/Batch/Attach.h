//===- Attach.h - how rules for batches are attached ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule is a function from the operation and its batch to the result. It is a template argument of the external model,
// so that a family is a list of rules.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_BATCH_ATTACH_H
#define MESHWRIGHT_LIB_RULES_BATCH_ATTACH_H

#include "dialects/Net/Batch.h"

namespace meshwright::net::batch {

using Results = llvm::SmallVector<mlir::Value>;

/// The model of an operation with `rule(OpT, Batch &)`, which returns a value or `Results`.
template <typename OpT, auto rule> struct Model : BatchOpInterface::ExternalModel<Model<OpT, rule>, OpT> {
  Results batch(mlir::Operation *op, Batch &batch) const { return Results{rule(llvm::cast<OpT>(op), batch)}; }
};

template <typename OpT, auto rule> void attach(mlir::MLIRContext *context) {
  OpT::template attachInterface<Model<OpT, rule>>(*context);
}

/// Builds an operation whose result has the type of that of `op`, with the sizes of the batch.
template <typename OpT, typename... Args> mlir::Value make(OpT op, Batch &batch, Args &&...args) {
  return OpT::create(batch.build.builder, batch.build.location, batch.addSizes(op.getResult().getType()),
                     std::forward<Args>(args)...);
}

// One function per family, in files of their names.
void attachContraction(mlir::MLIRContext *context);
void attachIndexing(mlir::MLIRContext *context);
void attachLayout(mlir::MLIRContext *context);
void attachLoop(mlir::MLIRContext *context);
void attachReduction(mlir::MLIRContext *context);
void attachWindow(mlir::MLIRContext *context);

} // namespace meshwright::net::batch

#endif
