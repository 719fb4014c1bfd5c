//===- Known.h - the operations that Import knows ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_KNOWN_H
#define MESHWRIGHT_LIB_IMPORT_KNOWN_H

#include "llvm/ADT/StringRef.h"

namespace meshwright::importer {

/// Whether the operation called `name` acts on corresponding elements and is written with operands and types alone.
bool isElementwise(llvm::StringRef name);

/// Whether the operation called `name` is converted.
bool isKnown(llvm::StringRef name);

/// What is said of an operation that is not known, after its name.
inline constexpr llvm::StringLiteral kUnknown = "is not known; docs/design/import.md lists the operations that are";

} // namespace meshwright::importer

#endif
