//===- CompileModule.cpp - compiles a module in memory --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/CompileModule.h"
#include "Compilation.h"
#include "PlanPrinter.h"
#include "PlanPrograms.h"
#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace meshwright;

FailureOr<Compiled> meshwright::compile(ModuleOp module, const strategy::StrategyFile &strategy,
                                        const StageOptions &options, llvm::function_ref<bool(Stage)> enter) {
  // Annotate is no pass, which would load the dialect of its attributes.
  module.getContext()->loadDialect<dist::DistDialect>();
  Compilation compilation(options, *module.getContext());
  compilation.strategy = strategy;
  compilation.programs.step = module.clone();
  for (int number = static_cast<int>(options.from); number <= static_cast<int>(options.to); ++number) {
    Stage stage = static_cast<Stage>(number);
    if (enter && !enter(stage))
      return emitError(UnknownLoc::get(module.getContext()))
             << "compilation was stopped before the stage " << stringifyStage(stage);
    if (failed(runStage(compilation, stage)))
      return failure();
  }
  Compiled compiled;
  if (options.to >= Stage::Partition) {
    completePlan(compilation);
    llvm::raw_string_ostream plan(compiled.plan), explanation(compiled.explanation);
    printJson(plan, compilation.plan);
    printText(explanation, compilation.plan);
  }
  compiled.stablehlo = std::move(compilation.stablehlo);
  compiled.step = std::move(compilation.programs.step);
  return compiled;
}
