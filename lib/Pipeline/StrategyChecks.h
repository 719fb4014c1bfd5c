//===- StrategyChecks.h - checks a strategy against the graph ----*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_STRATEGYCHECKS_H
#define MESHWRIGHT_LIB_PIPELINE_STRATEGYCHECKS_H

#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// Checks that the strategy leaves to a whole training step what that says itself; errors are at the strategy's lines.
mlir::LogicalResult checkWholeStep(mlir::ModuleOp module, const strategy::StrategyFile &file);

/// Checks that the strategy of a graph that is not trained asks for nothing that needs an update. For a graph that
/// assigns parameters, but without a gradient that Import recognizes, `zero` is an error.
mlir::LogicalResult checkUntrained(mlir::ModuleOp module, const strategy::StrategyFile &file);

/// Says how to get names, once, where neither arguments nor operations of a graph have any.
void remarkOnNames(mlir::ModuleOp module);

/// Marks on the inputs of every function which dimension is the batch (`net.batch_dim`) and which values they may have
/// (`net.min`, `net.max`). A glob or name that matches no input is an error at the strategy's line.
mlir::LogicalResult markInputs(mlir::ModuleOp module, const strategy::StrategyFile &file);

/// Checks that every glob over variables matches one, once Import has named them; errors are at the strategy's lines.
mlir::LogicalResult checkGlobs(mlir::ModuleOp module, const strategy::StrategyFile &file);

/// The globs in field `decay` of an optimizer, the path of that field, `train.adam.decay`, and the largest of the
/// optimizer's weights of decay.
struct DecayGlobs {
  std::vector<std::string> globs;
  std::string path;
  double weight = 0;
};

/// The globs of the optimizer that `settings`, a Train or a ParameterGroup at `path`, chooses; none if it chooses none.
DecayGlobs getDecayGlobs(const google::protobuf::Message &settings, const std::string &path);

} // namespace meshwright

#endif
