//===- OptimizerSettings.h - the strategy's optimizers per group *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_OPTIMIZERSETTINGS_H
#define MESHWRIGHT_LIB_TRAIN_OPTIMIZERSETTINGS_H

#include "Optimizers/Optimizers.h"

namespace meshwright::train {

/// The strategy's settings for the parameters that a group matches.
struct GroupSettings {
  /// Globs of the parameters of the group, and of those to which l2 and weight decay apply; empty for all.
  std::vector<std::string> match, decay;
  const Optimizer *optimizer;
  std::shared_ptr<const Optimizer::Settings> settings;
  strategy::LearningRate rate;
  double rateScale = 1;
};

/// Reads the strategy's message `Train` from its text. Errors are emitted on `op`, with the place in the text.
mlir::FailureOr<strategy::Train> parseTrain(llvm::StringRef text, mlir::Operation *op);

/// The groups of `train` in order, with what they override; the last one is for all remaining parameters. Errors are
/// emitted on `op`.
mlir::FailureOr<std::vector<GroupSettings>> collectSettings(const strategy::Train &train, mlir::Operation *op);

/// The number in the field `name` of an optimizer's settings; 0 where there is no such field.
double getNumber(const Optimizer::Settings &settings, llvm::StringRef name);

} // namespace meshwright::train

#endif
