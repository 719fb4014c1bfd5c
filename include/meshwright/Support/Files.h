//===- Files.h - reading text files -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_FILES_H
#define MESHWRIGHT_SUPPORT_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace meshwright {

/// The text of the regular file `path`, or of standard input for `-`. Pipes, which may block, and devices, which may
/// have no end, are errors, as are failures of the system. The text is read rather than mapped, so that the file may
/// change later.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readText(llvm::StringRef path);

} // namespace meshwright

#endif
