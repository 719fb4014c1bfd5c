//===- Names.h - names and locations in reports -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_NAMES_H
#define MESHWRIGHT_LIB_EMIT_NAMES_H

#include "dialects/Dist/Dist.h"

namespace meshwright::emit {

/// `file:line` where `location` leads to one, else empty.
std::string getLocationText(mlir::Location location);
/// The user's name of `value`, where its operation states it.
llvm::StringRef getName(mlir::Value value);
/// The value's name, its scope, or what the operation is.
std::string getTitle(mlir::Operation *op);
/// The user's name of the value that part `number` of a launch moves.
std::string getPartName(dist::CollectiveOp op, unsigned number);
/// The location of part `number`: a launch of several parts has all their locations, in order.
std::string getPartLocation(dist::CollectiveOp op, unsigned number);

} // namespace meshwright::emit

#endif
