//===- MathExpansionTest.cpp - functions where there is no library --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that GPUs compute, compiled for an emulated one, against those of the C library.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Gpu/GpuCompiler.h"
#include "meshwright/Codegen/KernelModule.h"
#include "meshwright/Emit/Emit.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/lib/EmulatedGpu/EmulatedGpu.h"
#include "test/unit/Emit/EmitTest.h"
#include "test/unit/Random.h"
#include "test/unit/Runtime/TempFolder.h"
#include <cmath>
#include <dlfcn.h>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;

namespace {

constexpr int64_t kSize = 4096;
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

class MathExpansion : public EmitTest {
protected:
  MathExpansion() { emit::loadKernelDialects(context); }

  /// `operation` of f64 tensors, element by element, by the code of a GPU.
  std::vector<double> compute(StringRef operation, std::vector<double> x, std::vector<double> y) {
    std::string text = ("func.func @step(%x: tensor<4096xf64>, %y: tensor<4096xf64>) -> tensor<4096xf64> {\n%z = net." +
                        operation + " : tensor<4096xf64>\nreturn %z : tensor<4096xf64>\n}")
                           .str();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    PassManager manager(&context);
    schedule::buildPipeline(manager);
    EXPECT_TRUE(module && succeeded(manager.run(*module)));
    SmallVector<emit::KernelJob> jobs;
    module->walk([&](dist::KernelOp kernel) { jobs.push_back({kernel, "k"}); });
    EXPECT_EQ(jobs.size(), 1u);
    TempFolder folder;
    Package package;
    emit::CodeCache none("");
    EXPECT_TRUE(succeeded(emit::GpuCompiler(jobs, none, folder / ".", module->getLoc(), package).compile("emulated")));
    void *library = dlopen((folder / package.libraries(0).file()).c_str(), RTLD_NOW | RTLD_LOCAL);
    const GpuLaunch &launch = package.libraries(0).gpu_kernels(0).launches(0);
    auto function = reinterpret_cast<EmulatedGpu::Function>(dlsym(library, launch.function().c_str()));
    std::vector<double> z(kSize);
    std::vector<void *> arguments = {x.data()};
    if (jobs.front().kernel->getNumOperands() == 2)
      arguments.push_back(y.data());
    arguments.push_back(z.data());
    EXPECT_EQ(EmulatedGpu(1).launch(function, arguments.data(), launch.blocks(), launch.threads(), 0), "");
    dlclose(library);
    return z;
  }

  /// Numbers between `low` and `high`, of all sizes, and at the front `special`.
  static std::vector<double> draw(double low, double high, std::vector<double> special) {
    Random random;
    std::vector<double> numbers = std::move(special);
    while (numbers.size() < kSize) {
      double number = low + (high - low) * static_cast<double>(random.pick(0, 1 << 30)) / (1 << 30);
      numbers.push_back(random.chance(30) ? number * std::ldexp(1.0, -static_cast<int>(random.pick(0, 60))) : number);
    }
    return numbers;
  }

  static void compare(ArrayRef<double> x, ArrayRef<double> y, ArrayRef<double> z,
                      llvm::function_ref<double(double, double)> reference, double tolerance) {
    for (int64_t index = 0; index < kSize; ++index) {
      double expected = reference(x[index], y[index]);
      if (std::isnan(expected) || std::isinf(expected) || expected == 0)
        ASSERT_TRUE(z[index] == expected || (std::isnan(z[index]) && std::isnan(expected)))
            << z[index] << " for " << x[index] << ", " << y[index] << " where the library has " << expected;
      else
        ASSERT_LE(std::abs(z[index] - expected), tolerance * std::abs(expected) + 1e-307)
            << z[index] << " for " << x[index] << ", " << y[index] << " where the library has " << expected;
    }
  }

  void check(StringRef operation, double (*reference)(double), double low, double high, std::vector<double> special,
             double tolerance) {
    SCOPED_TRACE(operation.str());
    std::vector<double> x = draw(low, high, std::move(special)), y(kSize);
    compare(x, y, compute((operation + " %x").str(), x, y), [&](double a, double) { return reference(a); }, tolerance);
  }
};

constexpr double kUnit = 0x1p-53;

} // namespace

TEST_F(MathExpansion, OfOneNumber) {
  const std::vector<double> all = {0, -0.0, 1, -1, kInfinity, -kInfinity, kNaN, 0x1p-1074, 0x1p-1022};
  check("exponential", std::exp, -740, 709, all, 4 * kUnit);
  check("exponential", std::exp, -1, 1, {710, -746, 709.78, 1e300, -1e300}, 4 * kUnit);
  check("exponential_minus_one", std::expm1, -50, 50, all, 8 * kUnit);
  check("log", std::log, 0, 4, all, 8 * kUnit);
  check("log", std::log, 0, 1e300, {-1e-300, 0.7071067811865475, 1.4142135623730951}, 8 * kUnit);
  check("log_plus_one", std::log1p, -0.999, 3, all, 8 * kUnit);
  check("tanh", std::tanh, -30, 30, all, 16 * kUnit);
  check("erf", std::erf, -7, 7, all, 32 * kUnit);
  check("erfc", std::erfc, -7, 26, {-kInfinity, kInfinity, kNaN, 0, 30}, 1e-12);
  check("cbrt", std::cbrt, -1e6, 1e6, all, 8 * kUnit);
}

TEST_F(MathExpansion, OfAngles) {
  const std::vector<double> all = {0, kInfinity, -kInfinity, kNaN};
  check("sine", std::sin, -100, 100, all, 1e-14);
  check("cosine", std::cos, -100, 100, all, 1e-14);
  check("tan", std::tan, -100, 100, all, 1e-14);
  check("sine", std::sin, -1e9, 1e9, all, 1e-9);
}

TEST_F(MathExpansion, OfTwoNumbers) {
  const std::vector<double> numbers = {0, -0.0, 1, -1, 0.5, 2, -2, 3, -3, -0.5, kInfinity, -kInfinity, kNaN};
  std::vector<double> left, right;
  for (double a : numbers)
    for (double b : numbers) {
      left.push_back(a);
      right.push_back(b);
    }
  auto check = [&](StringRef operation, double (*reference)(double, double), double low, double tolerance) {
    SCOPED_TRACE(operation.str());
    std::vector<double> x = draw(low, 10, left), y = draw(-20, 20, right);
    // Quotients of all sizes.
    if (tolerance == 0)
      for (int64_t index = left.size(); index < kSize; ++index)
        x[index] = std::ldexp(x[index], static_cast<int>(index % 1000));
    if (tolerance == 0)
      for (int64_t index = left.size(); index < kSize; index += 7)
        y[index] = std::ldexp(y[index], -static_cast<int>(index % 1060));
    compare(x, y, compute((operation + " %x, %y").str(), x, y), reference, tolerance);
  };
  check("remainder", std::fmod, -10, 0);
  check("power", std::pow, 1e-3, 1e-12);
  check("atan2", std::atan2, -10, 8 * kUnit);
}
