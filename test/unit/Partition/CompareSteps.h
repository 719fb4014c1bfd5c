//===- CompareSteps.h - a partitioned network beside the serial -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_PARTITION_COMPARESTEPS_H
#define MESHWRIGHT_TEST_UNIT_PARTITION_COMPARESTEPS_H

#include "mlir/IR/BuiltinOps.h"
#include "test/unit/Random.h"
#include <gtest/gtest.h>

namespace meshwright::test {

/// Runs both for two steps from equal random variables, on random inputs, and expects all results and variables to be
/// equal to 1e-11: NaN where the serial step has NaN, and nowhere else. Where they are not, that is a fatal failure of
/// the test. With `special` variables and inputs have special values among them (see makeSpecialTensor).
void compareSteps(Random &random, mlir::ModuleOp serial, mlir::ModuleOp partitioned, bool special = false);

/// Tests of steps: the dialects, and completion.
class StepsTest : public ::testing::Test {
protected:
  StepsTest();

  /// Completes `module`, which may have slices of a batch. Returns false, after an error, if completion rejects it.
  bool complete(mlir::ModuleOp module);

  mlir::MLIRContext context;
};

} // namespace meshwright::test

#endif
