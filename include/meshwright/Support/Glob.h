//===- Glob.h - patterns over dotted names ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_GLOB_H
#define MESHWRIGHT_SUPPORT_GLOB_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace meshwright {

/// True if `name` matches `glob`. `*` matches any text, including dots and the empty text; `?` matches a non-empty part
/// of one component of a dotted name; every other character matches itself. In names and globs `\.` is a dot inside a
/// component; in globs a backslash also escapes `*` and `?`. Takes time in the product of the lengths.
bool matchGlob(llvm::StringRef glob, llvm::StringRef name);

/// The text that each `*` and `?` of `glob` matches in `name`, from left to right, earlier ones as short as possible.
/// Empty if the glob does not match.
std::optional<llvm::SmallVector<llvm::StringRef>> captureGlob(llvm::StringRef glob, llvm::StringRef name);

/// Replaces each `*` and `?` of `glob` by one of `captures`. Empty if their numbers differ.
std::optional<std::string> fillGlob(llvm::StringRef glob, llvm::ArrayRef<llvm::StringRef> captures);

/// A list of globs and how the names that are held against it use each of them.
class GlobList {
public:
  /// Copies nothing: `globs` has to live as long as the list.
  explicit GlobList(llvm::ArrayRef<std::string> globs) : globs(globs), uses(globs.size(), Use::None) {}

  /// True if a glob matches one of `names`, the names of one thing. The first glob that does takes effect if
  /// `isChanged` says that the list changes that thing.
  bool match(llvm::ArrayRef<llvm::StringRef> names, bool isChanged = true);

  /// The first glob that no name matched.
  std::optional<unsigned> findUnmatched() const;

  /// The globs that matched names and took effect for none.
  llvm::SmallVector<unsigned> findWithoutEffect() const;

  llvm::StringRef get(unsigned index) const { return globs[index]; }

private:
  enum class Use { None, Matched, Effective };

  llvm::ArrayRef<std::string> globs;
  llvm::SmallVector<Use> uses;
};

} // namespace meshwright

#endif
