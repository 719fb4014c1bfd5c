//===- Recompute.h - attributes of activation checkpointing -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_RECOMPUTE_H
#define MESHWRIGHT_DIALECTS_NET_RECOMPUTE_H

#include "llvm/ADT/StringRef.h"

namespace meshwright::net {

/// Discardable attributes of operations that backward recomputes: a number on the operation of forward, and the same
/// number on its clones in backward; see the dialect's description.
inline constexpr llvm::StringLiteral kRecomputedAttr = "net.recomputed";
inline constexpr llvm::StringLiteral kRecomputesAttr = "net.recomputes";

} // namespace meshwright::net

#endif
