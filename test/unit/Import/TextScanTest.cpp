//===- TextScanTest.cpp - texts that are refused before they are parsed ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each of the deep texts has overflowed the stack of MLIR's parser or of a walk over what it made.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

namespace {

std::string repeat(StringRef text, int count) {
  std::string result;
  for (int i = 0; i != count; ++i)
    result += text;
  return result;
}

/// A hundred thousand aliases, each made of the one before: `before`, its name, `after`.
std::string chain(StringRef sigil, StringRef first, StringRef before, StringRef after) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << sigil << "a0 = " << first << "\n";
  for (int i = 1; i != 100'000; ++i)
    out << sigil << "a" << i << " = " << before << sigil << "a" << i - 1 << after << "\n";
  return text;
}

struct TextScan : testing::Test {
  TextScan() : context(MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      auto place = cast<FileLineColLoc>(static_cast<LocationAttr>(diagnostic.getLocation()));
      llvm::raw_string_ostream(error) << place.getLine() << ":" << place.getColumn() << ": " << diagnostic;
    });
  }

  /// The error of a text; nothing where there is none.
  std::string scan(StringRef text) {
    error.clear();
    EXPECT_EQ(succeeded(importer::checkText(text, "model.mlir", &context)), error.empty());
    return error;
  }

  MLIRContext context;
  std::string error;
};

const char *const kTooDeep = "brackets are nested 257 deep here, and 256 are the most that can be read";
const char *const kAffine =
    "an affine map or set goes on for more than 4096 bytes, which are the most that can be read";

} // namespace

TEST_F(TextScan, RefusesDeepBracketsOfEachKind) {
  for (StringRef pair : {"()", "[]", "{}", "<>"}) {
    auto nest = [&](int depth) { return "x\n " + repeat(pair.take_front(), depth) + repeat(pair.take_back(), depth); };
    EXPECT_EQ(scan(nest(256)), "");
    EXPECT_EQ(scan(nest(257)), std::string("2:258: ") + kTooDeep);
    EXPECT_EQ(scan(nest(100'000)), std::string("2:258: ") + kTooDeep);
  }
  EXPECT_EQ(scan(repeat("\"a.b\"() ({ ", 200)), std::string("1:1414: ") + kTooDeep);
  EXPECT_EQ(scan(repeat("tuple<", 300)), std::string("1:1542: ") + kTooDeep);
}

TEST_F(TextScan, CountsWhatIsOpenAlone) {
  EXPECT_EQ(scan(repeat("(){}[]<>", 1000)), "");
  // An arrow closes nothing, a bracket of another kind does not either.
  EXPECT_EQ(scan(repeat("<->", 257)), std::string("1:769: ") + kTooDeep);
  EXPECT_EQ(scan(repeat("<)", 257)), std::string("1:513: ") + kTooDeep);
}

TEST_F(TextScan, LeavesOutStringsAndComments) {
  EXPECT_EQ(scan("// " + repeat("(", 300) + "\n"), "");
  EXPECT_EQ(scan("\"" + repeat("(", 300) + "\""), "");
  EXPECT_EQ(scan("\"\\\"" + repeat("(", 300) + "\""), "");
  // Both end with the line.
  EXPECT_EQ(scan("// a\n" + repeat("(", 257)), std::string("2:257: ") + kTooDeep);
  EXPECT_EQ(scan("\"a\n" + repeat("(", 257)), std::string("2:257: ") + kTooDeep);
  EXPECT_EQ(scan("\"\\"), "");
}

TEST_F(TextScan, RefusesChainsOfAliases) {
  auto tooDeep = [](StringRef alias, int depth) {
    return ("alias " + alias + " is " + Twine(depth) +
            " brackets deep with the aliases in it, and at most 4096 can be read")
        .str();
  };
  EXPECT_EQ(scan(chain("#", "[1]", "[", "]")), "2050:11: " + tooDeep("#a2048", 4098));
  EXPECT_EQ(scan(chain("#", "loc(\"x\")", "loc(\"y\"(", "))")), "1367:18: " + tooDeep("#a1365", 4098));
  EXPECT_EQ(scan(chain("!", "() -> ()", "() -> ", "")), "4098:16: " + tooDeep("!a4096", 4097));
}

TEST_F(TextScan, TakesManyAliasesSideBySide) {
  std::string text = "#a = loc(\"x\")\n";
  for (int i = 0; i != 10'000; ++i)
    text += ("#b" + Twine(i) + " = loc(callsite(#a at #a))\nmodule { foo loc(#b" + Twine(i) + ") }\n").str();
  EXPECT_EQ(scan(text), "");
}

TEST_F(TextScan, RefusesLongAffineMaps) {
  EXPECT_EQ(scan("affine_map<(d0) -> (" + repeat("d0 + ", 800) + "d0)>"), "");
  for (StringRef term : {"-", "d0 + ", "d0 mod ", "("}) {
    EXPECT_EQ(scan("\n affine_map<(d0) -> (" + repeat(term, 100) + repeat("d0 * ", 10'000) + "d0"),
              std::string("2:2: ") + kAffine);
  }
  EXPECT_EQ(scan("affine_set<(d0) : (d0 >= 0, " + repeat("-", 10'000) + "d0 >= 0)>"), std::string("1:1: ") + kAffine);
}

TEST_F(TextScan, SaysWhichOtherFileItIs) {
  EXPECT_EQ(scan("ML\xEFR\x01MLIR"),
            "1:1: the file is MLIR bytecode, as a serialized export is; write the text of it, which as_text() of JAX's "
            "lowered function and `stablehlo-translate --deserialize` give");
  EXPECT_EQ(scan("HloModule jit_f, entry_computation_layout={()->f32[]}"),
            "1:1: the file is HLO, to which XLA compiles StableHLO; write StableHLO, which as_text() of JAX's lowered "
            "function gives");
  EXPECT_EQ(scan(StringRef("\xFF\xFEm\0o\0", 6)), "1:1: the text is UTF-16; write it as UTF-8");
}

TEST_F(TextScan, WantsUtf8) {
  EXPECT_EQ(scan("// \xC3\xA9\n"), "");
  EXPECT_EQ(scan("module {\n \xC3(}"), "2:2: byte 0xC3 is not UTF-8 here");
  EXPECT_EQ(scan(StringRef("module {\n\0}", 11)), "2:1: the text has a byte 0");
}
