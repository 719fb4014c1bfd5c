//===- PlacementText.h - placements as text ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PLACEMENTTEXT_H
#define MESHWRIGHT_RUNTIME_PLACEMENTTEXT_H

#include "meshwright/runtime/Layout.h"

namespace meshwright::runtime {

/// A checked placement as in the mapping attribute: `[["dp"], [3, "tp"]]`, `[[]], partial = sum ["dp"], on {"tp" =
/// [1]}`.
std::string toString(const Placement &placement, std::span<const int64_t> shape, const Mesh &mesh);
/// A name of the schema as people read it: `optimizer state`.
std::string toLower(std::string name);

} // namespace meshwright::runtime

#endif
