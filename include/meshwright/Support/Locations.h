//===- Locations.h - locations in the user's file ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_LOCATIONS_H
#define MESHWRIGHT_SUPPORT_LOCATIONS_H

#include "mlir/IR/Location.h"
#include <string>

namespace meshwright {

/// The first location in a file within `loc`, as `model.mlir:88` without the folder; empty if there is none.
std::string describeLocation(mlir::Location loc);

} // namespace meshwright

#endif
