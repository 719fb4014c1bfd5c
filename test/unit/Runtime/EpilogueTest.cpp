//===- EpilogueTest.cpp - products with epilogues -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes the epilogue of a GEMM in a hand-made package, one field at a time, and checks that the loader rejects every
// epilogue that differs from the kernel after the GEMM or leaves the memory of the package.
//
//===----------------------------------------------------------------------===//

#include "EpiloguePackage.h"
#include "ProgramBuilder.h"
#include "TempFolder.h"
#include "TestPackage.h"
#include "meshwright/runtime/Package.h"
#include "runtime/package/ExpandLoops.h"
#include <functional>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

/// The second product of the package, whose epilogue has all features: its instruction, and that of the kernel after
/// it.
constexpr int kProduct = 2, kKernel = 3;

/// The error after a change of the program, without its location.
std::string getError(const std::function<void(Program &, Matmul &)> &change) {
  Package package = makeEpiloguePackage();
  Program &program = *package.mutable_programs(0);
  change(program, *program.mutable_tasks(0)->mutable_instructions(kProduct)->mutable_matmul());
  std::string message = LoadedPackage::create(std::move(package), "p", std::nullopt).status().message();
  size_t end = message.find("): ");
  return end == std::string::npos ? message : message.substr(end + 3);
}

std::string getError(const std::function<void(Epilogue &)> &change) {
  return getError([&](Program &, Matmul &matmul) { change(*matmul.mutable_epilogue()); });
}

Kernel &getKernel(Program &program) {
  return *program.mutable_tasks(0)->mutable_instructions(kKernel)->mutable_kernel();
}

} // namespace

TEST(Epilogue, NamesWhatTheKernelDoes) {
  EXPECT_EQ(getError([](Epilogue &) {}), "");
  EXPECT_EQ(getError([](Epilogue &e) { e.set_out(e.out() + 1); }),
            "buffer 8, the epilogue's result, has 64 bytes of f32 where 32 elements of f32 are wanted");
  EXPECT_EQ(getError([](Program &p, Matmul &) { getKernel(p).set_outputs(UINT32_MAX); }),
            "the kernel test_bias_gelu after the product does not read and write what the epilogue does");
  EXPECT_EQ(getError([](Program &p, Matmul &) { getKernel(p).set_outputs(1); }),
            "the kernel test_bias_gelu after the product does not read and write what the epilogue does");
  EXPECT_EQ(getError([](Program &p, Matmul &) { getKernel(p).add_arguments(5); }),
            "the kernel test_bias_gelu after the product does not read and write what the epilogue does");
  EXPECT_EQ(getError([](Epilogue &e) { e.clear_bias(); }),
            "the kernel test_bias_gelu after the product does not read and write what the epilogue does");
  EXPECT_EQ(getError([](Epilogue &e) { e.clear_preactivation(); }),
            "the kernel test_bias_gelu after the product does not read and write what the epilogue does");
  auto separate = [](Program &p, Matmul &) {
    p.mutable_tasks(0)->mutable_instructions()->SwapElements(kKernel, kKernel + 1);
  };
  EXPECT_EQ(getError(separate), "the product has an epilogue, but no kernel directly after it");
  auto end = [](Program &p, Matmul &) { p.mutable_tasks(0)->mutable_instructions()->DeleteSubrange(kKernel, 3); };
  EXPECT_EQ(getError(end), "the product has an epilogue, but no kernel directly after it");
}

TEST(Epilogue, IsOfAKindThatThereIs) {
  EXPECT_EQ(getError([](Epilogue &e) { e.set_activation(static_cast<Epilogue::Activation>(7)); }),
            "activation 7 of the epilogue is unknown");
  EXPECT_EQ(getError([](Epilogue &e) { e.set_activation(Epilogue::IDENTITY); }),
            "the epilogue has no activation and a preactivation");
  EXPECT_EQ(getError([](Epilogue &e) {
              e.set_activation(Epilogue::IDENTITY);
              e.clear_bias();
            }),
            "the epilogue has no activation and no bias");
  auto widen = [](Program &, Matmul &m) {
    m.set_lhs_dtype(F64), m.set_rhs_dtype(F64), m.set_out_dtype(F64);
    m.set_m(2), m.set_n(4), m.set_k(4);
  };
  EXPECT_EQ(getError(widen), "the product of f64 has an epilogue, where one is of f32, bf16 or f16");
  auto spread = [](Program &, Matmul &m) {
    m.set_m(2), m.set_n(4);
    m.set_out_strides(1, 2);
  };
  EXPECT_EQ(getError(spread), "the epilogue has a bias, but the product's result has strides 8 and 2, none of them 1");
}

TEST(Epilogue, IsInMemoryThatIsThere) {
  EXPECT_EQ(getError([](Epilogue &e) { e.set_bias(99); }), "buffer 99 is the epilogue's bias but the program has 13");
  EXPECT_EQ(getError([](Epilogue &e) { e.set_preactivation(99); }),
            "buffer 99 is the epilogue's preactivation but the program has 13");
  EXPECT_EQ(getError([](Epilogue &e) { e.set_out(99); }), "buffer 99 is the epilogue's result but the program has 13");
  EXPECT_EQ(
      getError([](Program &p, Matmul &m) { p.mutable_buffers(static_cast<int>(m.epilogue().out()))->set_dtype(I32); }),
      "buffer 7, the epilogue's result, has 128 bytes of i32 where 32 elements of f32 are wanted");
  EXPECT_EQ(getError([](Program &p, Matmul &m) {
              Buffer &buffer = *p.mutable_buffers(static_cast<int>(m.epilogue().preactivation()));
              buffer.set_memory(HOST);
              p.set_host_arena_bytes(buffer.offset() + buffer.bytes());
            }).substr(0, 60),
            "buffer 6, the epilogue's preactivation, is in the memory of ");
}

TEST(Epilogue, WritesNothingThatIsRead) {
  auto place = [](auto choose) {
    return getError([&](Program &p, Matmul &m) {
      auto [moved, onto] = choose(m);
      p.mutable_buffers(static_cast<int>(moved))->set_offset(p.buffers(static_cast<int>(onto)).offset());
    });
  };
  EXPECT_EQ(place([](Matmul &m) { return std::pair(m.epilogue().out(), m.lhs()); }),
            "the epilogue writes buffer 7, which overlaps buffer 5 that the product or it reads");
  EXPECT_EQ(place([](Matmul &m) { return std::pair(m.epilogue().preactivation(), m.lhs()); }),
            "the epilogue writes buffer 6, which overlaps buffer 5 that the product or it reads");
  EXPECT_EQ(place([](Matmul &m) { return std::pair(m.epilogue().preactivation(), m.epilogue().bias()); }),
            "the epilogue writes buffer 6, which overlaps buffer 2 that the product or it reads");
  EXPECT_EQ(place([](Matmul &m) { return std::pair(m.epilogue().out(), m.epilogue().preactivation()); }),
            "the epilogue's result in buffer 7 overlaps its preactivation in buffer 6");
  // In the place of the product is as good as anywhere.
  EXPECT_EQ(place([](Matmul &m) { return std::pair(m.epilogue().preactivation(), m.out()); }), "");
}

/// An iteration of a loop has an epilogue of its own.
TEST(Epilogue, MovesWithIterations) {
  Package package = makeEpiloguePackage();
  Program &program = *package.mutable_programs(0);
  Task &task = *program.mutable_tasks(0);
  Instruction loop, end, product = task.instructions(kProduct), kernel = task.instructions(kKernel);
  loop.mutable_loop()->set_count(2);
  end.mutable_end_loop();
  task.clear_instructions();
  for (const Instruction &instruction : {loop, product, kernel, end})
    *task.add_instructions() = instruction;
  auto getBuffer = [&](uint32_t index) -> Buffer & { return *program.mutable_buffers(static_cast<int>(index)); };
  const Epilogue epilogue = product.matmul().epilogue();
  for (uint32_t index : {epilogue.bias(), epilogue.preactivation(), epilogue.out()})
    getBuffer(index).add_iteration_bytes(1 << 20);
  ASSERT_TRUE(expandLoops(package).ok());
  ASSERT_EQ(task.instructions_size(), 4);
  for (int iteration : {0, 1}) {
    const Matmul &matmul = task.instructions(2 * iteration).matmul();
    const Kernel &following = task.instructions(2 * iteration + 1).kernel();
    EXPECT_EQ(following.arguments(0), matmul.out());
    EXPECT_EQ(following.arguments(1), matmul.epilogue().bias());
    EXPECT_EQ(following.arguments(2), matmul.epilogue().preactivation());
    EXPECT_EQ(following.arguments(3), matmul.epilogue().out());
    EXPECT_EQ(getBuffer(matmul.epilogue().out()).offset(),
              getBuffer(epilogue.out()).offset() + static_cast<uint64_t>(iteration) * (1 << 20));
  }
}
