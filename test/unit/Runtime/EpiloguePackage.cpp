//===- EpiloguePackage.cpp - packages of products with epilogues ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpiloguePackage.h"
#include "ProgramBuilder.h"
#include "TestPackage.h"
#include "meshwright/runtime/SchemaVersion.h"

using namespace meshwright;
using namespace meshwright::test;

static constexpr int64_t rows = 4, columns = 8, few = 4;

/// A GEMM and the kernel after it, which is the epilogue of the GEMM; `kept` is -1 without GELU.
static void addProduct(ProgramBuilder &builder, Program &program, uint32_t lhs, uint32_t rhs, int64_t n, uint32_t bias,
                       int64_t kept, uint32_t out, const std::string &kernel) {
  uint32_t product = builder.addBuffer("", {rows, n});
  builder.addMatmul("product", lhs, rhs, product, rows, n, columns, {columns, 1});
  Task &task = *program.mutable_tasks(0);
  Matmul &matmul = *task.mutable_instructions(task.instructions_size() - 1)->mutable_matmul();
  std::vector<uint32_t> arguments = {product, bias, out};
  matmul.mutable_epilogue()->set_bias(bias);
  matmul.mutable_epilogue()->set_out(out);
  if (kept >= 0) {
    matmul.mutable_epilogue()->set_activation(Epilogue::GELU_TANH);
    matmul.mutable_epilogue()->set_preactivation(static_cast<uint32_t>(kept));
    arguments.insert(arguments.begin() + 2, static_cast<uint32_t>(kept));
  }
  builder.addKernel(kernel, arguments);
  task.mutable_instructions(task.instructions_size() - 1)->mutable_kernel()->set_outputs(kept >= 0 ? 2 : 1);
}

Package meshwright::test::makeEpiloguePackage() {
  Package package;
  package.set_version(runtime::schemaVersion);
  package.set_accumulation_steps(1);
  Program &program = *package.add_programs();
  ProgramBuilder builder(program);
  auto addVariable = [&](const std::string &name, std::vector<int64_t> shape) {
    Variable *variable = package.add_variables();
    describe(variable, name, shape);
    variable->mutable_init();
    uint32_t buffer = builder.addBuffer(name, shape);
    program.add_variable_buffers(static_cast<int32_t>(buffer));
    return buffer;
  };
  uint32_t w = addVariable("w", {columns, columns}), v = addVariable("v", {columns, few});
  uint32_t b = addVariable("b", {columns}), c = addVariable("c", {few});
  builder.endPersistent();
  describe(package.add_inputs(), "x", {rows, columns});
  uint32_t x = builder.addBuffer("x", {rows, columns});
  program.add_input_buffers(static_cast<int32_t>(x));
  Port *result = package.add_outputs();
  describe(result, "y", {rows, few});
  result->set_result(true);
  package.add_program_of_rank(0);
  builder.addTask("step");
  uint32_t h = builder.addBuffer("h", {rows, columns}), k = builder.addBuffer("k", {rows, columns});
  uint32_t g = builder.addBuffer("g", {rows, columns}), last = builder.addBuffer("last", {rows, few});
  uint32_t y = builder.addBuffer("y", {rows, few});
  addProduct(builder, program, x, w, columns, b, -1, h, "test_bias");
  addProduct(builder, program, h, w, columns, b, k, g, "test_bias_gelu");
  addProduct(builder, program, g, v, few, c, last, y, "test_bias_gelu_few");
  program.add_output_buffers(static_cast<int32_t>(y));
  program.add_schedule()->set_end_step(1);
  addLibraries(package);
  return package;
}
