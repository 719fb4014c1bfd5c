//===- Conversions.h - resolved conversions and their checks ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_CONVERSIONS_H
#define MESHWRIGHT_DIALECTS_DIST_CONVERSIONS_H

#include "dialects/Dist/Placement.h"

namespace meshwright::dist {

/// A conversion operation with its attributes resolved.
struct Conversion {
  Mesh mesh;
  llvm::SmallVector<Axis> axes;
  Placement from;
  Placement to;
  llvm::SmallVector<int64_t> shape;
};

/// Resolves the attributes of `op`; emits an error at the operation if they do not fit the mesh or the shape.
mlir::FailureOr<Conversion> resolveConversion(ConversionOpInterface op);

/// The neutral element of `kind` in element type `type`; for sums of floats it is -0, because +0 would change -0.
mlir::TypedAttr getNeutralElement(ReduceKind kind, mlir::Type type);

/// True if reducing equal values yields that value, so that a replicated value is already partial of that kind.
bool isIdempotent(ReduceKind kind);

/// Returns the normal form of `placement`: without axes of size 1, without supports that cover all coordinates, and
/// with the default reduction kind if no axis is partial. Placements with the same meaning have the same normal form.
Placement normalize(Placement placement, const Mesh &mesh);

/// Checks that every support of `placement`, a normal form, is one coordinate of an axis on which the value is neither
/// split nor partial.
mlir::LogicalResult checkSupport(const Placement &placement, const Mesh &mesh,
                                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// True if the digits of every dimension nest within its size, as they do in every resolved placement.
bool isNested(const Placement &placement, llvm::ArrayRef<int64_t> shape);

/// True if every digit that both placements have splits the same indices in both. A digit after a more significant one
/// that does not divide counts from the beginning of that one's parts, so adding or removing the latter changes its
/// meaning: of 4 indices, ["a" by 3, "b", "c"] has index 3 in the first part on c, [2, "c"] has it in the second.
bool keepsDigits(const Placement &from, const Placement &to, llvm::ArrayRef<int64_t> shape);

} // namespace meshwright::dist

#endif
