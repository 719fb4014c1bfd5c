//===- Scopes.h - the repeated parts of a network ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_SCOPES_H
#define MESHWRIGHT_SUPPORT_SCOPES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace meshwright {

/// The shortest prefix of the components of `scope` for which `holds`; empty where there is none. A dot behind a
/// backslash belongs to its component.
llvm::StringRef findScopePrefix(llvm::StringRef scope, llvm::function_ref<bool(llvm::StringRef)> holds);

/// The block of a network that `scope` lies in: its shortest prefix that ends in a digit (`transformer.h.3`, `layer0`).
/// Empty where there is none.
llvm::StringRef findBlock(llvm::StringRef scope);

} // namespace meshwright

#endif
