//===- Sharding.h - shardings that exporters write --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STABLEHLO_SHARDING_H
#define MESHWRIGHT_STABLEHLO_SHARDING_H

#include "dialects/Dist/Mesh.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <optional>

namespace meshwright::importer {

/// Axes of a mesh, the most significant first.
using Axes = llvm::SmallVector<dist::Axis, 2>;

/// The axes that split every dimension of a value with `rank` dimensions by the text of an attribute `mhlo.sharding`:
/// `{replicated}`, `{devices=[2,1,2]<=[4] last_tile_dim_replicate}`, `{devices=[2,2]<=[2,2]T(1,0)}` or
/// `{devices=[2,1]0,1}`. Dimensions of the grid after those of the value, over which it is replicated, do not count.
/// An error says why the text is no placement on `mesh`.
mlir::FailureOr<llvm::SmallVector<Axes>> readHloSharding(llvm::StringRef text, unsigned rank, const dist::Mesh &mesh,
                                                         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The same by the attributes of an argument or result, `mhlo.sharding` or `sdy.sharding`; nothing if it has neither.
mlir::FailureOr<std::optional<llvm::SmallVector<Axes>>>
readSharding(mlir::DictionaryAttr attributes, unsigned rank, const dist::Mesh &mesh,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// As the command line and messages write a mesh: `dp=2,tp=4`.
std::string printMesh(const dist::Mesh &mesh);

} // namespace meshwright::importer

#endif
