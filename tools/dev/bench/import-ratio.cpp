//===- import-ratio.cpp - how long Import takes beside a bare parser ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph is in MLIR's generic form, so that MLIR's parser reads it too. Both read from memory, in turns, each time
// in a context of its own whose dialects are loaded before the clock starts; neither prints. Import is the parser with
// its verifier and all passes of the stage, MLIR the parser with its verifier. Neither has threads or locks. Processor
// time; the shortest of several rounds of each, and the median of the ratios of rounds, which other processes matter
// less to.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Import.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <ctime>

using namespace mlir;
using namespace meshwright;

/// The seconds of processor time that `work` takes; negative if it fails.
static double measure(llvm::function_ref<bool()> work) {
  auto now = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  double start = now();
  return work() ? now() - start : -1;
}

static void addText(llvm::SourceMgr &sources, const llvm::MemoryBuffer &text) {
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());
}

static double importText(const llvm::MemoryBuffer &text, const DialectRegistry &registry,
                         const importer::Options &options) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.disableMultithreading();
  context.loadAllAvailableDialects();
  llvm::SourceMgr sources;
  addText(sources, text);
  OwningOpRef<ModuleOp> module;
  return measure([&] {
    module = importer::importGraph(sources, &context, options);
    return static_cast<bool>(module);
  });
}

static double parseText(const llvm::MemoryBuffer &text) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.disableMultithreading();
  context.loadDialect<func::FuncDialect>();
  context.allowUnregisteredDialects();
  llvm::SourceMgr sources;
  addText(sources, text);
  OwningOpRef<ModuleOp> module;
  return measure([&] {
    module = parseSourceFile<ModuleOp>(sources, &context);
    return static_cast<bool>(module);
  });
}

int main(int argc, char **argv) {
  llvm::cl::opt<std::string> path(llvm::cl::Positional, llvm::cl::Required, llvm::cl::desc("<graph in generic form>"));
  llvm::cl::opt<unsigned> rounds("rounds", llvm::cl::desc("Rounds of which the shortest times count"),
                                 llvm::cl::init(7));
  llvm::cl::list<std::string> parameters("parameters", llvm::cl::desc("Globs of arguments that become variables"));
  llvm::cl::ParseCommandLineOptions(argc, argv, "How long Import takes, beside MLIR's own parser\n");
  auto text = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!text) {
    llvm::errs() << "cannot read \"" << path << "\": " << text.getError().message() << "\n";
    return 1;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  importer::Options options;
  llvm::append_range(options.parameters, parameters);
  SmallVector<double> ours, theirs, ratios;
  for (unsigned round = 0; round < std::max(rounds.getValue(), 1u); ++round) {
    ours.push_back(importText(**text, registry, options));
    theirs.push_back(parseText(**text));
    if (ours.back() < 0 || theirs.back() < 0)
      return 1;
    ratios.push_back(ours.back() / theirs.back());
  }
  llvm::sort(ratios);
  double median = ratios[ratios.size() / 2];
  llvm::outs() << llvm::format("Import %.4f s, MLIR's parser %.4f s, ratio %.2f\n", *llvm::min_element(ours),
                               *llvm::min_element(theirs), median);
  return 0;
}
