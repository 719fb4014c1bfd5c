//===- Files.cpp - texts that are read ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Files.h"
#include "llvm/Support/FileSystem.h"

using namespace meshwright;
namespace fs = llvm::sys::fs;

static llvm::StringRef describeKind(fs::file_type type) {
  switch (type) {
  case fs::file_type::directory_file:
    return "a directory";
  case fs::file_type::fifo_file:
    return "a pipe";
  case fs::file_type::socket_file:
    return "a socket";
  default:
    return "a device";
  }
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> meshwright::readText(llvm::StringRef path) {
  if (path == "-")
    return llvm::errorOrToExpected(llvm::MemoryBuffer::getSTDIN());
  fs::file_status status;
  if (std::error_code error = fs::status(path, status))
    return llvm::errorCodeToError(error);
  if (status.type() != fs::file_type::regular_file)
    return llvm::createStringError("it is " + describeKind(status.type()) + "; a regular file is wanted");
  return llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path, /*IsText=*/true, /*RequiresNullTerminator=*/true,
                                                             /*IsVolatile=*/true));
}
