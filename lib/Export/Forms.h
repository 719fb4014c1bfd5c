//===- Forms.h - the families of forms --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_FORMS_H
#define MESHWRIGHT_LIB_EXPORT_FORMS_H

#include "meshwright/Export/Writer.h"

namespace meshwright::exporter {

using Terms = llvm::SmallVector<Term>;

/// Each function attaches the forms of one family.
void attachCollectives(mlir::MLIRContext *context);
void attachContraction(mlir::MLIRContext *context);
void attachElementwise(mlir::MLIRContext *context);
void attachIndexing(mlir::MLIRContext *context);
void attachLayout(mlir::MLIRContext *context);
void attachMatrix(mlir::MLIRContext *context);
void attachOrder(mlir::MLIRContext *context);
void attachReduction(mlir::MLIRContext *context);
void attachWindow(mlir::MLIRContext *context);

/// The neutral element of a reduction as StableHLO's programs write it: sums begin at +0.
Term writeNeutral(Writer &writer, ReduceKind kind, mlir::Type element);

} // namespace meshwright::exporter

#endif
