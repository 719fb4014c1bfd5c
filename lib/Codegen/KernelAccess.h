//===- KernelAccess.h - what code does with memory --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_CODEGEN_KERNELACCESS_H
#define MESHWRIGHT_LIB_CODEGEN_KERNELACCESS_H

#include "mlir/IR/Value.h"

namespace meshwright::emit {

/// Whether the code in the llvm dialect that gets `pointer`, an argument of its function, reads and writes the memory
/// there: a combination of runtime::KernelAccess. Every operation that the address or a part of it reaches is looked
/// at, in this function and in those of the module that it calls.
uint64_t findAccess(mlir::Value pointer);

} // namespace meshwright::emit

#endif
