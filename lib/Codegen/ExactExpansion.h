//===- ExactExpansion.h - floats as residues --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_CODEGEN_EXACTEXPANSION_H
#define MESHWRIGHT_LIB_CODEGEN_EXACTEXPANSION_H

#include "mlir/IR/BuiltinOps.h"

namespace meshwright::emit {

/// Replaces every float of the module's functions, which are scalar code, by a word of 64 bits that holds a residue
/// (Residue.h), and operations on floats by calls of the runtime's functions. Elements of memrefs get `scale` times
/// their bytes. Emits an error at an operation that residues have no counterpart of.
mlir::LogicalResult expandExact(mlir::ModuleOp module, int64_t scale);

} // namespace meshwright::emit

#endif
