//===- Files.h - texts that are read ----------------------------*- C++ -*-===//
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

/// The text of the regular file `path`, or of standard input where that is `-`. A pipe blocks where nothing writes to
/// it, and a device has no end: they are errors, as is what the system cannot read. The text is read, not mapped, so
/// that a file may change afterwards.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readText(llvm::StringRef path);

} // namespace meshwright

#endif
