//===- make-test-package.cpp - writes a package made by hand --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: make-test-package FOLDER [KIND]
//
//===----------------------------------------------------------------------===//

#include "TestPackage.h"
#include "meshwright/runtime/SchemaVersion.h"
#include <cstdio>
#include <functional>
#include <map>

using namespace meshwright;
using namespace meshwright::test;

/// Variables of all initializers and types, with placements that leave a rank boxes of them, and nothing else.
static Package makeInitializers() {
  Package package;
  package.set_version(runtime::schemaVersion);
  for (const char *name : {"a", "b"}) {
    Axis *axis = package.add_axes();
    axis->set_name(name);
    axis->set_size(2);
  }
  const std::map<std::string, Initializer::Kind> kinds = {{"constant", Initializer::CONSTANT},
                                                          {"normal", Initializer::NORMAL},
                                                          {"truncated", Initializer::TRUNCATED_NORMAL},
                                                          {"uniform", Initializer::UNIFORM}};
  const std::map<std::string, DType> types = {{"f32", F32}, {"f64", F64}, {"f16", F16}, {"bf16", BF16}};
  for (const auto &[kindName, kind] : kinds)
    for (const auto &[typeName, type] : types) {
      Variable *variable = package.add_variables();
      variable->set_name(kindName + "." + typeName);
      variable->set_dtype(type);
      variable->add_shape(7);
      variable->add_shape(12);
      Split *rows = variable->mutable_placement()->add_dims()->add_splits();
      rows->set_axis(0);
      rows->set_extent(7);
      rows->set_stride(4);
      Split *columns = variable->mutable_placement()->add_dims()->add_splits();
      columns->set_axis(1);
      columns->set_extent(6);
      columns->set_stride(3);
      variable->mutable_init()->set_kind(kind);
      variable->mutable_init()->set_a(0.25);
      variable->mutable_init()->set_b(1.5);
    }
  auto fill = [&](Program *program, int64_t rows, int64_t columns) {
    for (const Variable &variable : package.variables()) {
      program->add_variable_buffers(program->buffers_size());
      Buffer *buffer = program->add_buffers();
      buffer->set_offset(program->arena_bytes());
      buffer->set_dtype(variable.dtype());
      buffer->add_shape(rows);
      buffer->add_shape(columns);
      buffer->set_bytes(rows * columns * 8);
      program->set_arena_bytes(program->arena_bytes() + (rows * columns * 8 + 63) / 64 * 64);
      program->set_persistent_bytes(program->arena_bytes());
    }
  };
  fill(package.add_programs(), 4, 6);
  fill(package.mutable_serial(), 7, 12);
  for (int rank = 0; rank != 4; ++rank)
    package.add_program_of_rank(0);
  return package;
}

/// A variable of 64 MiB in parts on 8 ranks; or in half as many, each on two of them.
static Package makeLarge(bool isReplicated) {
  constexpr int64_t rows = 2048, columns = 8192;
  Package package;
  package.set_version(runtime::schemaVersion);
  Variable *variable = package.add_variables();
  variable->set_name("w");
  variable->set_dtype(F32);
  variable->add_shape(rows);
  variable->add_shape(columns);
  variable->mutable_init()->set_kind(Initializer::NORMAL);
  variable->mutable_init()->set_b(1);
  DimSplits *splits = variable->mutable_placement()->add_dims();
  variable->mutable_placement()->add_dims();
  int64_t left = rows;
  for (uint32_t i : {0, 1}) {
    Axis *axis = package.add_axes();
    axis->set_name(i == 0 ? "a" : "b");
    axis->set_size(i == 0 ? 2 : 4);
    if (i == 0 && isReplicated)
      continue;
    Split *split = splits->add_splits();
    split->set_axis(i);
    split->set_extent(left);
    split->set_stride(left /= axis->size());
  }
  Program *program = package.add_programs();
  program->add_variable_buffers(0);
  Buffer *buffer = program->add_buffers();
  buffer->set_dtype(F32);
  buffer->add_shape(left);
  buffer->add_shape(columns);
  buffer->set_bytes(left * columns * 4);
  program->set_arena_bytes(buffer->bytes());
  program->set_persistent_bytes(buffer->bytes());
  for (int rank = 0; rank != 8; ++rank)
    package.add_program_of_rank(0);
  return package;
}

/// Instructions that lie in scopes, two by two.
static Package makeScopes() {
  Package package = makePackage();
  for (Program &program : *package.mutable_programs())
    for (Task &task : *program.mutable_tasks())
      for (int i = 0; i != task.instructions_size(); ++i) {
        Instruction &instruction = *task.mutable_instructions(i);
        instruction.set_name("net." + std::to_string(i / 2) + ".a\\.b." + instruction.name());
      }
  return package;
}

/// Takes inputs of any value, NaN included.
static Package makeUnbounded() {
  Package package = makePackage();
  for (Port &input : *package.mutable_inputs()) {
    input.clear_min();
    input.clear_max();
  }
  return package;
}

/// More memory than there is.
static Package makeHuge() {
  Package package = makePackage();
  Program &program = *package.mutable_programs(0);
  program.set_arena_bytes(uint64_t(1) << 60);
  Buffer &buffer = *program.add_buffers();
  buffer.set_bytes(program.arena_bytes());
  buffer.set_dtype(F32);
  return package;
}

int main(int argc, char **argv) {
  const std::map<std::string, Fault> faults = {{"none", Fault::None},
                                               {"missing-reduction", Fault::MissingReduction},
                                               {"wrong-scale", Fault::WrongScale},
                                               {"missing-member", Fault::MissingMember},
                                               {"other-count", Fault::OtherCount}};
  const std::map<std::string, std::function<Package()>> others = {
      {"initializers", makeInitializers},
      {"huge-arena", makeHuge},
      {"scopes", makeScopes},
      {"unbounded", makeUnbounded},
      {"large", [] { return makeLarge(false); }},
      {"large-replicated", [] { return makeLarge(true); }},
      {"overlapped", [] { return makePackage(Fault::None, Style::Overlapped); }},
      {"merge", [] { return makeAccumulationPackage(); }},
      {"merge-2x2", [] { return makeAccumulationPackage({2, 2}); }},
      {"merge-4", [] { return makeAccumulationPackage({4, 1}); }},
      {"merge-of-2", [] { return makeAccumulationPackage({2, 1, 2}); }},
      {"merge-of-micro-batches", [] { return makeAccumulationPackage({2, 1, 3, 2}); }},
      {"micro-batches", [] { return makeAccumulationPackage({2, 1, 1, 2}); }},
      {"owned", [] { return makePackage(Fault::None, Style::Owned); }}};
  std::string kind = argc > 2 ? argv[2] : "none";
  if (argc < 2 || (!others.contains(kind) && !faults.contains(kind))) {
    std::fprintf(stderr, "usage: make-test-package FOLDER [KIND]\n");
    return 2;
  }
  Package package = others.contains(kind) ? others.at(kind)() : makePackage(faults.at(kind));
  return writePackage(package, argv[1]) ? 0 : 1;
}
