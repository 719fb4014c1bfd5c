//===- ProgramWriter.h - writes the program of one rank ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_PROGRAMWRITER_H
#define MESHWRIGHT_LIB_EMIT_PROGRAMWRITER_H

#include "Tables.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "package.pb.h"

namespace meshwright::emit {

/// Writes the functions of a scheduled module that one rank runs: one, or variants of it for different times. Buffers
/// of `variables` and of the functions' results are in the order of the package.
mlir::LogicalResult writeProgram(llvm::ArrayRef<mlir::func::FuncOp> variants, llvm::ArrayRef<net::VariableOp> variables,
                                 Tables &tables, Program &program);

} // namespace meshwright::emit

#endif
