//===- Scopes.h - prefixes and blocks of scopes -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_SCOPES_H
#define MESHWRIGHT_SUPPORT_SCOPES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace meshwright {

/// The shortest prefix of whole components of `scope` for which `holds` returns true; empty if there is none. An
/// escaped dot does not end a component.
llvm::StringRef findScopePrefix(llvm::StringRef scope, llvm::function_ref<bool(llvm::StringRef)> holds);

/// The block of `scope`: its shortest prefix that ends in a digit (`transformer.h.3`, `layer0`). Empty if there is
/// none.
llvm::StringRef findBlock(llvm::StringRef scope);

} // namespace meshwright

#endif
