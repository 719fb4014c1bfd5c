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

/// Whether `name` matches `glob`: `*` matches anything, dots included and nothing too; `?` one component of a dotted
/// name or part of one, at least a character; every other character itself. In names and globs alike `\.` is a dot
/// inside a component; in globs a backslash also takes the meaning from `*` and `?`. Takes time in the product of the
/// lengths.
bool matchGlob(llvm::StringRef glob, llvm::StringRef name);

/// What each `*` and `?` of `glob` stands for in `name`, from the left, the first ones for as little as possible.
/// Nothing where the glob does not match.
std::optional<llvm::SmallVector<llvm::StringRef>> captureGlob(llvm::StringRef glob, llvm::StringRef name);

/// The name that `glob` becomes when its `*` and `?` stand for `captures`. Nothing where it has not as many of them.
std::optional<std::string> fillGlob(llvm::StringRef glob, llvm::ArrayRef<llvm::StringRef> captures);

} // namespace meshwright

#endif
