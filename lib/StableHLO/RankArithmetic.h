//===- RankArithmetic.h - axes of a mesh in lists of ranks ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exported programs list ranks by number where this project names axes of a mesh.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_RANKARITHMETIC_H
#define MESHWRIGHT_LIB_STABLEHLO_RANKARITHMETIC_H

#include "meshwright/StableHLO/Sharding.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace meshwright::importer {

/// The axes whose coordinates, read as the digits of a number, are `values[rank]` on every rank; nothing if there are
/// none. Axes of size 1 are not among them.
std::optional<Axes> findDigits(const dist::Mesh &mesh, llvm::ArrayRef<int64_t> values);

/// The axes along which the ranks of every group stand, in the order of the group; nothing if the groups are not the
/// rows of axes of the mesh. Every rank has to be in one group, and all groups have one size.
std::optional<Axes> findAxes(const dist::Mesh &mesh, llvm::ArrayRef<llvm::SmallVector<int64_t>> groups);

/// The names of axes.
mlir::ArrayAttr getNames(mlir::MLIRContext *context, const dist::Mesh &mesh, llvm::ArrayRef<dist::Axis> axes);

} // namespace meshwright::importer

#endif
