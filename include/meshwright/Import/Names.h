//===- Names.h - dotted names and scopes from JAX paths ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_NAMES_H
#define MESHWRIGHT_IMPORT_NAMES_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <utility>

namespace meshwright::importer {

/// Escapes `key` for use as a component of a dotted name: writes a backslash before each dot.
std::string escapeComponent(llvm::StringRef key);

/// Splits a dotted name at its first unescaped dot; the second part is empty if there is no such dot.
std::pair<llvm::StringRef, llvm::StringRef> splitComponent(llvm::StringRef name);

/// The dotted name of a path in a Python tree: `p['h'][0].mu` becomes `p.h.0.mu`, `['a.b']` becomes `a\.b`. Text that
/// is not such a path becomes a single component.
std::string getDottedName(llvm::StringRef path);

/// The dotted name of a result's path, without its root. The root is `result`, or empty in old versions of JAX; a
/// single result keeps the name `result`.
std::string getResultName(llvm::StringRef path);

/// The scope in the name of an operation's location: `jit(f)/transformer/h/3/attn/dot_general` is in
/// `transformer.h.3.attn`. The last component is the primitive and is dropped, and so is `jit(f)`; the wrappers of
/// other transformations are removed (`transpose(jvp(h))` becomes `h`).
std::string getScope(llvm::StringRef name);

/// True if the name starts at the graph even inside private functions, as JAX before version 0.7 prints it:
/// `jit(f)/jit(main)/…`. Later versions start at the enclosing function.
bool isWhole(llvm::StringRef name);

/// True if reverse-mode differentiation made the operation of that name.
bool isTransposed(llvm::StringRef name);

} // namespace meshwright::importer

#endif
