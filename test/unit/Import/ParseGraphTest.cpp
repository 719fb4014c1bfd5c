//===- ParseGraphTest.cpp - locations of parsed operations ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

namespace {

/// A text, what is read from it, and the errors on the way.
struct ParseGraph : testing::Test {
  ParseGraph() : context(MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      llvm::raw_string_ostream stream(errors);
      auto place = findPlace(diagnostic.getLocation());
      stream << (place ? place.getStartLine() : 0) << ": " << diagnostic << "\n";
    });
  }

  void add(StringRef text) {
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "model.mlir"), llvm::SMLoc());
  }
  OwningOpRef<ModuleOp> parse(StringRef text) {
    add(text);
    return importer::parseGraph(sources, &context);
  }
  OwningOpRef<ModuleOp> import(StringRef text, importer::Options options = {}) {
    add(text);
    return importer::importGraph(sources, &context, options);
  }

  /// The first place in the text that a location names.
  static FileLineColRange findPlace(LocationAttr location) {
    FileLineColRange found;
    location.walk([&](Location part) {
      found = dyn_cast<FileLineColRange>(static_cast<LocationAttr>(part));
      return found ? WalkResult::interrupt() : WalkResult::advance();
    });
    return found;
  }

  llvm::SourceMgr sources;
  MLIRContext context;
  std::string errors;
};

} // namespace

static const char *const kText = R"mlir(#loc1 = loc("p['w']")
module @jit_f {
  func.func public @main(%arg0: tensor<4xf32> loc("p['w']"), %arg1: tensor<4xf32> loc("x")) -> (tensor<4xf32> {jax.result_info = "result"}) {
    %0 = call @g(%arg0) : (tensor<4xf32>) -> tensor<4xf32> loc(#loc3)
    %1 = stablehlo.add %0, %arg1 : tensor<4xf32> loc("model.py":7:1 to :9)
    return %1 : tensor<4xf32> loc(#loc2)
  } loc(#loc2)
  func.func private @g(%arg0: tensor<4xf32> loc(unknown)) -> tensor<4xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<4xf32> loc(#loc4)
    return %0 : tensor<4xf32> loc(#loc2)
  } loc(#loc2)
} loc(#loc2)
#loc2 = loc(unknown)
#loc3 = loc("jit(f)/h/0/jit(g)"(#loc2))
#loc4 = loc("act/tanh")
)mlir";

TEST_F(ParseGraph, LocatesOperationsAtTheirLine) {
  OwningOpRef<ModuleOp> module = parse(kText);
  ASSERT_TRUE(module) << errors;
  SmallVector<unsigned> lines;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    FileLineColRange place = findPlace(op->getLoc());
    ASSERT_TRUE(place);
    EXPECT_EQ(place.getFilename(), "model.mlir");
    lines.push_back(place.getStartLine());
  });
  EXPECT_EQ(lines, SmallVector<unsigned>({2, 3, 4, 5, 6, 8, 9, 10}));
  auto main = *module->getOps<func::FuncOp>().begin();
  EXPECT_EQ(findPlace(main.getArgument(1).getLoc()).getStartLine(), 3u);
}

TEST_F(ParseGraph, KeepsWhatTheExporterWroteBesideTheLine) {
  OwningOpRef<ModuleOp> module = parse(kText);
  ASSERT_TRUE(module) << errors;
  std::string text;
  module->walk([&](Operation *op) {
    if (op->getName().getStringRef() == "stablehlo.add")
      llvm::raw_string_ostream(text) << op->getLoc();
  });
  EXPECT_EQ(text, R"mlir(loc(fused["model.mlir":5:10, "model.py":7:1 to :9]))mlir");
}

TEST_F(ParseGraph, ImportsWithNamesScopesAndLinesOfInlinedOperations) {
  importer::Options options;
  options.parameters = {"p.*"};
  options.inits = {{"*.w", net::InitializerKind::Normal, 0.1, 1.0 / 3.0}};
  OwningOpRef<ModuleOp> module = import(kText, options);
  ASSERT_TRUE(module) << errors;
  auto variable = *module->getOps<net::VariableOp>().begin();
  EXPECT_EQ(variable.getSymName(), "p.w");
  // The numbers are the strategy's to the last bit.
  EXPECT_EQ(variable.getInit()->getA().getValueAsDouble(), 0.1);
  EXPECT_EQ(variable.getInit()->getB().getValueAsDouble(), 1.0 / 3.0);
  net::TanhOp tanh;
  module->walk([&](net::TanhOp op) { tanh = op; });
  ASSERT_TRUE(tanh);
  EXPECT_EQ(net::kScopeAttr.get(tanh).getValue(), "h.0.act");
  auto site = dyn_cast<CallSiteLoc>(static_cast<LocationAttr>(tanh.getLoc()));
  ASSERT_TRUE(site);
  EXPECT_EQ(findPlace(site.getCallee()).getStartLine(), 9u);
  EXPECT_EQ(findPlace(site.getCaller()).getStartLine(), 4u);
}

TEST_F(ParseGraph, ReportsErrorsAtTheirLine) {
  EXPECT_FALSE(import("module {\n  func.func public @main() {\n    %0 = \"stablehlo.other\"() : () -> tensor<f32> "
                      "loc(\"jit(f)/other\")\n"
                      "    return\n  }\n}\n"));
  EXPECT_EQ(errors,
            "3: operation stablehlo.other is not supported; docs/design/import.md lists the supported operations\n");
}

TEST_F(ParseGraph, ReportsEqualNames) {
  EXPECT_FALSE(
      import("module {\n  func.func public @main(\n%a: tensor<f32> loc(\"p['w']\"),\n%b: tensor<f32> loc(\"p.w\")) {\n"
             "    return\n  }\n}\n"));
  EXPECT_EQ(errors, "4: arguments 0 and 1 are both called \"p.w\"\n");
}

TEST_F(ParseGraph, WantsOneModule) {
  EXPECT_FALSE(parse("module {}\nmodule {}\n"));
  EXPECT_EQ(errors, "1: the text holds 2 operations at its top, not one module\n");
}

TEST_F(ParseGraph, WantsTextThatVerifies) {
  EXPECT_FALSE(
      parse("module {\n  func.func public @main() {\n    call @f() : () -> () loc(\"f\")\n    return\n  }\n}\n"));
  EXPECT_EQ(errors, "3: 'func.call' op 'f' does not reference a valid function\n");
}

TEST_F(ParseGraph, WantsSomething) {
  EXPECT_FALSE(parse(""));
  EXPECT_EQ(errors, "1: the text holds 0 operations at its top, not one module\n");
}
