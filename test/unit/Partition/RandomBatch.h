//===- RandomBatch.h - random networks that have a batch --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMBATCH_H
#define MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMBATCH_H

#include "dialects/Dist/Mesh.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/unit/Random.h"

namespace meshwright::test {

/// Multiplies inputs of floats by a variable: what is made of them is then no more made of inputs alone.
void addGain(mlir::ModuleOp module);

/// Returns sums of some values as well: plain, added to each other, or through a function that is not linear; and at
/// times what is made of a value and its own sum.
void addSums(Random &random, mlir::ModuleOp module);

/// Splits over `axes`, the first outermost, a dimension of one or several inputs that divides; false if there is none.
bool cutInputs(Random &random, mlir::ModuleOp module, const dist::Mesh &mesh, llvm::ArrayRef<dist::Axis> axes);

} // namespace meshwright::test

#endif
