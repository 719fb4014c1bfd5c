//===- Shardings.h - placements that the graph states -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_SHARDINGS_H
#define MESHWRIGHT_LIB_ANNOTATE_SHARDINGS_H

#include "dialects/Dist/Dist.h"
#include "dialects/Given/Given.h"

namespace meshwright::annotate {

/// The placement that `sharding` states.
dist::MappingAttr toMapping(given::ShardingAttr sharding);

/// Adds the digits in `dims` that a strategy states to those of a value that the graph keeps in `sharding`: leaves
/// those out that the graph has too. Returns the name of an axis about which the two disagree; null if there is none.
/// `mesh` is that of the graph: of other axes it says nothing.
mlir::StringAttr findDisagreement(given::ShardingAttr sharding, given::MeshAttr mesh,
                                  llvm::ArrayRef<dist::DigitsAttr> dims,
                                  llvm::SmallVectorImpl<dist::DigitsAttr> &added);

} // namespace meshwright::annotate

#endif
