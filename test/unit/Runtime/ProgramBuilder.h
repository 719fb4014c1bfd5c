//===- ProgramBuilder.h - programs made by hand -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_PROGRAMBUILDER_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_PROGRAMBUILDER_H

#include "package.pb.h"
#include <string>
#include <vector>

namespace meshwright::test {

/// Lays buffers one after another, and adds instructions to the last task.
class ProgramBuilder {
public:
  /// `root` is that of all collectives.
  explicit ProgramBuilder(Program &program, uint32_t root = 0) : program(program), root(root) {}

  /// Begins a task.
  void addTask(const std::string &name) {
    task = program.add_tasks();
    task->set_name(name);
  }

  uint32_t addBuffer(const std::string &name, std::vector<int64_t> shape, DType type = F32) {
    Buffer *buffer = program.add_buffers();
    uint64_t bytes = 4;
    for (int64_t size : shape) {
      buffer->add_shape(size);
      bytes *= size;
    }
    buffer->set_name(name);
    buffer->set_dtype(type);
    buffer->set_bytes(bytes);
    buffer->set_offset(end);
    end += (bytes + 63) / 64 * 64;
    program.set_arena_bytes(end);
    return program.buffers_size() - 1;
  }
  /// A buffer of the step's own with a place for each of several micro-batches.
  uint32_t addSlots(const std::string &name, std::vector<int64_t> shape, uint32_t slots) {
    uint32_t index = addBuffer(name, std::move(shape));
    Buffer &buffer = *program.mutable_buffers(static_cast<int>(index));
    buffer.set_slots(slots);
    buffer.set_slot_bytes(end - buffer.offset());
    end += (slots - 1) * buffer.slot_bytes();
    program.set_arena_bytes(end);
    return index;
  }
  void endPersistent() { program.set_persistent_bytes(end); }
  void addConstant(uint32_t buffer, uint64_t offset) {
    Constant *constant = program.add_constants();
    constant->set_buffer(buffer);
    constant->set_file_offset(offset);
  }
  Instruction *add(const std::string &name) {
    Instruction *instruction = task->add_instructions();
    instruction->set_name(name);
    instruction->set_location("hand.mlir:" + std::to_string(task->instructions_size()));
    return instruction;
  }
  void addKernel(const std::string &symbol, std::vector<uint32_t> arguments) {
    Kernel *kernel = add(symbol)->mutable_kernel();
    kernel->set_symbol(symbol);
    kernel->set_outputs(1);
    for (uint32_t argument : arguments)
      kernel->add_arguments(argument);
  }
  void addMatmul(const std::string &name, uint32_t lhs, uint32_t rhs, uint32_t out, int64_t m, int64_t n, int64_t k,
                 std::pair<int64_t, int64_t> lhsStrides) {
    Matmul *matmul = add(name)->mutable_matmul();
    matmul->set_lhs(lhs);
    matmul->set_rhs(rhs);
    matmul->set_out(out);
    matmul->set_lhs_dtype(F32);
    matmul->set_rhs_dtype(F32);
    matmul->set_out_dtype(F32);
    matmul->set_m(m);
    matmul->set_n(n);
    matmul->set_k(k);
    matmul->add_lhs_strides(lhsStrides.first);
    matmul->add_lhs_strides(lhsStrides.second);
    matmul->add_rhs_strides(n);
    matmul->add_rhs_strides(1);
    matmul->add_out_strides(n);
    matmul->add_out_strides(1);
  }
  /// Buffers that are absent are -1.
  Collective *addCollective(Collective::Kind kind, const std::string &name, int32_t in, int32_t out, uint64_t count,
                            std::vector<uint32_t> axes, uint32_t tag) {
    Collective *collective = add(name)->mutable_collective();
    collective->set_kind(kind);
    for (uint32_t axis : axes)
      collective->add_axes(axis);
    collective->set_dtype(F32);
    collective->set_tag(tag);
    CollectivePart *part = collective->add_parts();
    part->set_name(name);
    part->set_count(count);
    if (in >= 0)
      part->set_in(in);
    if (out >= 0)
      part->set_out(out);
    part->set_root(root);
    return collective;
  }
  void addAllReduce(const std::string &name, uint32_t buffer, uint64_t count, std::vector<uint32_t> axes,
                    uint32_t tag) {
    int32_t place = static_cast<int32_t>(buffer);
    addCollective(Collective::ALL_REDUCE, name, place, place, count, std::move(axes), tag);
  }
  void addWait(const std::string &name, uint32_t tag) { add(name)->mutable_wait()->set_tag(tag); }
  void addMicroBatch(uint32_t buffer) { add("micro-batch")->mutable_micro_batch()->set_buffer(buffer); }
  void addCoordinate(uint32_t buffer, uint32_t axis) {
    Coordinate *coordinate = add("coordinate")->mutable_coordinate();
    coordinate->set_axis(axis);
    coordinate->set_buffer(buffer);
  }

private:
  Program &program;
  Task *task = nullptr;
  uint32_t root;
  uint64_t end = 0;
};

inline void addSplit(DimSplits *dim, uint32_t axis, int64_t extent, int64_t stride) {
  Split *split = dim->add_splits();
  split->set_axis(axis);
  split->set_extent(extent);
  split->set_stride(stride);
}

template <typename Value> void describe(Value *value, const std::string &name, std::vector<int64_t> shape) {
  value->set_name(name);
  value->set_dtype(F32);
  for (int64_t size : shape) {
    value->add_shape(size);
    value->mutable_placement()->add_dims();
  }
}

} // namespace meshwright::test

#endif
