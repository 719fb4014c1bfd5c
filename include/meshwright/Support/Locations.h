//===- Locations.h - where in the user's file -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_LOCATIONS_H
#define MESHWRIGHT_SUPPORT_LOCATIONS_H

#include "mlir/IR/Location.h"
#include <string>

namespace meshwright {

/// The first place in a file that `loc` knows, as `model.mlir:88`, without the folder; empty where it knows none.
std::string describeLocation(mlir::Location loc);

} // namespace meshwright

#endif
