//===- Version.h - versions of all parts ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_VERSION_H
#define MESHWRIGHT_LIB_PIPELINE_VERSION_H

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace meshwright {

/// Prints the version of Meshwright and of what the compiler is built on.
void printVersion(llvm::raw_ostream &out);

} // namespace meshwright

#endif
