//===- GpuKernelsTest.cpp - kernels of an emulated GPU --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of random networks are compiled for the CPU and for an emulated GPU and run on the same memory.
// MESHWRIGHT_TEST_SEED says which networks, MESHWRIGHT_TEST_CASES how many, MESHWRIGHT_TEST_FIRST from which on.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Emit/Emit.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/lib/EmulatedGpu/KernelComparison.h"
#include "test/unit/Emit/EmitTest.h"
#include "test/unit/Partition/RandomNetwork.h"
#include "test/unit/Runtime/TempFolder.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;

namespace {

int64_t readNumber(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

class GpuKernels : public EmitTest {
protected:
  GpuKernels() {
    // A thread that does all the work is expected here.
    context.getDiagEngine().registerHandler(
        [](Diagnostic &diagnostic) { return success(diagnostic.getSeverity() == DiagnosticSeverity::Warning); });
  }

  /// Schedules `module` and compares its kernels.
  void check(ModuleOp module, uint64_t seed, StringRef real = "") {
    PassManager manager(&context);
    schedule::buildPipeline(manager);
    ASSERT_TRUE(succeeded(manager.run(module)));
    compare(module, seed, real);
  }

  /// Compares the kernels of a scheduled module.
  void compare(ModuleOp module, uint64_t seed, StringRef real = "") {
    TempFolder folder;
    KernelComparison comparison(module, folder / ".");
    for (const std::string &problem : comparison.run(seed, real))
      ADD_FAILURE() << problem;
    numCompared += comparison.numCompared;
    numExact += comparison.numExact;
    numDivided += comparison.numDivided;
    for (const auto &[mapping, number] : comparison.mappings)
      mappings[mapping] += number;
    results = comparison.results;
  }

  void check(StringRef text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    check(*module, /*seed=*/1);
  }

  int64_t numCompared = 0, numExact = 0, numDivided = 0;
  std::map<std::string, int64_t> mappings;
  /// The results of the last kernel.
  std::vector<std::vector<double>> results;
};

} // namespace

TEST_F(GpuKernels, DoWhatTheCpuDoes) {
  constexpr int64_t kCases = 30;
  int64_t first = readNumber("MESHWRIGHT_TEST_FIRST", 0), cases = readNumber("MESHWRIGHT_TEST_CASES", kCases);
  const std::vector<Type> reals{Float64Type::get(&context), Float32Type::get(&context), BFloat16Type::get(&context)};
  for (int64_t round = first; round < first + cases; ++round) {
    Random random(70000 + round);
    SCOPED_TRACE(random.describe(round));
    OwningOpRef<ModuleOp> network = RandomNetwork(random, context, random.choose(reals)).build(random.pick(3, 14));
    // Now and then for a GPU that there is.
    ASSERT_NO_FATAL_FAILURE(check(*network, round, round % 5 == 0 ? "sm_80" : ""));
  }
  llvm::outs() << numCompared << " kernels, " << numExact << " bit by bit, " << numDivided << " in parts";
  for (const auto &[mapping, number] : mappings)
    llvm::outs() << ", " << number << " " << mapping;
  llvm::outs() << "\n";
  if (cases < kCases)
    return;
  for (const char *mapping : {"elements", "rows", "sums", "copy", "scatter", "search", "serial"})
    EXPECT_GT(mappings[mapping], 0) << mapping << " does not occur";
  EXPECT_GE(numExact * 2, numCompared);
  EXPECT_GE(numDivided * 4, numCompared);
}

//===----------------------------------------------------------------------===//
// Kernels written out by hand
//===----------------------------------------------------------------------===//

// A row of sums goes to where a row of numbers was that all threads of the rows read; rows of 5 share a block that has
// more of them than there are.
TEST_F(GpuKernels, RowsWriteOverWhatTheyRead) {
  check(R"(
    net.variable parameter @v : tensor<70xf64>
    func.func @step(%x: tensor<70x5xf64>) {
      %v = net.read @v : tensor<70xf64>
      %all = net.broadcast %v dims = [0] : tensor<70xf64> -> tensor<70x5xf64>
      %product = net.multiply %x, %all : tensor<70x5xf64>
      %sum = net.reduce sum %product dims = [1] : tensor<70x5xf64> -> tensor<70xf64>
      net.assign @v, %sum : tensor<70xf64>
      return
    })");
  EXPECT_EQ(mappings["rows"], 1);
}

// A value that is stored once overwrites one that all threads read.
TEST_F(GpuKernels, OneElementBesideMany) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @step(%x: tensor<40x30xf32>, %y: tensor<30x40xf32>, %count: tensor<f32>) -> tensor<40x30xf32> {
      %0:2 = dist.kernel(%x, %y, %count) in_place [-1, 2] {
      ^bb0(%a: tensor<40x30xf32>, %b: tensor<30x40xf32>, %old: tensor<f32>):
        %one = net.constant dense<1.0> : tensor<f32>
        %new = net.add %old, %one : tensor<f32>
        %turned = net.transpose %b dims = [1, 0] : tensor<30x40xf32> -> tensor<40x30xf32>
        %sum = net.add %a, %turned : tensor<40x30xf32>
        %all = net.broadcast %new dims = [] : tensor<f32> -> tensor<40x30xf32>
        %product = net.multiply %sum, %all : tensor<40x30xf32>
        dist.yield %product, %new : tensor<40x30xf32>, tensor<f32>
      } : (tensor<40x30xf32>, tensor<30x40xf32>, tensor<f32>) -> (tensor<40x30xf32>, tensor<f32>)
      return %0#0 : tensor<40x30xf32>
    })",
                                                             &context);
  ASSERT_TRUE(module);
  compare(*module, /*seed=*/1);
  EXPECT_EQ(mappings["elements"], 2);
}

// Sums over columns of what is known only when the rows have been reduced.
TEST_F(GpuKernels, ColumnsOfNormalizedRows) {
  check(R"(
    func.func @step(%x: tensor<50x45xf32>) -> (tensor<50x45xf32>, tensor<45xf32>) {
      %sum = net.reduce sum %x dims = [1] : tensor<50x45xf32> -> tensor<50xf32>
      %all = net.broadcast %sum dims = [0] : tensor<50xf32> -> tensor<50x45xf32>
      %y = net.subtract %x, %all : tensor<50x45xf32>
      %columns = net.reduce sum %y dims = [0] : tensor<50x45xf32> -> tensor<45xf32>
      return %y, %columns : tensor<50x45xf32>, tensor<45xf32>
    })");
  EXPECT_EQ(mappings["rows"], 1);
  EXPECT_EQ(mappings["sums"], 1);
  EXPECT_EQ(mappings["serial"], 0);
}

// A sum in 16 bits is rounded once, where it ends.
TEST_F(GpuKernels, ColumnsInSixteenBits) {
  check(R"(
    func.func @step(%x: tensor<50x45xbf16>) -> tensor<45xbf16> {
      %columns = net.reduce sum %x dims = [0] : tensor<50x45xbf16> -> tensor<45xbf16>
      return %columns : tensor<45xbf16>
    })");
  EXPECT_EQ(mappings["rows"], 1);
  EXPECT_EQ(mappings["serial"], 0);
}

// A long row, and an accumulation in the middle dimension.
TEST_F(GpuKernels, LongRows) {
  check(R"(
    func.func @step(%x: tensor<2x3x9000xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
      %rows = net.reduce sum %x dims = [2] : tensor<2x3x9000xf32> -> tensor<2x3xf32>
      %middle = net.reduce max %x dims = [0, 2] : tensor<2x3x9000xf32> -> tensor<3xf32>
      return %rows, %middle : tensor<2x3xf32>, tensor<3xf32>
    })");
  EXPECT_EQ(mappings["serial"], 0);
}

// Elements of several types side by side, rows of a length that is no multiple of a vector, in memory whose rows begin
// at multiples of one and not, and elements that are kept from one stage to the next.
TEST_F(GpuKernels, ElementsSideBySide) {
  check(R"(
    func.func @step(%x: tensor<512x1024xf32>, %y: tensor<512x1024xbf16>, %z: tensor<512x1024xi1>, %b: tensor<1024xbf16>)
        -> (tensor<512x1024xbf16>, tensor<512x1024xf32>) {
      %all = net.broadcast %b dims = [1] : tensor<1024xbf16> -> tensor<512x1024xbf16>
      %sum = net.add %y, %all : tensor<512x1024xbf16>
      %wide = net.convert %sum : tensor<512x1024xbf16> -> tensor<512x1024xf32>
      %chosen = net.select %z, %x, %wide : tensor<512x1024xi1>, tensor<512x1024xf32>
      %function = net.exponential %chosen : tensor<512x1024xf32>
      %narrow = net.convert %function : tensor<512x1024xf32> -> tensor<512x1024xbf16>
      return %narrow, %chosen : tensor<512x1024xbf16>, tensor<512x1024xf32>
    })");
  EXPECT_EQ(mappings["elements"], 1);
  constexpr const char *softmax = R"(
    func.func @step(%wide: tensor<40x{0}xbf16>) -> tensor<40x1021xf32> {
      %narrow = net.slice %wide starts = [0, 0] limits = [40, 1021] steps = [1, 1] : tensor<40x{0}xbf16> -> tensor<40x1021xbf16>
      %x = net.convert %narrow : tensor<40x1021xbf16> -> tensor<40x1021xf32>
      %max = net.reduce max %x dims = [1] : tensor<40x1021xf32> -> tensor<40xf32>
      %all = net.broadcast %max dims = [0] : tensor<40xf32> -> tensor<40x1021xf32>
      %shifted = net.subtract %x, %all : tensor<40x1021xf32>
      %exp = net.exponential %shifted : tensor<40x1021xf32>
      %sum = net.reduce sum %exp dims = [1] : tensor<40x1021xf32> -> tensor<40xf32>
      %total = net.broadcast %sum dims = [0] : tensor<40xf32> -> tensor<40x1021xf32>
      %y = net.divide %exp, %total : tensor<40x1021xf32>
      return %y : tensor<40x1021xf32>
    })";
  for (int64_t width : {1021, 1024, 1028})
    check(llvm::formatv(softmax, width).str());
  // Rows begin at multiples of a vector's size and end within a vector.
  check(R"(
    func.func @step(%wide: tensor<40x1024xbf16>) -> (tensor<40xf32>, tensor<40xf32>) {
      %narrow = net.slice %wide starts = [0, 0] limits = [40, 1021] steps = [1, 1] : tensor<40x1024xbf16> -> tensor<40x1021xbf16>
      %x = net.convert %narrow : tensor<40x1021xbf16> -> tensor<40x1021xf32>
      %max = net.reduce max %x dims = [1] : tensor<40x1021xf32> -> tensor<40xf32>
      %all = net.broadcast %max dims = [0] : tensor<40xf32> -> tensor<40x1021xf32>
      %shifted = net.subtract %x, %all : tensor<40x1021xf32>
      %exp = net.exponential %shifted : tensor<40x1021xf32>
      %sum = net.reduce sum %exp dims = [1] : tensor<40x1021xf32> -> tensor<40xf32>
      return %max, %sum : tensor<40xf32>, tensor<40xf32>
    })");
  EXPECT_EQ(mappings["rows"], 4);
  EXPECT_EQ(mappings["serial"], 0);
}

//===----------------------------------------------------------------------===//
// Sums that several blocks share
//===----------------------------------------------------------------------===//

// The sum of the numbers below n is known, and the largest; n is no multiple of the number of threads.
TEST_F(GpuKernels, NumbersOfManyBlocks) {
  constexpr double n = 70001;
  check(R"(
    func.func @step() -> tensor<i64> {
      %x = net.iota dim = 0 : tensor<70001xi64>
      %sum = net.reduce sum %x dims = [0] : tensor<70001xi64> -> tensor<i64>
      return %sum : tensor<i64>
    })");
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0][0], n * (n - 1) / 2);
  check(R"(
    func.func @step() -> tensor<i32> {
      %x = net.iota dim = 0 : tensor<70001xi32>
      %largest = net.reduce max %x dims = [0] : tensor<70001xi32> -> tensor<i32>
      return %largest : tensor<i32>
    })");
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0][0], n - 1);
  EXPECT_EQ(mappings["rows"], 2);
  EXPECT_EQ(mappings["parts"], 2);
}

// All sums of these are whole numbers that f32 has, so they are exact in any order.
TEST_F(GpuKernels, WholeNumbersInFloats) {
  check(R"(
    func.func @step() -> tensor<40xf32> {
      %rows = net.iota dim = 0 : tensor<2050x40xf32>
      %columns = net.iota dim = 1 : tensor<2050x40xf32>
      %x = net.add %rows, %columns : tensor<2050x40xf32>
      %sums = net.reduce sum %x dims = [0] : tensor<2050x40xf32> -> tensor<40xf32>
      return %sums : tensor<40xf32>
    })");
  ASSERT_EQ(results.size(), 1u);
  for (int column = 0; column != 40; ++column)
    EXPECT_EQ(results[0][column], 2050 * 2049 / 2 + 2050 * column);
  EXPECT_EQ(mappings["sums"], 1);
  EXPECT_EQ(mappings["parts"], 1);
}

// The norm of a gradient, for clipping, with operations after the sum, and results that overwrite the elements which
// are summed.
TEST_F(GpuKernels, NormsOfManyBlocks) {
  for (StringRef type : {"f32", "bf16"}) {
    std::string text = R"(
      func.func @step(%x: tensor<300x256xTYPE>, %count: tensor<f32>) -> (tensor<300x256xTYPE>, tensor<f32>) {
        %0:2 = dist.kernel(%x, %count) in_place [0, 1] {
        ^bb0(%a: tensor<300x256xTYPE>, %old: tensor<f32>):
          %twice = net.add %a, %a : tensor<300x256xTYPE>
          %wide = net.convert %twice : tensor<300x256xTYPE> -> tensor<300x256xf32>
          %square = net.multiply %wide, %wide : tensor<300x256xf32>
          %sum = net.reduce sum %square dims = [0, 1] : tensor<300x256xf32> -> tensor<f32>
          %root = net.sqrt %sum : tensor<f32>
          %new = net.add %old, %root : tensor<f32>
          dist.yield %twice, %new : tensor<300x256xTYPE>, tensor<f32>
        } : (tensor<300x256xTYPE>, tensor<f32>) -> (tensor<300x256xTYPE>, tensor<f32>)
        return %0#0, %0#1 : tensor<300x256xTYPE>, tensor<f32>
      })";
    for (size_t at; (at = text.find("TYPE")) != std::string::npos;)
      text.replace(at, 4, type.str());
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    compare(*module, /*seed=*/1, "sm_80");
  }
  EXPECT_EQ(mappings["rows"], 2);
  EXPECT_EQ(mappings["parts"], 2);
}

// Columns in 16 bits, which are rows of a plan that keeps what is summed inside; a few long rows; sums of what the rows
// have stored; two of several kinds at a time.
TEST_F(GpuKernels, FewLongSums) {
  check(R"(
    func.func @step(%x: tensor<2000x45xbf16>) -> tensor<45xbf16> {
      %columns = net.reduce sum %x dims = [0] : tensor<2000x45xbf16> -> tensor<45xbf16>
      return %columns : tensor<45xbf16>
    })");
  EXPECT_EQ(mappings["parts"], 1);
  check(R"(
    func.func @step(%x: tensor<3x80000xf32>) -> tensor<3xf32> {
      %rows = net.reduce sum %x dims = [1] : tensor<3x80000xf32> -> tensor<3xf32>
      return %rows : tensor<3xf32>
    })");
  EXPECT_EQ(mappings["parts"], 2);
  check(R"(
    func.func @step(%x: tensor<1500x45xf32>) -> (tensor<1500x45xf32>, tensor<45xf32>) {
      %sum = net.reduce sum %x dims = [1] : tensor<1500x45xf32> -> tensor<1500xf32>
      %all = net.broadcast %sum dims = [0] : tensor<1500xf32> -> tensor<1500x45xf32>
      %y = net.subtract %x, %all : tensor<1500x45xf32>
      %columns = net.reduce sum %y dims = [0] : tensor<1500x45xf32> -> tensor<45xf32>
      return %y, %columns : tensor<1500x45xf32>, tensor<45xf32>
    })");
  EXPECT_EQ(mappings["parts"], 3);
  check(R"(
    func.func @step(%x: tensor<1500x45xf32>) -> (tensor<45xf32>, tensor<45xi1>) {
      %columns = net.reduce sum %x dims = [0] : tensor<1500x45xf32> -> tensor<45xf32>
      %finite = net.is_finite %x : tensor<1500x45xf32> -> tensor<1500x45xi1>
      %all = net.reduce and %finite dims = [0] : tensor<1500x45xi1> -> tensor<45xi1>
      return %columns, %all : tensor<45xf32>, tensor<45xi1>
    })");
  EXPECT_EQ(mappings["parts"], 4);
  EXPECT_EQ(mappings["serial"], 0);
}

//===----------------------------------------------------------------------===//
// Scatters and searches
//===----------------------------------------------------------------------===//

// Targets meet, and some lie outside; each of the ways to combine them.
TEST_F(GpuKernels, Scatters) {
  for (StringRef kind : {"assign", "add", "multiply", "max", "min"}) {
    std::string text = R"(
      func.func @step(%x: tensor<6x20xf32>, %at: tensor<300x1xi32>, %rows: tensor<300x20xf32>) -> tensor<6x20xf32> {
        %y = net.scatter KIND %x, %at, %rows <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1>
            : tensor<6x20xf32>, tensor<300x1xi32>, tensor<300x20xf32> -> tensor<6x20xf32>
        return %y : tensor<6x20xf32>
      })";
    text.replace(text.find("KIND"), 4, kind);
    check(text);
  }
  EXPECT_EQ(mappings["scatter"], 5);
  EXPECT_EQ(mappings["serial"], 0);
}

// Many elements are equal, so that the lowest index has to be found among those of all threads.
TEST_F(GpuKernels, Searches) {
  for (StringRef kind : {"max", "min"}) {
    std::string text = R"(
      func.func @step(%x: tensor<4x700x3xi32>, %y: tensor<5x9xbf16>)
          -> (tensor<4x3xi32>, tensor<4x3xi32>, tensor<5xbf16>, tensor<5xi64>) {
        %a, %b = net.arg_reduce KIND %x dim = 1 : tensor<4x700x3xi32> -> tensor<4x3xi32>, tensor<4x3xi32>
        %c, %d = net.arg_reduce KIND %y dim = 1 : tensor<5x9xbf16> -> tensor<5xbf16>, tensor<5xi64>
        return %a, %b, %c, %d : tensor<4x3xi32>, tensor<4x3xi32>, tensor<5xbf16>, tensor<5xi64>
      })";
    for (size_t at; (at = text.find("KIND")) != std::string::npos;)
      text.replace(at, 4, kind);
    check(text);
  }
  EXPECT_EQ(mappings["search"], 4);
  EXPECT_EQ(mappings["serial"], 0);
}
