//===- OffloadPackage.cpp - a package with two memories -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OffloadPackage.h"
#include "meshwright/runtime/SchemaVersion.h"
#include "test/unit/Runtime/ProgramBuilder.h"
#include "test/unit/Runtime/TestPackage.h"
#include <optional>

using namespace meshwright;
using namespace meshwright::test;

static constexpr int64_t count = 96;

static void addCopy(ProgramBuilder &builder, uint32_t from, uint32_t to, std::optional<uint32_t> tag) {
  Copy *copy = builder.add("copy")->mutable_copy();
  copy->set_from(from);
  copy->set_to(to);
  copy->set_start(tag.has_value());
  copy->set_tag(tag.value_or(0));
}

Package meshwright::test::makeOffloadPackage() {
  Package package;
  package.set_version(runtime::schemaVersion);
  package.set_accumulation_steps(1);
  Variable *m = package.add_variables();
  describe(m, "m", {count});
  m->mutable_init();
  describe(package.add_inputs(), "x", {count});
  Port *y = package.add_outputs();
  describe(y, "y", {count});
  y->set_result(true);
  package.add_program_of_rank(0);
  Program &program = *package.add_programs();
  ProgramBuilder builder(program);
  builder.addTask("step");
  uint32_t size = builder.addBuffer("", {}, I32);
  builder.endPersistent();
  uint32_t x = builder.addBuffer("x", {count}), fetched = builder.addBuffer("fetched", {count});
  uint32_t twice = builder.addBuffer("twice", {count}), sum = builder.addBuffer("sum", {count});
  uint32_t result = builder.addBuffer("y", {count}), kept = builder.addBuffer("", {count});
  uint32_t host = builder.addBuffer("m", {count});
  program.mutable_buffers(static_cast<int>(host))->set_memory(HOST);
  program.mutable_buffers(static_cast<int>(host))->set_offset(0);
  program.set_host_arena_bytes(program.buffers(static_cast<int>(host)).bytes());
  builder.addConstant(size, getSizeOffset(count));
  addCopy(builder, host, fetched, 0);
  builder.addKernel("test_add", {size, x, x, twice});
  builder.add("wait")->mutable_copy_wait()->set_tag(0);
  builder.addKernel("test_add", {size, fetched, twice, sum});
  addCopy(builder, sum, host, 1);
  addCopy(builder, sum, kept, std::nullopt);
  builder.addKernel("test_add", {size, fetched, twice, result});
  builder.add("wait")->mutable_copy_wait()->set_tag(1);
  program.add_schedule()->set_end_step(1);
  program.add_variable_buffers(static_cast<int32_t>(host));
  program.add_input_buffers(static_cast<int32_t>(x));
  program.add_output_buffers(static_cast<int32_t>(result));
  addLibraries(package);
  return package;
}
