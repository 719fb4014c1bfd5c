//===- Net.h - the net dialect ----------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_NET_H
#define MESHWRIGHT_DIALECTS_NET_NET_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Window.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "dialects/Net/NetDialect.h.inc"
#include "dialects/Net/NetEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Net/NetAttrs.h.inc"

namespace meshwright::net {

/// Names of the discardable attributes; see the dialect's description.
inline constexpr llvm::StringLiteral kRoleAttr = "net.role";
inline constexpr llvm::StringLiteral kScopeAttr = "net.scope";
inline constexpr llvm::StringLiteral kNameAttr = "net.name";

/// Names of gradients and of what their sum over several steps is kept in are this and the parameter's name.
inline constexpr llvm::StringLiteral kGradientPrefix = "grad/";
inline constexpr llvm::StringLiteral kAccumulatorPrefix = "accumulator/";

/// The part of a training step that `op` belongs to, if it says so.
std::optional<Role> getRole(mlir::Operation *op);
/// States it.
void setRole(mlir::Operation *op, Role role);
/// The user's name of an operation's first result; empty where it has none.
llvm::StringRef getUserName(mlir::Operation *op);

} // namespace meshwright::net

#define GET_OP_CLASSES
#include "dialects/Net/NetOps.h.inc"

#endif
