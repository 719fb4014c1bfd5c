//===- Compile.cpp - runs the stages of a compilation ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the inputs, runs the stages in order, and writes what was asked for: the plan and reports before the package,
// so that a failure to write them leaves no package.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/Compile.h"
#include "Brief.h"
#include "Compilation.h"
#include "Diagnostics.h"
#include "PlanPrinter.h"
#include "PlanPrograms.h"
#include "RankProgram.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "meshwright/Support/Files.h"
#include "meshwright/Support/Programs.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
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

/// Reads what the options name, runs the stages, and writes what they ask for.
class Compiler {
public:
  Compiler(const CompileOptions &options, const DialectRegistry &registry)
      : options(options), context(withSourceDialects(registry), MLIRContext::Threading::DISABLED),
        diagnostics(&context, llvm::errs()), compilation(options, context) {
    context.printOpOnDiagnostic(false);
    // The uniquers of types and attributes go on locking otherwise.
    context.disableMultithreading();
    // Annotate is no pass, which would load the dialect of its attributes.
    context.loadDialect<dist::DistDialect>();
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
  LogicalResult readGraph(const std::string &path, llvm::SourceMgr &buffers, OwningOpRef<ModuleOp> &graph);
  LogicalResult readInputs();
  LogicalResult finish();
  LogicalResult printModule();
  LogicalResult writeStableHLO();
  LogicalResult writeFile(StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);
  void report(Stage stage, double seconds);
  bool isPrinting() const {
    return options.emit.empty() && options.plan.empty() && options.explain.empty() && options.emitStableHLO.empty();
  }

  const CompileOptions &options;
  MLIRContext context;
  llvm::SourceMgr sources, evaluationSources, partitionedSources;
  DiagnosticPrinter diagnostics;
  Compilation compilation;
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
    compilation.strategy = std::move(*parsed);
  }
  return compilation.strategy.check(options.ranks, &context);
}

LogicalResult Compiler::readGraph(const std::string &path, llvm::SourceMgr &buffers, OwningOpRef<ModuleOp> &graph) {
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
  if (options.from == Stage::Import)
    graph = importer::parseGraph(buffers, &context);
  else if (succeeded(importer::checkText(text, name, &context)))
    graph = parseSourceFile<ModuleOp>(buffers, &context);
  // Import checks the bytes of what it makes itself.
  return success(graph && (options.from == Stage::Import || succeeded(verifyPrograms(*graph))));
}

LogicalResult Compiler::readInputs() {
  if (!options.partitioned.empty()) {
    if (failed(readGraph(options.input, sources, compilation.programs.serial)) ||
        failed(readGraph(options.partitioned, partitionedSources, compilation.programs.step)))
      return failure();
    StringRef text = partitionedSources.getMemoryBuffer(partitionedSources.getMainFileID())->getBuffer();
    if (text.consume_front("// {"))
      compilation.partitionedHeader = StringRef(text.data() - 1, text.find_first_of("\r\n") + 1);
    return success();
  }
  if (failed(readGraph(options.input, sources, compilation.programs.step)))
    return failure();
  if (options.eval.empty() || !options.runs(Stage::Import))
    return success();
  return readGraph(options.eval, evaluationSources, compilation.programs.evaluation);
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
    FailureOr<int64_t> parsed = parseCoordinate(*compilation.programs.step, options.coordinate);
    if (failed(parsed))
      return failure();
    rank = *parsed;
  }
  if (rank && failed(specializeForRank(*compilation.programs.step, *rank)))
    return failure();
  if (!options.emitStableHLO.empty() && failed(writeStableHLO()))
    return failure();
  if (!options.plan.empty() || !options.explain.empty()) {
    completePlan(compilation);
    if ((!options.plan.empty() &&
         failed(writeFile(options.plan, [&](llvm::raw_ostream &out) { printJson(out, compilation.plan); }))) ||
        (!options.explain.empty() &&
         failed(writeFile(options.explain, [&](llvm::raw_ostream &out) { printText(out, compilation.plan); }))))
      return failure();
  }
  return isPrinting() || rank ? printModule() : success();
}

/// Writes a module as a file, and those of a pipeline as files of a folder; on standard output all are one text.
LogicalResult Compiler::writeStableHLO() {
  const exporter::Exported &step = compilation.stablehlo;
  StringRef path = options.emitStableHLO;
  if (step.modules.empty() || path == "-")
    return writeFile(path, [&](llvm::raw_ostream &out) { out << step.toText(); });
  if (std::error_code error = llvm::sys::fs::create_directories(path))
    return emitError(UnknownLoc::get(&context))
           << "cannot make the folder \"" << path << "\" for the modules of a pipeline: " << error.message();
  auto getPath = [&](StringRef name) {
    llvm::SmallString<128> file(path);
    llvm::sys::path::append(file, name);
    return file;
  };
  for (const auto &[name, text] : step.modules)
    if (failed(writeFile(getPath(name + ".mlir"), [&](llvm::raw_ostream &out) { out << text; })))
      return failure();
  // The list comes last: a folder that has it is complete.
  return writeFile(getPath("step.json"), [&](llvm::raw_ostream &out) { out << step.text; });
}

LogicalResult Compiler::printModule() {
  OpPrintingFlags flags;
  flags.enableDebugInfo(options.printLocations, /*prettyForm=*/false);
  // The stage has verified it; what is brief lacks attributes that the verifier wants.
  flags.assumeVerified();
  OwningOpRef<ModuleOp> brief;
  if (options.printBrief) {
    brief = compilation.programs.step->clone();
    makeBrief(*brief);
  }
  ModuleOp printed = brief ? *brief : *compilation.programs.step;
  return writeFile(options.output, [&](llvm::raw_ostream &out) { printed->print(out, flags); });
}

ExitCode Compiler::run() {
  if (failed(readStrategy()) || failed(readInputs()))
    return ExitInput;
  if (options.from != Stage::Import && failed(verifyInput(compilation, options.from)))
    return ExitInput;
  bool isPartitioned = !options.partitioned.empty();
  if (isPartitioned && failed(importPartitioned(compilation)))
    return ExitInput;
  for (auto [stage, name] : kStages) {
    // A partitioned program has been through the stages before Schedule elsewhere.
    if (!options.runs(stage) || (isPartitioned && stage < Stage::Schedule))
      continue;
    auto start = std::chrono::steady_clock::now();
    // Writes plan and reports before the package, so that a failure to do so leaves no package.
    if (stage == Stage::Emit && failed(finish()))
      return ExitInput;
    if (failed(runStage(compilation, stage)))
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
