//===- Momentum.cpp - gradient descent along a decaying sum ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With optax's formulas: t ← g + μ t;  u = t, or with Nesterov g + μ t.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

static void addTransforms(const strategy::Momentum &settings, TransformList &list) {
  list.add(makeFollowMomentum("momentum.m", settings.momentum(), settings.nesterov()));
  list.addLearningRate();
}

namespace meshwright::train {
Optimizer getMomentum() { return makeOptimizer<strategy::Momentum, addTransforms>(); }
} // namespace meshwright::train
