//===- Foreign.cpp - a dialect that knows nothing of Meshwright -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Foreign/Foreign.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

#include "test/lib/Foreign/ForeignDialect.cpp.inc"
#define GET_OP_CLASSES
#include "test/lib/Foreign/ForeignOps.cpp.inc"

void foreign::ForeignDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "test/lib/Foreign/ForeignOps.cpp.inc"
      >();
}
