//===- PlanPipeline.h - the part of a plan about the pipeline ----*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_PLANPIPELINE_H
#define MESHWRIGHT_LIB_PIPELINE_PLANPIPELINE_H

#include "meshwright/Orders/TaskOrder.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>

namespace meshwright {

struct PlannedStage {
  /// Floating-point operations of a rank for one micro-batch.
  double forwardFlops = 0, backwardFlops = 0;
  /// Bytes of the parameters that the stage reads; a tied one is in several stages.
  int64_t parameterBytes = 0;
};

/// Values that actions pass to each other at one coordinate of the pipeline.
struct PlannedBetween {
  struct Value {
    std::string name;
    int64_t slots = 1, bytes = 0;
  };
  /// By falling bytes of all slots.
  std::vector<Value> values;
  int64_t bytes = 0;
  /// The most slots that one value has.
  int64_t slots = 0;
};

class PlannedPipeline {
public:
  /// Describes the pipeline of `module` after Optimize; nullopt if it has none.
  static std::optional<PlannedPipeline> find(mlir::ModuleOp module);

  /// Notes the variables between actions; after Schedule.
  void addBetween(mlir::ModuleOp module);
  void printJson(llvm::json::OStream &json) const;
  void printText(llvm::raw_ostream &out) const;

private:
  std::string axis;
  schedule::TaskOrder order;
  schedule::Execution execution;
  std::vector<PlannedStage> stages;
  std::map<int64_t, PlannedBetween> between;
};

} // namespace meshwright

#endif
