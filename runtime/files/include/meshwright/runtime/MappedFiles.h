//===- MappedFiles.h - files that lose what is read -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_MAPPEDFILES_H
#define MESHWRIGHT_RUNTIME_MAPPEDFILES_H

namespace meshwright::runtime {

/// Ends the process where a mapped file has lost bytes that are read: with one line on standard error, which begins
/// with the name `tool` and names the file, and with the exit code of `Code::Fault`. It takes the signal SIGBUS for
/// that, so it is for tools; a program that embeds the runtime decides itself about the signals of its process.
void exitWhereFilesShrink(const char *tool);

} // namespace meshwright::runtime

#endif
