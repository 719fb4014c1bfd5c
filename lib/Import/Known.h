//===- Known.h - the operations that Import knows ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_KNOWN_H
#define MESHWRIGHT_LIB_IMPORT_KNOWN_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace meshwright::importer {

/// Whether the operation called `name` acts on corresponding elements and is written with operands and types alone.
bool isElementwise(llvm::StringRef name);

/// Whether the operation called `name` is converted.
bool isKnown(llvm::StringRef name);

/// The diagnostic for an operation that is not known.
std::string describeUnknown(llvm::StringRef name);

} // namespace meshwright::importer

#endif
