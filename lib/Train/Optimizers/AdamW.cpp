//===- AdamW.cpp - Adam with decoupled weight decay -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the update u of Adam, in Moments.cpp, and the parameter p: u + λ p.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

static void addTransforms(const strategy::AdamW &settings, TransformList &list) {
  list.add(makeScaleByMoments({.name = "adamw",
                               .beta1 = settings.beta1(),
                               .beta2 = settings.beta2(),
                               .eps = settings.eps(),
                               .nesterov = settings.nesterov()}));
  list.addDecay(settings.weight_decay());
  list.addLearningRate();
}

namespace meshwright::train {
Optimizer getAdamW() { return makeOptimizer<strategy::AdamW, addTransforms>(); }
} // namespace meshwright::train
