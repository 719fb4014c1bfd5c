//===- Known.h - the operations that Import knows ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_KNOWN_H
#define MESHWRIGHT_LIB_IMPORT_KNOWN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace meshwright::importer {

/// Whether the operation called `name` acts on corresponding elements and is written with operands and types alone.
bool isElementwise(llvm::StringRef name);

/// The operations of StableHLO that combine two operands element by element, and make what has their type.
llvm::ArrayRef<llvm::StringLiteral> getBinary();

/// Whether the operation called `name` is one of CHLO that repeats its operands.
bool isBroadcasting(llvm::StringRef name);

/// Whether the operation called `name` is converted.
bool isKnown(llvm::StringRef name);

/// What is said of the operation called `name`, which is not known, after its name: what would do in its place, if
/// something does.
llvm::StringRef describeUnknown(llvm::StringRef name);

} // namespace meshwright::importer

#endif
