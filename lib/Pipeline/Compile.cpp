//===- Compile.cpp - runs the stages of a compilation ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the stages in order on up to four modules: the training step, its serial program, and both of evaluation. Two
// searches compile copies of the program before it is compiled for good: the division into stages that fits
// (`annotateStep`) and the least recomputation that fits (`fit`).
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/Compile.h"
#include "Brief.h"
#include "Diagnostics.h"
#include "Effects.h"
#include "Evaluation.h"
#include "Fit.h"
#include "Metrics.h"
#include "PlanPrinter.h"
#include "PlanPrograms.h"
#include "PlanSegments.h"
#include "RankProgram.h"
#include "StrategyChecks.h"
#include "StrategyOptions.h"
#include "meshwright/Annotate/Passes.h"
#include "meshwright/Codegen/Targets.h"
#include "meshwright/Complete/Passes.h"
#include "meshwright/Emit/Emit.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Support/Files.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Support/Units.h"
#include "meshwright/Train/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;
using namespace meshwright;

static constexpr std::pair<Stage, StringRef> kStages[] = {
    {Stage::Import, "import"},       {Stage::Train, "train"},
    {Stage::Annotate, "annotate"},   {Stage::Complete, "complete"},
    {Stage::Partition, "partition"}, {Stage::Optimize, "optimize"},
    {Stage::Schedule, "schedule"},   {Stage::Emit, "emit"}};

std::optional<Stage> meshwright::parseStage(StringRef name) {
  for (auto [stage, text] : kStages)
    if (text == name)
      return stage;
  return std::nullopt;
}

StringRef meshwright::stringifyStage(Stage stage) {
  for (auto [known, text] : kStages)
    if (known == stage)
      return text;
  llvm_unreachable("every stage has a name");
}

namespace {

/// One run of the compiler.
class Compiler {
public:
  Compiler(const CompileOptions &options, const DialectRegistry &registry)
      : options(options), context(withSourceDialects(registry), MLIRContext::Threading::DISABLED),
        diagnostics(&context, llvm::errs()) {
    context.printOpOnDiagnostic(false);
    // The uniquers of types and attributes go on locking otherwise.
    context.disableMultithreading();
  }

  ExitCode run();

private:
  static DialectRegistry withSourceDialects(const DialectRegistry &given) {
    DialectRegistry registry;
    given.appendTo(registry);
    importer::registerSourceDialects(registry);
    return registry;
  }

  LogicalResult readStrategy();
  LogicalResult readInput();
  FailureOr<OwningOpRef<ModuleOp>> parse(const std::string &path, llvm::SourceMgr &buffers);
  LogicalResult runStage(Stage stage);
  LogicalResult runPasses(llvm::function_ref<void(OpPassManager &)> build);
  LogicalResult runPassesOn(OwningOpRef<ModuleOp> &other, llvm::function_ref<void(OpPassManager &)> build);
  LogicalResult import();
  LogicalResult importEvaluation();
  LogicalResult train();
  LogicalResult annotate();
  LogicalResult annotateEvaluation();
  LogicalResult complete();
  LogicalResult optimize();
  LogicalResult schedule();
  LogicalResult scheduleEvaluation();
  schedule::Options getOptionsOfSchedule(const strategy::StrategyFile &stepStrategy) const;
  LogicalResult fit();
  LogicalResult tryChoice(const FitChoice &choice);
  LogicalResult compileCopy(llvm::function_ref<LogicalResult()> complete);
  LogicalResult annotateStep();
  LogicalResult emit();
  LogicalResult finish();
  LogicalResult printModule();
  LogicalResult writeFile(StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);
  void report(Stage stage, double seconds);
  bool runs(Stage stage) const { return options.from <= stage && stage <= options.to; }
  bool isPrinting() const { return options.emit.empty() && options.plan.empty() && options.explain.empty(); }

  const CompileOptions &options;
  MLIRContext context;
  llvm::SourceMgr sources;
  DiagnosticPrinter diagnostics;
  strategy::StrategyFile strategy;
  OwningOpRef<ModuleOp> module;
  Plan plan;
  /// The options of Complete; `fit` may have chosen the recomputed blocks among them.
  complete::Options completeOptions;
  /// The blocks that a choice is about, those first from which most is gained.
  std::vector<FitBlock> fitBlocks;
  emit::EmitOptions emitOptions;
  /// The training step before it was distributed.
  OwningOpRef<ModuleOp> serial;
  /// The program that evaluates, where there is one: its text, what the strategy says of it, and before it was
  /// distributed.
  llvm::SourceMgr evaluationSources;
  strategy::StrategyFile evaluationStrategy;
  OwningOpRef<ModuleOp> evaluation, evaluationSerial;
  emit::ProgramMetrics evaluationMetrics;
};

} // namespace

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

LogicalResult Compiler::readStrategy() {
  if (!options.strategy.empty()) {
    auto buffer = readText(options.strategy);
    if (!buffer)
      return emitError(UnknownLoc::get(&context))
             << "cannot read strategy \"" << options.strategy << "\": " << llvm::toString(buffer.takeError());
    auto parsed = strategy::StrategyFile::parse((*buffer)->getBuffer(), options.strategy, &context);
    if (failed(parsed))
      return failure();
    strategy = std::move(*parsed);
  }
  return strategy.check(options.ranks, &context);
}

FailureOr<OwningOpRef<ModuleOp>> Compiler::parse(const std::string &path, llvm::SourceMgr &buffers) {
  auto buffer = readText(path);
  if (!buffer)
    return emitError(UnknownLoc::get(&context))
           << "cannot read \"" << path << "\": " << llvm::toString(buffer.takeError());
  // Skip a UTF-8 byte-order mark, which Windows editors add.
  if (StringRef text = (*buffer)->getBuffer(); text.consume_front("\xEF\xBB\xBF"))
    buffer = llvm::MemoryBuffer::getMemBufferCopy(text, (*buffer)->getBufferIdentifier());
  StringRef text = (*buffer)->getBuffer(), name = (*buffer)->getBufferIdentifier();
  diagnostics.addText(name, text);
  buffers.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  OwningOpRef<ModuleOp> parsed;
  if (options.from == Stage::Import)
    parsed = importer::parseGraph(buffers, &context);
  else if (succeeded(importer::checkText(text, name, &context)))
    parsed = parseSourceFile<ModuleOp>(buffers, &context);
  // Import checks the bytes of what it makes itself.
  if (!parsed || (options.from != Stage::Import && failed(verifyPrograms(*parsed))))
    return failure();
  return parsed;
}

LogicalResult Compiler::readInput() {
  auto parsed = parse(options.input, sources);
  if (failed(parsed))
    return failure();
  module = std::move(*parsed);
  return success();
}

/// Writes a file whole or not at all.
LogicalResult Compiler::writeFile(StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::error_code error;
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_Text);
  if (error)
    return emitError(UnknownLoc::get(&context)) << "cannot write \"" << path << "\": " << error.message();
  write(file.os());
  file.os().flush();
  if (file.os().has_error()) {
    auto problem = file.os().error();
    file.os().clear_error();
    return emitError(UnknownLoc::get(&context)) << "cannot write \"" << path << "\": " << problem.message();
  }
  file.keep();
  return success();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

LogicalResult Compiler::runPasses(llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(&context);
  // Every stage ends in a gate of its own, which runs the verifier.
  manager.enableVerifier(false);
  build(manager);
  return success(succeeded(manager.run(*module)) && succeeded(verify(*module)));
}

LogicalResult Compiler::runPassesOn(OwningOpRef<ModuleOp> &other, llvm::function_ref<void(OpPassManager &)> build) {
  std::swap(module, other);
  LogicalResult result = runPasses(build);
  std::swap(module, other);
  return result;
}

LogicalResult Compiler::import() {
  auto build = [&](OpPassManager &manager) {
    importer::buildImportPipeline(manager, getImportOptions(strategy.get()));
  };
  if (failed(runPasses(build)))
    return failure();
  remarkOnNames(*module);
  if (failed(checkGlobs(*module, strategy)) || failed(markInputs(*module, strategy)))
    return failure();
  warnOfUnusedFields(&context, strategy);
  warnOfUnusedRules(*module, strategy);
  return options.eval.empty() && !strategy.get().has_eval() ? success() : importEvaluation();
}

/// A graph of its own, whose variables are those that training has, or what is imported so far.
LogicalResult Compiler::importEvaluation() {
  evaluationStrategy = strategy.forEvaluation();
  if (options.eval.empty()) {
    evaluation = module->clone();
    return cutEvaluation(*evaluation, strategy);
  }
  auto parsed = parse(options.eval, evaluationSources);
  if (failed(parsed))
    return failure();
  evaluation = std::move(*parsed);
  importer::Options importOptions;
  importOptions.unrollLoops = getImportOptions(strategy.get()).unrollLoops;
  for (auto variable : module->getOps<net::VariableOp>())
    importOptions.variables.push_back(variable.getSymName().str());
  if (failed(runPassesOn(evaluation,
                         [&](OpPassManager &manager) { importer::buildImportPipeline(manager, importOptions); })))
    return failure();
  return success(succeeded(markInputs(*evaluation, evaluationStrategy)) &&
                 succeeded(cutEvaluation(*evaluation, strategy)));
}

LogicalResult Compiler::train() {
  bool isWhole = train::isWholeStep(*module);
  if (isWhole && failed(checkWholeStep(*module, strategy)))
    return failure();
  if (!isWhole && !strategy.get().has_train())
    return checkUntrained(*module, strategy);
  if (isWhole)
    return runPasses(
        [&](OpPassManager &manager) { train::buildWholeStepPipeline(manager, getFetchOptions(strategy, &context)); });
  train::Options trainOptions = getTrainOptions(strategy, &context);
  if (failed(runPasses([&](OpPassManager &manager) { train::buildPipeline(manager, trainOptions); })))
    return failure();
  // Evaluation rounds as the forward part of training does.
  if (!evaluation)
    return success();
  return runPassesOn(evaluation, [&](OpPassManager &manager) {
    manager.addPass(train::createAssignPrecisionPass(trainOptions.precision, trainOptions.keepLocations));
    manager.addPass(train::createSimplifyPass());
  });
}

LogicalResult Compiler::annotate() {
  if (evaluation && failed(shareVariables(*evaluation, *module)))
    return failure();
  if (!options.emit.empty() && options.serial)
    serial = module->clone();
  addSerial(plan, *module);
  describeMetrics(*module, emitOptions.metrics);
  emitOptions.metrics.modelFlopsPerStep = plan.serialFlops;
  if (failed(annotateStep()))
    return failure();
  return evaluation ? annotateEvaluation() : success();
}

LogicalResult Compiler::annotateEvaluation() {
  if (serial)
    evaluationSerial = evaluation->clone();
  describeMetrics(*evaluation, evaluationMetrics);
  return success(succeeded(annotate::annotate(*evaluation, evaluationStrategy)) &&
                 succeeded(keepAsTrained(*evaluation, *module, evaluationStrategy)));
}

LogicalResult Compiler::complete() {
  if (failed(runPasses([&](OpPassManager &manager) { complete::buildPipeline(manager, completeOptions); })))
    return failure();
  addSegments(plan, *module, options.optimize && getOptimizeOptions(strategy).keepFetches);
  warnOfUnusedAxes(*module, strategy);
  return success();
}

LogicalResult Compiler::optimize() {
  auto build = [&](OpPassManager &manager) { optimize::buildPipeline(manager, getOptimizeOptions(strategy)); };
  if (options.optimize && failed(runPasses(build)))
    return failure();
  addProgram(plan, *module);
  if (runs(Stage::Annotate))
    warnOfReplicatedWork(&context, strategy, getFlopsOfRanks(plan), plan.serialFlops);
  return success();
}

/// The options of Schedule that `stepStrategy` states, adapted to the targets; all targets share the programs.
schedule::Options Compiler::getOptionsOfSchedule(const strategy::StrategyFile &stepStrategy) const {
  schedule::Options scheduleOptions = getScheduleOptions(stepStrategy.get(), options.optimize);
  bool hasGpus = llvm::any_of(options.targets, emit::isGpuTarget);
  scheduleOptions.kernels.libraryConvolutions = !hasGpus;
  scheduleOptions.kernels.libraryEpilogues = hasGpus;
  return scheduleOptions;
}

LogicalResult Compiler::schedule() {
  auto build = [&](OpPassManager &manager) { schedule::buildPipeline(manager, getOptionsOfSchedule(strategy)); };
  if (serial && failed(runPassesOn(serial, [&](OpPassManager &manager) {
        manager.addPass(complete::createRecomputePass(completeOptions.recompute, completeOptions.recomputeLocations));
        build(manager);
      })))
    return failure();
  if (failed(runPasses(build)))
    return failure();
  return evaluation ? scheduleEvaluation() : success();
}

/// All stages from Complete on: where the variables lie is known now.
LogicalResult Compiler::scheduleEvaluation() {
  schedule::Options scheduleOptions = getOptionsOfSchedule(evaluationStrategy);
  reserveMemory(*evaluation, *module);
  if (serial) {
    reserveMemory(*evaluationSerial, *serial);
    if (failed(runPassesOn(evaluationSerial,
                           [&](OpPassManager &manager) { schedule::buildPipeline(manager, scheduleOptions); })))
      return failure();
  }
  return runPassesOn(evaluation, [&](OpPassManager &manager) {
    complete::buildPipeline(manager, getCompleteOptions(evaluationStrategy, &context));
    partition::buildPipeline(manager, getPartitionOptions(evaluationStrategy.get()));
    if (options.optimize)
      optimize::buildPipeline(manager, getOptimizeOptions(evaluationStrategy));
    schedule::buildPipeline(manager, scheduleOptions);
  });
}

LogicalResult Compiler::emit() {
  emitOptions.path = options.emit;
  emitOptions.gpuReport = options.gpuReport;
  if (!options.targets.empty())
    emitOptions.targets.assign(options.targets.begin(), options.targets.end());
  if (evaluation)
    emitOptions.evaluation = {*evaluation, evaluationSerial.get(), evaluationMetrics, strategy.get().eval().every()};
  return emit::emitPackage(*module, serial.get(), emitOptions);
}

//===----------------------------------------------------------------------===//
// Recomputation until the step fits
//===----------------------------------------------------------------------===//

/// Compiles a copy of the program, from Complete, which `complete` runs, up to its memory, and leaves `plan` to tell of
/// it.
LogicalResult Compiler::compileCopy(llvm::function_ref<LogicalResult()> complete) {
  // Warnings are printed when the program is compiled for good.
  ScopedDiagnosticHandler silent(
      &context, [](Diagnostic &diagnostic) { return success(diagnostic.getSeverity() != DiagnosticSeverity::Error); });
  OwningOpRef<ModuleOp> serialBefore = std::move(serial), evaluationBefore = std::move(evaluation);
  OwningOpRef<ModuleOp> before = module->clone();
  LogicalResult compiled = complete();
  for (Stage stage : {Stage::Partition, Stage::Optimize, Stage::Schedule})
    compiled = success(succeeded(compiled) && succeeded(runStage(stage)));
  if (succeeded(compiled))
    addMemory(plan, *module);
  module = std::move(before);
  serial = std::move(serialBefore);
  evaluation = std::move(evaluationBefore);
  return compiled;
}

LogicalResult Compiler::tryChoice(const FitChoice &choice) {
  setRecompute(completeOptions.recompute, choice, fitBlocks);
  return compileCopy([&] { return complete(); });
}

/// Plans, chooses and starts again, until the arena is as small as the strategy asks. Nothing before Complete depends
/// on the choice.
LogicalResult Compiler::fit() {
  const auto &recompute = strategy.get().train().recompute();
  if (!strategy.get().train().has_recompute() || !recompute.has_fit())
    return success();
  Plan before = plan;
  fitBlocks.clear();
  FitSearch search(recompute.fit());
  while (!search.isOver()) {
    if (failed(tryChoice(search.getChoice())))
      return failure();
    if (search.getNumTried() == 0) {
      for (const auto &[name, block] : getBlocks(plan))
        if (!name.empty() && block.forwardFlops > 0)
          fitBlocks.push_back({name, block.keptBytes, block.forwardFlops});
      sortByGain(fitBlocks);
      search.setBlocks(fitBlocks.size());
    }
    search.report(getPeakBytes(plan));
    plan = before;
  }
  setRecompute(completeOptions.recompute, search.getChoice(), fitBlocks);
  if (!search.fits())
    return emitError(strategy.getLoc(&context, "train.recompute.fit"))
           << "the arena is to fit " << recompute.fit() << " bytes but takes at least " << search.getLeast()
           << ", with nothing kept of " << fitBlocks.size() << " blocks";
  return success();
}

//===----------------------------------------------------------------------===//
// Stages that fit
//===----------------------------------------------------------------------===//

/// The largest number of divisions of a network into stages that are compiled.
static constexpr int kMostCuts = 16;

/// Annotates the step. Where the arena of a rank is bounded, compiles the cut that is balanced best, and then, until
/// all arenas are small enough, the one that is balanced best of those whose largest stage holds less by the estimate.
LogicalResult Compiler::annotateStep() {
  const auto &stages = strategy.get().pipeline().stages();
  if (!stages.has_max_megabytes())
    return annotate::annotate(*module, strategy);
  int64_t limit = Megabytes(stages.max_megabytes()).getBytes(), least = kUnboundedBytes;
  OwningOpRef<ModuleOp> before = std::move(module);
  const Plan planBefore = plan;
  annotate::StageBound bound;
  int numTried = 0;
  for (; numTried < kMostCuts; ++numTried, bound.bytes = bound.largest - 1) {
    module = before->clone();
    if (failed(annotate::annotate(*module, strategy, &bound))) {
      if (!bound.isImpossible)
        return failure();
      break;
    }
    if (failed(compileCopy([&] { return runStage(Stage::Complete); })))
      return failure();
    int64_t peak = getPeakBytes(plan);
    plan = planBefore;
    if (peak <= limit)
      return success();
    least = std::min(least, peak);
  }
  return emitError(strategy.getLoc(&context, "pipeline.stages.max_megabytes"))
         << "the arena of a rank is to have at most " << limit << " bytes, but the largest has at least " << least
         << " in " << numTried << (numTried == 1 ? " cut" : " cuts") << " of the network into stages; recompute, more "
         << "stages, or fewer micro-batches in flight take less";
}

LogicalResult Compiler::runStage(Stage stage) {
  switch (stage) {
  case Stage::Import:
    return import();
  case Stage::Train:
    return train();
  case Stage::Annotate:
    return annotate();
  case Stage::Complete:
    completeOptions = getCompleteOptions(strategy, &context);
    return success(succeeded(fit()) && succeeded(complete()));
  case Stage::Partition:
    return runPasses(
        [&](OpPassManager &manager) { partition::buildPipeline(manager, getPartitionOptions(strategy.get())); });
  case Stage::Optimize:
    return optimize();
  case Stage::Schedule:
    return schedule();
  case Stage::Emit:
    return emit();
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

void Compiler::report(Stage stage, double seconds) {
  bool progress = !options.quiet && !options.emit.empty();
  if (!options.timing && !progress)
    return;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  llvm::errs() << llvm::format("%-10s %7.3f s  %6.0f MB peak\n", stringifyStage(stage).str().c_str(), seconds,
                               static_cast<double>(usage.ru_maxrss) * 1024 / 1e6);
}

LogicalResult Compiler::finish() {
  std::optional<int64_t> rank = options.rank;
  if (!options.coordinate.empty()) {
    FailureOr<int64_t> parsed = parseCoordinate(*module, options.coordinate);
    if (failed(parsed))
      return failure();
    rank = *parsed;
  }
  if (rank && failed(specializeForRank(*module, *rank)))
    return failure();
  if (!options.plan.empty() || !options.explain.empty()) {
    if (options.to == Stage::Partition)
      addProgram(plan, *module);
    addMemory(plan, *module);
    if (evaluation)
      addEvaluation(plan, *evaluation);
    if ((!options.plan.empty() &&
         failed(writeFile(options.plan, [&](llvm::raw_ostream &out) { printJson(out, plan); }))) ||
        (!options.explain.empty() &&
         failed(writeFile(options.explain, [&](llvm::raw_ostream &out) { printText(out, plan); }))))
      return failure();
  }
  return isPrinting() || rank ? printModule() : success();
}

LogicalResult Compiler::printModule() {
  OpPrintingFlags flags;
  flags.enableDebugInfo(options.printLocations, /*prettyForm=*/false);
  OwningOpRef<ModuleOp> brief;
  if (options.printBrief) {
    brief = module->clone();
    makeBrief(*brief);
  }
  ModuleOp printed = brief ? *brief : *module;
  return writeFile(options.output, [&](llvm::raw_ostream &out) { printed->print(out, flags); });
}

ExitCode Compiler::run() {
  if (failed(readStrategy()) || failed(readInput()))
    return ExitInput;
  for (auto [stage, name] : kStages) {
    if (!runs(stage))
      continue;
    auto start = std::chrono::steady_clock::now();
    // Writes plan and reports before the package, so that a failure to do so leaves no package.
    if (stage == Stage::Emit && failed(finish()))
      return ExitInput;
    if (failed(runStage(stage)))
      return ExitInput;
    report(stage, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (options.to != Stage::Emit && failed(finish()))
    return ExitInput;
  return ExitDone;
}

ExitCode meshwright::compile(const CompileOptions &options, const DialectRegistry &registry) {
  return Compiler(options, registry).run();
}
