//===- Net.h - the net dialect ----------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_NET_H
#define MESHWRIGHT_DIALECTS_NET_NET_H

#include "dialects/Attributes/Attributes.h"
#include "dialects/Common/ReduceKind.h"
#include "dialects/Common/Traits.h"
#include "dialects/Net/Traits.h"
#include "dialects/Net/Window.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "dialects/Net/NetDialect.h.inc"
#include "dialects/Net/NetEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Net/NetAttrs.h.inc"

namespace meshwright::net {

#include "dialects/Attributes/NetDiscardable.h.inc"

/// Prefixes of the parameter's name in the names of its gradient and of the accumulator of that gradient.
inline constexpr llvm::StringLiteral kGradientPrefix = "grad/";
inline constexpr llvm::StringLiteral kAccumulatorPrefix = "accumulator/";

/// The role of `op` in a training step; nothing if it has none.
std::optional<Role> getRole(mlir::Operation *op);
/// Sets the role of `op`.
void setRole(mlir::Operation *op, Role role);
/// The user's name of the first result of `op`; empty if it has none.
llvm::StringRef getUserName(mlir::Operation *op);

} // namespace meshwright::net

#define GET_OP_CLASSES
#include "dialects/Net/NetOps.h.inc"

#endif
