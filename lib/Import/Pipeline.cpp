//===- Pipeline.cpp - pass pipeline and parser of the stage Import --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage runs on the text of one module: check the text, parse it, locate every operation at its line, then run the
// passes in the order of `buildImportPipeline`. Locations come first because every error of the compiler refers to a
// line of the user's text.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Partitioned.h"
#include "meshwright/Import/Passes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// The text of a rule as an option of the pass; 17 digits reproduce every double.
static std::string printRule(const InitRule &rule) {
  std::string text;
  llvm::raw_string_ostream(text) << rule.match << ":" << net::stringifyInitializerKind(rule.kind) << ":"
                                 << llvm::format("%.17g", rule.a) << ":" << llvm::format("%.17g", rule.b);
  return text;
}

void importer::buildImportPipeline(OpPassManager &passes, const Options &options) {
  // Before functions are inlined, whose arguments may have shardings.
  passes.addPass(createReadShardingsPass({.ignore = options.ignoreShardings}));
  // Names early: they are stored in locations, which later passes may fuse or drop.
  passes.addPass(createAnnotateNamesPass());
  // Before conversion, so that each call of a function is converted with its own constants.
  passes.addPass(createInlineCallsPass());
  // Before conditionals and loops, which then find straight code.
  passes.addPass(createManualRegionsPass());
  // After calls, which may be in the bodies of conditionals and loops. A loop then contains no conditional.
  passes.addPass(createConditionalsPass());
  passes.addPass(createLoopsPass({.unroll = options.unrollLoops}));
  passes.addPass(createConvertStableHLOPass());
  // After conversion, since operations of net have a form for batches.
  passes.addPass(createBatchPartsPass());
  MaterializeVariablesPassOptions variables;
  llvm::append_range(variables.parameters, options.parameters);
  llvm::append_range(variables.variables, options.variables);
  for (const InitRule &rule : options.inits)
    variables.inits.push_back(printRule(rule));
  for (const CarryRule &rule : options.carries)
    variables.carries.push_back(rule.argument + "=" + rule.result);
  passes.addPass(createMaterializeVariablesPass(variables));
  // State and updates are recognized by assignments.
  passes.addPass(createRecognizeStepPass());
  // After roles are known, since blocks are found in forward.
  passes.addPass(createFindBlocksPass());
  passes.addPass(createVerifyImportPass());
}

/// Lets both programs of a comparison say what tools know of floats.
static void addFacts(OpPassManager &passes) {
  passes.addPass(createFoldConstantsPass());
  // After constants are known, among them the numbers of masks.
  passes.addPass(createApplyFactsPass());
}

void importer::buildPlainPipeline(OpPassManager &passes) {
  // A graph computes the same without its shardings.
  passes.addPass(createReadShardingsPass({.ignore = true}));
  passes.addPass(createAnnotateNamesPass());
  passes.addPass(createInlineCallsPass());
  passes.addPass(createConditionalsPass());
  passes.addPass(createLoopsPass());
  passes.addPass(createConvertStableHLOPass());
  addFacts(passes);
  passes.addPass(createVerifyImportPass());
}

void importer::buildPartitionedPipeline(OpPassManager &passes, StringRef mesh) {
  passes.addPass(createAnnotateNamesPass());
  passes.addPass(createInlineCallsPass());
  // Before conditionals and loops, which then find straight code.
  passes.addPass(createManualRegionsPass({.mesh = mesh.str()}));
  passes.addPass(createConditionalsPass());
  passes.addPass(createLoopsPass());
  passes.addPass(createConvertStableHLOPass());
  passes.addPass(createMaterializePartsPass());
  addFacts(passes);
  passes.addPass(createVerifyImportPass());
}

namespace {
struct ImportPipelineOptions : PassPipelineOptions<ImportPipelineOptions> {
  ListOption<std::string> parameters{*this, "parameters",
                                     llvm::cl::desc("Globs of the arguments that become variables")};
};
} // namespace

void importer::registerImportPipeline() {
  PassPipelineRegistration<ImportPipelineOptions>("dist-import",
                                                  "The stage Import: exported text to the serial network",
                                                  [](OpPassManager &passes, const ImportPipelineOptions &given) {
                                                    Options options;
                                                    llvm::append_range(options.parameters, given.parameters);
                                                    buildImportPipeline(passes, options);
                                                  });
}

namespace {

/// Finds the line and column of a place in a text. `llvm::SourceMgr` searches the start of a line from every place,
/// which is quadratic for a line with all arguments of a graph.
class LineIndex {
public:
  explicit LineIndex(StringRef text) : starts{text.begin()} {
    for (const char &c : text)
      if (c == '\n')
        starts.push_back(&c + 1);
  }

  /// Both count from 1.
  std::pair<unsigned, unsigned> find(SMLoc loc) const {
    auto after = llvm::upper_bound(starts, loc.getPointer());
    return {after - starts.begin(), loc.getPointer() - *std::prev(after) + 1};
  }

private:
  std::vector<const char *> starts;
};

} // namespace

/// Fuses the line of `loc` in the text `name` with the location that the exporter wrote.
static Location locate(const LineIndex &lines, StringAttr name, SMLoc loc, Location written) {
  auto [line, column] = lines.find(loc);
  Location text = FileLineColLoc::get(name, line, column);
  // The parser gives operations without a location their place in the text.
  auto place = dyn_cast<FileLineColRange>(static_cast<LocationAttr>(written));
  if (isa<UnknownLoc>(static_cast<LocationAttr>(written)) || (place && place.getFilename() == name))
    return text;
  return FusedLoc::get(written.getContext(), {text, written});
}

OwningOpRef<ModuleOp> importer::parseGraph(const llvm::SourceMgr &sources, MLIRContext *context) {
  const llvm::MemoryBuffer &text = *sources.getMemoryBuffer(sources.getMainFileID());
  StringRef name = text.getBufferIdentifier();
  if (failed(checkText(text.getBuffer(), name, context)))
    return {};
  DialectRegistry registry;
  registerSourceDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<func::FuncDialect>();
  Block block;
  AsmParserState positions;
  // The verifier runs below, after locations are set.
  ParserConfig config(context, /*verifyAfterParse=*/false);
  if (failed(parseAsmSourceFile(sources, &block, config, &positions)))
    return {};
  LineIndex lines(text.getBuffer());
  auto file = StringAttr::get(context, name);
  for (AsmParserState::OperationDefinition &definition : positions.getOpDefs())
    definition.op->setLoc(locate(lines, file, definition.loc.Start, definition.op->getLoc()));
  for (AsmParserState::BlockDefinition &definition : positions.getBlockDefs())
    for (auto [argument, position] : llvm::zip(definition.block->getArguments(), definition.arguments))
      if (position.loc.isValid())
        argument.setLoc(locate(lines, file, position.loc.Start, argument.getLoc()));
  ModuleOp module;
  if (block.getOperations().size() == 1)
    module = dyn_cast<ModuleOp>(block.front());
  if (!module) {
    emitError(FileLineColLoc::get(context, name, 1, 1))
        << "the text holds " << block.getOperations().size() << " operations at its top, not one module";
    return {};
  }
  module->remove();
  OwningOpRef<ModuleOp> owner(module);
  if (failed(mlir::verify(module)))
    return {};
  return owner;
}

OwningOpRef<ModuleOp> importer::importGraph(const llvm::SourceMgr &sources, MLIRContext *context,
                                            const Options &options) {
  OwningOpRef<ModuleOp> module = parseGraph(sources, context);
  if (!module)
    return {};
  PassManager passes(context, ModuleOp::getOperationName());
  // The stage ends with its own verifier; MLIR's runs once after it.
  passes.enableVerifier(false);
  buildImportPipeline(passes, options);
  if (failed(passes.run(*module)) || failed(mlir::verify(*module)))
    return {};
  return module;
}
