//===- CompileModule.cpp - compiles a module in memory --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/CompileModule.h"
#include "Compilation.h"
#include "PlanPrinter.h"
#include "PlanPrograms.h"
#include "Transfer.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace meshwright;

/// Emits a diagnostic of another context in that of `back`.
static void forward(Diagnostic &diagnostic, Transfer &back) {
  Location location = back.map(diagnostic.getLocation());
  auto emit = [&]() -> InFlightDiagnostic {
    switch (diagnostic.getSeverity()) {
    case DiagnosticSeverity::Error:
      return emitError(location);
    case DiagnosticSeverity::Warning:
      return emitWarning(location);
    case DiagnosticSeverity::Note:
    case DiagnosticSeverity::Remark:
      break;
    }
    return emitRemark(location);
  };
  InFlightDiagnostic emitted = emit() << diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes())
    emitted.attachNote(back.map(note.getLocation())) << note.str();
}

/// Runs Import in a context of its own, for a module whose operations of StableHLO belong to a dialect that the
/// caller's context has. The converters read attributes in a generic form, which that dialect would not accept.
static LogicalResult importElsewhere(Compilation &c) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext own(registry, MLIRContext::Threading::DISABLED);
  own.loadDialect<dist::DistDialect>();
  Transfer there(own), back(c.context);
  Compilation imported(c.options, own);
  imported.strategy = c.strategy;
  imported.programs.step = there.copy(*c.programs.step);
  if (c.programs.evaluation)
    imported.programs.evaluation = there.copy(*c.programs.evaluation);
  if (!imported.programs.step || (c.programs.evaluation && !imported.programs.evaluation))
    return failure();
  ScopedDiagnosticHandler handler(&own, [&](Diagnostic &diagnostic) { forward(diagnostic, back); });
  bool isValid = succeeded(verify(*imported.programs.step)) &&
                 (!imported.programs.evaluation || succeeded(verify(*imported.programs.evaluation)));
  if (!isValid || failed(runStage(imported, Stage::Import)))
    return failure();
  c.strategy = imported.strategy;
  c.evaluationStrategy = imported.evaluationStrategy;
  auto bring = [&](OwningOpRef<ModuleOp> &to, OwningOpRef<ModuleOp> &from) -> LogicalResult {
    if (!from)
      return success();
    to = back.copy(*from);
    return success(to && succeeded(verify(*to)));
  };
  return success(succeeded(bring(c.programs.step, imported.programs.step)) &&
                 succeeded(bring(c.programs.evaluation, imported.programs.evaluation)));
}

FailureOr<Compiled> meshwright::compile(ModuleOp module, const strategy::StrategyFile &strategy,
                                        const StageOptions &options, llvm::function_ref<bool(Stage)> enter,
                                        ModuleOp evaluation) {
  // Annotate is no pass, which would load the dialect of its attributes.
  module.getContext()->loadDialect<dist::DistDialect>();
  Compilation compilation(options, *module.getContext());
  compilation.strategy = strategy;
  compilation.programs.step = module.clone();
  if (evaluation)
    compilation.programs.evaluation = evaluation.clone();
  for (int number = static_cast<int>(options.from); number <= static_cast<int>(options.to); ++number) {
    Stage stage = static_cast<Stage>(number);
    if (enter && !enter(stage))
      return emitError(UnknownLoc::get(module.getContext()))
             << "compilation was stopped before the stage " << stringifyStage(stage);
    bool isElsewhere = stage == Stage::Import && importer::isOfOtherSource(module);
    if (failed(isElsewhere ? importElsewhere(compilation) : runStage(compilation, stage)))
      return failure();
  }
  Compiled compiled;
  if (options.to >= Stage::Partition) {
    completePlan(compilation);
    llvm::raw_string_ostream plan(compiled.plan), explanation(compiled.explanation);
    printJson(plan, compilation.plan);
    printText(explanation, compilation.plan);
  }
  compiled.stablehlo = compilation.stablehlo.toText();
  compiled.step = std::move(compilation.programs.step);
  return compiled;
}
