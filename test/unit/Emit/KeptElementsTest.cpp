//===- KeptElementsTest.cpp - values kept between kernel stages -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of several stages computes an element once for each stage that wants it, unless that costs more than a
// buffer of one row.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Codegen/KernelModule.h"
#include "meshwright/Emit/Emit.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/Emit/EmitTest.h"

using namespace mlir;
using namespace meshwright;

namespace {

class KeptElements : public EmitTest {
protected:
  KeptElements() { emit::loadKernelDialects(context); }

  /// The number of exclusive-or operations in the code of a kernel that computes a chain of `length` of them and
  /// normalizes the rows of the result.
  int64_t countOperations(unsigned length) {
    std::string text = "func.func @step(%x0: tensor<8x64xui32>, %k: tensor<8x64xui32>) -> tensor<8x64xf32> {\n";
    llvm::raw_string_ostream stream(text);
    for (unsigned index = 0; index < length; ++index)
      stream << "%s" << index << " = net.add %x" << index << ", %k : tensor<8x64xui32>\n%x" << index + 1
             << " = net.xor %s" << index << ", %x" << index << " : tensor<8x64xui32>\n";
    stream << "%f = net.convert %x" << length << R"( : tensor<8x64xui32> -> tensor<8x64xf32>
      %sum = net.reduce sum %f dims = [1] : tensor<8x64xf32> -> tensor<8xf32>
      %all = net.broadcast %sum dims = [0] : tensor<8xf32> -> tensor<8x64xf32>
      %y = net.divide %f, %all : tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    })";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    PassManager manager(&context);
    schedule::buildPipeline(manager);
    if (!module || failed(manager.run(*module)))
      return -1;
    SmallVector<dist::KernelOp> kernels;
    module->walk([&](dist::KernelOp kernel) { kernels.push_back(kernel); });
    EXPECT_EQ(kernels.size(), 1u);
    OwningOpRef<ModuleOp> code = emit::buildKernelModule(kernels.front(), "kernel", /*leastDividedBytes=*/0);
    int64_t count = 0;
    if (code)
      code->walk([&](LLVM::XOrOp) { ++count; });
    return count;
  }
};

} // namespace

TEST_F(KeptElements, ShortChainsAreComputedAgain) { EXPECT_EQ(countOperations(5), 2 * 5); }

TEST_F(KeptElements, LongChainsAreComputedOnce) { EXPECT_EQ(countOperations(40), 40); }
