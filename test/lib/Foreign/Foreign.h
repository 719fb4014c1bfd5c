//===- Foreign.h - a dialect that knows nothing of Meshwright ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_FOREIGN_FOREIGN_H
#define MESHWRIGHT_TEST_LIB_FOREIGN_FOREIGN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "test/lib/Foreign/ForeignDialect.h.inc"
#define GET_OP_CLASSES
#include "test/lib/Foreign/ForeignOps.h.inc"

#endif
