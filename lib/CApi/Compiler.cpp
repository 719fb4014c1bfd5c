//===- Compiler.cpp - the compiler from C ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates texts and options of C, and hands the diagnostics of a context to its callback.
//
//===----------------------------------------------------------------------===//

#include "meshwright-c/Compiler.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Export/Export.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/Pipeline/CompileModule.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace meshwright;

static StringRef fromC(MwString text) { return {text.data, text.length}; }
static MwString toC(StringRef text) { return {text.data(), text.size()}; }

namespace {

/// A context with its handler of diagnostics.
class Context {
public:
  Context(MwDiagnosticCallback callback, void *userData)
      : callback(callback), userData(userData), context(getRegistry()) {
    context.printOpOnDiagnostic(false);
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      report(diagnostic);
      return success();
    });
  }

  MLIRContext &get() { return context; }

private:
  static DialectRegistry getRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  void report(Diagnostic &diagnostic) {
    if (!callback)
      return;
    std::string message = diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      message += "\n" + note.str();
    auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
    MwSeverity severity = diagnostic.getSeverity() == DiagnosticSeverity::Error     ? MwSeverityError
                          : diagnostic.getSeverity() == DiagnosticSeverity::Warning ? MwSeverityWarning
                                                                                    : MwSeverityRemark;
    StringRef file = place ? place.getFilename().getValue() : StringRef();
    callback(severity, toC(message), toC(file), place ? place.getLine() : 0, place ? place.getColumn() : 0, userData);
  }

  MwDiagnosticCallback callback;
  void *userData;
  MLIRContext context;
};

struct CompiledText {
  Compiled compiled;
  std::string text;
};

Context &unwrap(MwContext context) { return *static_cast<Context *>(context.pointer); }
CompiledText &unwrap(MwCompiled compiled) { return *static_cast<CompiledText *>(compiled.pointer); }

/// The options in C++; nothing where the stage is unknown, which has been said.
std::optional<StageOptions> translate(const MwCompileOptions &given, MLIRContext &context) {
  StageOptions options;
  StringRef last = fromC(given.lastStage);
  std::optional<Stage> stage = last.empty() ? Stage::Schedule : parseStage(last);
  if (!stage || *stage == Stage::Emit) {
    emitError(UnknownLoc::get(&context)) << "no stage before Emit is called \"" << last << "\"";
    return std::nullopt;
  }
  options.emit = fromC(given.emit).str();
  options.to = options.emit.empty() ? *stage : Stage::Emit;
  options.optimize = !given.skipsOptimize;
  options.kernelCache = fromC(given.kernelCache).str();
  if (given.stableHLO != MwStableHLONone)
    options.stablehlo =
        given.stableHLO == MwStableHLOManual ? exporter::ModuleForm::Manual : exporter::ModuleForm::Replicas;
  for (StringRef target : llvm::split(fromC(given.targets), ','))
    if (!target.empty())
      options.targets.push_back(target.str());
  return options;
}

} // namespace

MwString mwGetVersion(void) { return toC(MESHWRIGHT_VERSION); }

MwContext mwContextCreate(MwDiagnosticCallback callback, void *userData) { return {new Context(callback, userData)}; }

void mwContextDestroy(MwContext context) { delete static_cast<Context *>(context.pointer); }

MwStrategy mwStrategyParse(MwContext context, MwString text, MwString name, int64_t ranks) {
  MLIRContext &mlir = unwrap(context).get();
  auto parsed = strategy::StrategyFile::parse(fromC(text), fromC(name), &mlir);
  if (failed(parsed) || failed(parsed->check(ranks, &mlir)))
    return {nullptr};
  return {new strategy::StrategyFile(std::move(*parsed))};
}

void mwStrategyDestroy(MwStrategy strategy) { delete static_cast<strategy::StrategyFile *>(strategy.pointer); }

MwCompiled mwCompile(MwContext context, MwString graph, MwString name, MwStrategy strategy,
                     const MwCompileOptions *options) {
  MLIRContext &mlir = unwrap(context).get();
  auto translated = translate(options ? *options : MwCompileOptions(), mlir);
  if (!translated)
    return {nullptr};
  llvm::SourceMgr sources, evaluationSources;
  auto parse = [&](MwString text, MwString called, llvm::SourceMgr &buffers) {
    buffers.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(fromC(text), fromC(called)), llvm::SMLoc());
    return importer::parseGraph(buffers, &mlir);
  };
  OwningOpRef<ModuleOp> module = parse(graph, name, sources), evaluation;
  bool evaluates = options && options->evaluation.length != 0;
  if (module && evaluates)
    evaluation = parse(options->evaluation, options->evaluationName, evaluationSources);
  if (!module || (evaluates && !evaluation))
    return {nullptr};
  const strategy::StrategyFile none, *given = static_cast<strategy::StrategyFile *>(strategy.pointer);
  auto enter = [&](Stage stage) { return options->progress(toC(stringifyStage(stage)), options->progressUserData); };
  bool hasProgress = options && options->progress;
  FailureOr<Compiled> compiled =
      compile(*module, given ? *given : none, *translated,
              hasProgress ? llvm::function_ref<bool(Stage)>(enter) : nullptr, evaluation ? *evaluation : ModuleOp());
  if (failed(compiled))
    return {nullptr};
  return {new CompiledText{std::move(*compiled), ""}};
}

void mwCompiledDestroy(MwCompiled compiled) { delete static_cast<CompiledText *>(compiled.pointer); }

MwString mwCompiledGetText(MwCompiled compiled) {
  CompiledText &entry = unwrap(compiled);
  if (entry.text.empty()) {
    llvm::raw_string_ostream stream(entry.text);
    entry.compiled.step->print(stream);
  }
  return toC(entry.text);
}

MwString mwCompiledGetPlan(MwCompiled compiled) { return toC(unwrap(compiled).compiled.plan); }

MwString mwCompiledGetExplanation(MwCompiled compiled) { return toC(unwrap(compiled).compiled.explanation); }

MwString mwCompiledGetStableHLO(MwCompiled compiled) { return toC(unwrap(compiled).compiled.stablehlo); }
