//===- Version.cpp - versions of all parts --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Version.h"
#include "google/protobuf/stubs/common.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

void meshwright::printVersion(llvm::raw_ostream &out) {
  out << "Meshwright " << MESHWRIGHT_VERSION << "\n"
      << "LLVM and MLIR " << LLVM_VERSION_STRING << "\n"
      << "protobuf " << GOOGLE_PROTOBUF_VERSION / 1000000 << "." << GOOGLE_PROTOBUF_VERSION / 1000 % 1000 << "."
      << GOOGLE_PROTOBUF_VERSION % 1000 << "\n";
}
