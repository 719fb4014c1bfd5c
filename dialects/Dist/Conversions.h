//===- Conversions.h - conversions as plain data ----------------*- C++ -*-===//
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

/// Resolves the attributes of `op`; errors are at the operation.
mlir::FailureOr<Conversion> resolveConversion(ConversionOpInterface op);

/// The value that does not change what it is reduced with, of element type `type`; of sums of floats that is -0.
mlir::TypedAttr getNeutralElement(ReduceKind kind, mlir::Type type);

/// Whether reducing equal values yields that value: then a replicated value is partial as it stands.
bool isIdempotent(ReduceKind kind);

/// The placement without axes of size 1, which split nothing and owe nothing, without supports that are all
/// coordinates, and with the kind that the absence of partial axes stands for. Two placements that mean the same are
/// equal afterwards.
Placement normalize(Placement placement, const Mesh &mesh);

/// Checks that a support of `placement`, a normal form, is one coordinate of an axis that neither splits the value nor
/// owes a reduction.
mlir::LogicalResult checkSupport(const Placement &placement, const Mesh &mesh,
                                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Whether the digits of every dimension nest within its size, as they do in every placement that was resolved.
bool isNested(const Placement &placement, llvm::ArrayRef<int64_t> shape);

/// Whether every digit that both placements have splits the same indices in both. A digit under one that does not
/// divide counts from where the parts of that one begin, so it means something else when that one goes or comes:
/// of 4 indices, ["a" by 3, "b", "c"] has index 3 in the first part on c and [2, "c"] has it in the second.
bool keepsDigits(const Placement &from, const Placement &to, llvm::ArrayRef<int64_t> shape);

} // namespace meshwright::dist

#endif
