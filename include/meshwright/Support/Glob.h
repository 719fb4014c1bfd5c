//===- Glob.h - patterns over dotted names ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_GLOB_H
#define MESHWRIGHT_SUPPORT_GLOB_H

#include "llvm/ADT/StringRef.h"

namespace meshwright {

/// Whether `name` matches `glob`: `*` matches anything, dots included and nothing too; `?` one component of a dotted
/// name or part of one, at least a character; every other character itself. In names and globs alike `\.` is a dot
/// inside a component; in globs a backslash also takes the meaning from `*` and `?`. Takes time in the product of the
/// lengths.
bool matchGlob(llvm::StringRef glob, llvm::StringRef name);

} // namespace meshwright

#endif
