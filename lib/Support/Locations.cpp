//===- Locations.cpp - prints locations in files --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Locations.h"
#include "llvm/Support/Path.h"

using namespace mlir;

std::string meshwright::describeLocation(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    text = (llvm::sys::path::filename(file.getFilename()) + ":" + llvm::Twine(file.getLine())).str();
    return WalkResult::interrupt();
  });
  return text;
}
