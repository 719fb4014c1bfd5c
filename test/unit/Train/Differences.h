//===- Differences.h - gradients beside differences -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_TRAIN_DIFFERENCES_H
#define MESHWRIGHT_TEST_UNIT_TRAIN_DIFFERENCES_H

#include "test/unit/Random.h"
#include "test/unit/Train/Gradients.h"

namespace meshwright::train {

/// Compares the gradient of every parameter, where it stands, with differences of the loss along random directions, for
/// random weights of the result. `what` is said of a failure.
void compareWithDifferences(Differentiated &program, test::Random &random, const std::string &what,
                            double tolerance = 1e-8);

} // namespace meshwright::train

#endif
