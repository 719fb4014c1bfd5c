//===- OtherSourceTest.cpp - modules of StableHLO's own dialect -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller's context has StableHLO registered, or lets operations be unregistered. What comes of such a module is what
// comes of the text.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "meshwright/Pipeline/CompileModule.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "test/lib/RealStableHLO/RealStableHLO.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace meshwright;

namespace {

/// Whether a context has StableHLO, and whose.
enum class Source { Text, Registered, Unregistered };

/// Texts and files that a compilation makes.
struct Outcome {
  bool isCompiled = false;
  std::string explanation, diagnostics, step;
  /// The files of the package.
  std::map<std::string, std::string> files;
};

Outcome compileModule(Source source, llvm::function_ref<OwningOpRef<ModuleOp>(MLIRContext *)> parse,
                      const std::string &strategyText, bool emits) {
  DialectRegistry registry;
  if (source == Source::Text)
    registerAllDialects(registry);
  else
    registerCompilerDialects(registry);
  if (source == Source::Registered)
    registry.insert<real::RealDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects(source == Source::Unregistered);
  Outcome outcome;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream out(outcome.diagnostics);
    out << diagnostic.getLocation() << ": " << diagnostic.str() << "\n";
    for (Diagnostic &note : diagnostic.getNotes())
      out << note.getLocation() << ": " << note.str() << "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parse(&context);
  EXPECT_TRUE(module) << outcome.diagnostics;
  auto strategy = strategy::StrategyFile::parse(strategyText, "strategy", &context);
  EXPECT_TRUE(succeeded(strategy) && succeeded(strategy->check(0, &context))) << outcome.diagnostics;
  if (!module || failed(strategy))
    return outcome;
  SmallString<128> folder;
  EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("other-source", folder));
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  StageOptions options;
  if (emits) {
    options.emit = (folder + "/package").str();
    options.to = Stage::Emit;
  }
  FailureOr<Compiled> compiled = compile(*module, *strategy, options);
  outcome.isCompiled = succeeded(compiled);
  if (failed(compiled))
    return outcome;
  outcome.explanation = compiled->explanation;
  llvm::raw_string_ostream(outcome.step) << *compiled->step;
  std::error_code error;
  if (emits)
    for (llvm::sys::fs::recursive_directory_iterator file(options.emit, error), end; file != end && !error;
         file.increment(error))
      if (auto content = llvm::MemoryBuffer::getFile(file->path());
          content && file->type() == llvm::sys::fs::file_type::regular_file)
        outcome.files[llvm::sys::path::filename(file->path()).str()] = (*content)->getBuffer().str();
  return outcome;
}

Outcome compileFile(Source source, const std::string &name, const std::string &strategy, bool emits = false) {
  return compileModule(
      source, [&](MLIRContext *context) { return parseSourceFile<ModuleOp>(MESHWRIGHT_FIXTURES "/" + name, context); },
      strategy, emits);
}

std::string makeStrategy(const std::string &inputs) {
  return "mesh { axes { name: \"dp\" size: 2 } } data { axes: \"dp\" } train { sgd { lr { constant: 0.1 } } } "
         "init { match: \"*\" normal { stddev: 0.02 } } model { " +
         inputs + " }";
}

const std::string kGpt = makeStrategy("parameters: \"p.*\" batch { inputs: \"ids\" }");
const std::string kMlp =
    makeStrategy("parameters: \"arg0\" parameters: \"arg1\" parameters: \"arg2\" parameters: \"arg3\" parameters: "
                 "\"arg4\" parameters: \"arg5\" batch { inputs: \"arg6\" } batch { inputs: \"arg7\" }");

} // namespace

// Tests GPT-2 as JAX prints it in the generic form, of unregistered operations: its package is that of the text, byte
// by byte.
TEST(OtherSource, AnUnregisteredModuleMakesThePackageOfItsText) {
  Outcome text = compileFile(Source::Text, "gpt2-small.mlir", kGpt, /*emits=*/true);
  Outcome module = compileFile(Source::Unregistered, "gpt2-small.generic.mlir", kGpt, /*emits=*/true);
  ASSERT_TRUE(text.isCompiled) << text.diagnostics;
  ASSERT_TRUE(module.isCompiled) << module.diagnostics;
  ASSERT_GT(text.files.size(), 2u);
  ASSERT_EQ(text.files.size(), module.files.size());
  for (const auto &[name, content] : text.files)
    EXPECT_TRUE(module.files[name] == content) << name << " differs";
}

// Tests operations that are registered, with properties and attributes of classes of their own.
TEST(OtherSource, ARegisteredModuleMakesTheStepOfItsText) {
  Outcome text = compileFile(Source::Text, "mlp-tiny.generic-no-names.mlir", kMlp);
  Outcome module = compileFile(Source::Registered, "mlp-tiny.generic-no-names.mlir", kMlp);
  ASSERT_TRUE(text.isCompiled) << text.diagnostics;
  ASSERT_TRUE(module.isCompiled) << module.diagnostics;
  EXPECT_EQ(text.step, module.step);
  EXPECT_EQ(text.explanation, module.explanation);
  EXPECT_FALSE(module.explanation.empty());
}

/// Compiles text that the context parses as it is.
static Outcome compileText(Source source, const std::string &text) {
  return compileModule(
      source, [&](MLIRContext *context) { return parseSourceString<ModuleOp>(text, context, "caller.mlir"); },
      "mesh { axes { name: \"dp\" size: 2 } }", false);
}

// Tests that errors of Import arrive in the caller's context, at the caller's place, with their notes.
TEST(OtherSource, ErrorsArriveInTheCallersContext) {
  Outcome outcome =
      compileText(Source::Registered, "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                                      "  return %a : tensor<4xf32>\n"
                                      "}\n"
                                      "func.func @other(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                                      "  %0 = \"stablehlo.negate\"(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                                      "  return %0 : tensor<4xf32>\n"
                                      "}\n");
  EXPECT_FALSE(outcome.isCompiled);
  EXPECT_NE(
      outcome.diagnostics.find("loc(\"caller.mlir\":4:1): function @other is public, and so is @main; a graph has "
                               "one public function"),
      std::string::npos)
      << outcome.diagnostics;
  EXPECT_NE(outcome.diagnostics.find("loc(\"caller.mlir\":1:1): the other is here"), std::string::npos)
      << outcome.diagnostics;
}

// Tests what the copy of a module cannot have.
TEST(OtherSource, WhatIsOfNoKnownDialectIsAnError) {
  auto compileLine = [](const std::string &line) {
    return compileText(Source::Unregistered, "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n" + line +
                                                 "\n  return %0 : tensor<4xf32>\n}\n")
        .diagnostics;
  };
  std::string operation = compileLine("  %1 = \"stablehlo.negate\"(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                                      "  %0 = \"other.relu\"(%1) : (tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_NE(operation.find("\"caller.mlir\":3:8): other.relu is of a dialect that graphs of StableHLO do not have"),
            std::string::npos)
      << operation;
  std::string attribute =
      compileLine("  %0 = \"stablehlo.negate\"(%a) {odd = #other.thing<1>} : (tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_NE(attribute.find("stablehlo.negate has an attribute \"odd\" that is not one of the builtin dialect or of "
                           "StableHLO: #other.thing<1>"),
            std::string::npos)
      << attribute;
  std::string type = compileLine("  %1 = \"stablehlo.make\"() : () -> !other.token\n"
                                 "  %0 = \"stablehlo.negate\"(%a) : (tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_NE(type.find("stablehlo.make makes a value of '!other.token', which is not of the builtin dialect"),
            std::string::npos)
      << type;
}
