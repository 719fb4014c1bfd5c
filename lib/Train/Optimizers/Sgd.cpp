//===- Sgd.cpp - gradient descent -----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the learning rate η: p ← p − η g.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

static void addTransforms(const strategy::Sgd &, TransformList &list) { list.addLearningRate(); }

namespace meshwright::train {
Optimizer getSgd() { return makeOptimizer<strategy::Sgd, addTransforms>(); }
} // namespace meshwright::train
