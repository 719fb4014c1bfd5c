//===- Known.h - names of supported operations ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_KNOWN_H
#define MESHWRIGHT_LIB_STABLEHLO_KNOWN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace meshwright::importer {

/// True if the operation is elementwise and its short form consists of operands and types only.
bool isElementwise(llvm::StringRef name);

/// The mnemonics of binary elementwise operations of StableHLO, whose result has the type of the operands.
llvm::ArrayRef<llvm::StringLiteral> getBinary();

/// True if the operation is one of CHLO with implicit broadcasting.
bool isBroadcasting(llvm::StringRef name);

/// True if a converter for the operation exists.
bool isKnown(llvm::StringRef name);

/// The end of the error about an unknown operation, after its name, with a remedy if there is one.
llvm::StringRef describeUnknown(llvm::StringRef name);

} // namespace meshwright::importer

#endif
