//===- Names.h - names and scopes as users write them -----------*- C++ -*-===//
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

/// A component of a dotted name: `key` with a backslash before each dot.
std::string escapeComponent(llvm::StringRef key);

/// The first component of a dotted name, and what follows its dot, if any.
std::pair<llvm::StringRef, llvm::StringRef> splitComponent(llvm::StringRef name);

/// The dotted name of a path in a tree as Python writes it: `p['h'][0].mu` is `p.h.0.mu`, `['a.b']` is `a\.b`. A text
/// that is no such path is one component.
std::string getDottedName(llvm::StringRef path);

/// The same for a path below a result: without the root, which is `result` for all, or nothing in old versions of JAX
/// (but a single result is `result`).
std::string getResultName(llvm::StringRef path);

/// The scope that the name of an operation's location gives: `jit(f)/transformer/h/3/attn/dot_general` is in
/// `transformer.h.3.attn`. The last component is the primitive; transformations are seen through (`transpose(jvp(h))`
/// is `h`), `jit(f)` is none.
std::string getScope(llvm::StringRef name);

/// Whether the name says the whole way from the graph, in private functions too, as JAX before version 0.7 prints it:
/// `jit(f)/jit(main)/…`. Later ones say the way from the function on.
bool isWhole(llvm::StringRef name);

/// Whether the name is that of an operation that differentiation in reverse made.
bool isTransposed(llvm::StringRef name);

} // namespace meshwright::importer

#endif
