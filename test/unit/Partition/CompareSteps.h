//===- CompareSteps.h - a partitioned network beside the serial -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_PARTITION_COMPARESTEPS_H
#define MESHWRIGHT_TEST_UNIT_PARTITION_COMPARESTEPS_H

#include "mlir/IR/BuiltinOps.h"
#include "test/unit/Random.h"

namespace meshwright::test {

/// Runs both for two steps from equal random variables, on random inputs, and expects all results and variables to be
/// equal to 1e-11. Where they are not, that is a fatal failure of the test.
void compareSteps(Random &random, mlir::ModuleOp serial, mlir::ModuleOp partitioned);

} // namespace meshwright::test

#endif
