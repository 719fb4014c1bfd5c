//===- Optimizers.cpp - the table of optimizers ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table in place of objects that register themselves: a linker leaves such objects out of a program that links this
// library statically.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

// One line per optimizer; each has a file of its name, which defines `getNAME`.
#define MESHWRIGHT_OPTIMIZERS(X)                                                                                       \
  X(Adafactor)                                                                                                         \
  X(Adagrad)                                                                                                           \
  X(Adam)                                                                                                              \
  X(AdamW)                                                                                                             \
  X(Lamb)                                                                                                              \
  X(Lion)                                                                                                              \
  X(Momentum)                                                                                                          \
  X(Muon)                                                                                                              \
  X(RmsProp)                                                                                                           \
  X(Sgd)

namespace meshwright::train {

#define MESHWRIGHT_DECLARE(NAME) Optimizer get##NAME();
MESHWRIGHT_OPTIMIZERS(MESHWRIGHT_DECLARE)
#undef MESHWRIGHT_DECLARE

const Optimizer *findOptimizer(const google::protobuf::Descriptor *message) {
#define MESHWRIGHT_ROW(NAME) get##NAME(),
  static const Optimizer optimizers[] = {MESHWRIGHT_OPTIMIZERS(MESHWRIGHT_ROW)};
#undef MESHWRIGHT_ROW
  const auto *found = llvm::find_if(optimizers, [&](const Optimizer &one) { return one.message == message; });
  return found == std::end(optimizers) ? nullptr : found;
}

} // namespace meshwright::train
