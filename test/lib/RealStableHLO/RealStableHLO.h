//===- RealStableHLO.h - a registered dialect of StableHLO's name -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_REALSTABLEHLO_REALSTABLEHLO_H
#define MESHWRIGHT_TEST_LIB_REALSTABLEHLO_REALSTABLEHLO_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "test/lib/RealStableHLO/RealDialect.h.inc"
#include "test/lib/RealStableHLO/RealEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "test/lib/RealStableHLO/RealAttrs.h.inc"
#define GET_OP_CLASSES
#include "test/lib/RealStableHLO/RealOps.h.inc"

#endif
