//===- Dims.h - placements in the words of users ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_DIMS_H
#define MESHWRIGHT_DIALECTS_DIST_DIMS_H

#include "dialects/Dist/Dist.h"

namespace meshwright::dist {

/// The digits of every dimension by a text such as `[3 tp, -]`: the names of axes of `mesh`, numbers, and `-` for a
/// dimension that is not split.
mlir::FailureOr<llvm::SmallVector<DigitsAttr>> parseDims(llvm::StringRef text, const Mesh &mesh,
                                                         mlir::MLIRContext *context,
                                                         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace meshwright::dist

#endif
