//===- CompileModule.cpp - compiles a module in memory --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/CompileModule.h"
#include "Compilation.h"
#include "PlanPrinter.h"
#include "PlanPrograms.h"

using namespace mlir;
using namespace meshwright;

FailureOr<Compiled> meshwright::compile(ModuleOp module, const strategy::StrategyFile &strategy,
                                        const StageOptions &options) {
  Compilation compilation(options, *module.getContext());
  compilation.strategy = strategy;
  compilation.programs.step = module.clone();
  for (int stage = static_cast<int>(options.from); stage <= static_cast<int>(options.to); ++stage)
    if (failed(runStage(compilation, static_cast<Stage>(stage))))
      return failure();
  Compiled compiled;
  if (options.to >= Stage::Partition) {
    completePlan(compilation);
    llvm::raw_string_ostream plan(compiled.plan), explanation(compiled.explanation);
    printJson(plan, compilation.plan);
    printText(explanation, compilation.plan);
  }
  compiled.step = std::move(compilation.programs.step);
  return compiled;
}
