//===- Adam.cpp - moments of first and second order -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are in Moments.cpp.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

static void addTransforms(const strategy::Adam &settings, TransformList &list) {
  list.add(makeScaleByMoments({.name = "adam",
                               .beta1 = settings.beta1(),
                               .beta2 = settings.beta2(),
                               .eps = settings.eps(),
                               .nesterov = settings.nesterov()}));
  list.addLearningRate();
}

namespace meshwright::train {
Optimizer getAdam() { return makeOptimizer<strategy::Adam, addTransforms>(); }
} // namespace meshwright::train
