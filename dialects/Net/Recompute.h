//===- Recompute.h - what backward computes again ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_RECOMPUTE_H
#define MESHWRIGHT_DIALECTS_NET_RECOMPUTE_H

#include "llvm/ADT/StringRef.h"

namespace meshwright::net {

/// A number on an operation of forward, and the same one on its clones in backward: discardable attributes; see the
/// dialect's description.
inline constexpr llvm::StringLiteral kRecomputedAttr = "net.recomputed";
inline constexpr llvm::StringLiteral kRecomputesAttr = "net.recomputes";

} // namespace meshwright::net

#endif
