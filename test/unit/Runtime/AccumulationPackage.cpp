//===- AccumulationPackage.cpp - a package that accumulates steps, made by hand -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a package with gradient accumulation over steps and micro-batches for any sizes, without the compiler: the
// network is that of TestPackage.h.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "TestPackage.h"
#include "meshwright/runtime/SchemaVersion.h"
#include <map>
#include <tuple>

using namespace meshwright;
using namespace meshwright::test;

namespace {

constexpr int64_t rows = 8, depth = 4, columns = 8;

/// The properties that distinguish the times of an update: whether a micro-batch is the first or last of its step, and
/// of all steps of the update.
struct Time {
  bool firstOfStep, lastOfStep, first, last;
  auto key() const { return std::tuple(firstOfStep, lastOfStep, first, last); }
};

class AccumulationBuilder {
public:
  /// The serial program takes the batch whole.
  AccumulationBuilder(Program &program, const AccumulationOptions &options, bool isSerial)
      : options(options), isSerial(isSerial), builder(program), program(program) {
    if (isSerial) {
      this->options.dp = this->options.tp = 1;
      this->options.microBatches = 1;
    }
    m = rows / this->options.dp / this->options.microBatches;
    n = columns / this->options.tp;
  }

  void make() {
    addBuffers();
    // In this order an item that goes on in the next step keeps its place before those of later micro-batches.
    for (uint32_t microBatch = 0; microBatch != options.microBatches; ++microBatch)
      for (uint32_t step = 0; step != options.steps; ++step)
        addTime(step, microBatch);
    program.add_variable_buffers(w);
    program.add_variable_buffers(accumulator);
    program.add_input_buffers(x);
    for (uint32_t output : {loss, gradient, total})
      program.add_output_buffers(static_cast<int32_t>(output));
  }

private:
  void addBuffers() {
    w = builder.addBuffer("w", {depth, n});
    accumulator = builder.addBuffer("accumulator/w", {depth, n});
    ones = builder.addBuffer("ones", {m, n});
    builder.addConstant(ones, 0);
    for (int64_t size : {m * depth, m * n, depth * n, int64_t(1)})
      addSize(size);
    builder.endPersistent();
    x = builder.addBuffer("x", {rows / options.dp, depth});
    slice = builder.addBuffer("", {m, depth});
    microBatchBuffer = builder.addBuffer("", {}, I32);
    y = builder.addBuffer("y", {m, n});
    loss = builder.addBuffer("loss", {});
    partLoss = builder.addBuffer("", {});
    gradient = builder.addBuffer("grad/w", {depth, n});
    total = builder.addBuffer("total", {});
  }

  void addSize(int64_t size) {
    if (sizes.contains(size))
      return;
    sizes[size] = builder.addBuffer("", {}, I32);
    builder.addConstant(sizes[size], getSizeOffset(size));
  }

  /// An item of the schedule; it belongs to the one before where nothing but the step differs.
  void addTime(uint32_t step, uint32_t microBatch) {
    bool firstOfStep = microBatch == 0, lastOfStep = microBatch + 1 == options.microBatches;
    Time time{firstOfStep, lastOfStep, firstOfStep && step == 0, lastOfStep && step + 1 == options.steps};
    auto [entry, isNew] = tasks.try_emplace(time.key(), program.tasks_size());
    if (isNew)
      addTask(time);
    for (ScheduleItem &item : *program.mutable_schedule())
      if (item.task() == entry->second && item.micro_batch() == microBatch && item.end_step() == step)
        return item.set_end_step(step + 1);
    ScheduleItem *item = program.add_schedule();
    item->set_task(entry->second);
    item->set_micro_batch(microBatch);
    item->set_first_step(step);
    item->set_end_step(step + 1);
  }

  void addTask(const Time &time) {
    builder.addTask(time.last ? "last" : time.first ? "first" : "middle");
    builder.addMicroBatch(microBatchBuffer);
    builder.addKernel("test_slice", {sizes[m * depth], x, microBatchBuffer, slice});
    builder.addMatmul("y", slice, w, y, m, n, depth, {depth, 1});
    builder.addKernel("test_sum", {sizes[m * n], y, time.firstOfStep ? loss : partLoss});
    if (!time.firstOfStep)
      builder.addKernel("test_add", {sizes[1], loss, partLoss, loss});
    if (time.lastOfStep && !isSerial)
      builder.addAllReduce("loss", loss, 1, {0, 1}, 1);
    builder.addMatmul("grad/w", slice, ones, time.first && !time.last ? accumulator : gradient, depth, n, m,
                      {1, depth});
    if (!time.first)
      builder.addKernel("test_add", {sizes[depth * n], accumulator, gradient, time.last ? gradient : accumulator});
    if (!time.last)
      return;
    if (!isSerial)
      builder.addAllReduce("grad/w", gradient, depth * n, {0}, 2);
    builder.addKernel("test_update", {sizes[depth * n], gradient, w});
    builder.addKernel("test_sum", {sizes[depth * n], gradient, total});
    if (!isSerial)
      builder.addAllReduce("total", total, 1, {1}, 3);
  }

  AccumulationOptions options;
  bool isSerial;
  ProgramBuilder builder;
  Program &program;
  int64_t m, n;
  uint32_t w, accumulator, ones, x, slice, microBatchBuffer, y, loss, partLoss, gradient, total;
  /// Buffers that hold a number of elements.
  std::map<int64_t, uint32_t> sizes;
  std::map<decltype(Time().key()), uint32_t> tasks;
};

void describeValues(Package &package, const AccumulationOptions &options) {
  for (const char *name : {"w", "accumulator/w"}) {
    Variable *variable = package.add_variables();
    describe(variable, name, {depth, columns});
    addSplit(variable->mutable_placement()->mutable_dims(1), 1, columns, columns / options.tp);
  }
  package.mutable_variables(0)->mutable_init()->set_kind(Initializer::NORMAL);
  package.mutable_variables(0)->mutable_init()->set_b(0.5);
  package.mutable_variables(1)->set_kind(Variable::ACCUMULATOR);
  package.mutable_variables(1)->mutable_placement()->add_partial(0);
  Port *x = package.add_inputs();
  describe(x, "x", {rows, depth});
  addSplit(x->mutable_placement()->mutable_dims(0), 0, rows, rows / options.dp);
  describe(package.add_outputs(), "loss", {});
  package.mutable_outputs(0)->set_result(true);
  describe(package.add_outputs(), "grad/w", {depth, columns});
  *package.mutable_outputs(1)->mutable_placement() = package.variables(0).placement();
  describe(package.add_outputs(), "total", {});
  for (int output : {1, 2})
    package.mutable_outputs(output)->set_at_update(options.steps > 1);
  package.mutable_metrics()->set_loss("loss");
  package.mutable_metrics()->set_grad_norm("total");
  package.mutable_metrics()->set_tokens_per_step(rows);
}

} // namespace

Package meshwright::test::makeAccumulationPackage(const AccumulationOptions &options) {
  Package package;
  package.set_version(runtime::schemaVersion);
  package.set_accumulation_steps(options.steps);
  package.set_micro_batches(options.microBatches);
  for (auto [name, size] : {std::pair("dp", options.dp), std::pair("tp", options.tp)}) {
    Axis *axis = package.add_axes();
    axis->set_name(name);
    axis->set_size(size);
  }
  describeValues(package, options);
  AccumulationBuilder(*package.add_programs(), options, false).make();
  for (int64_t rank = 0; rank != options.dp * options.tp; ++rank)
    package.add_program_of_rank(0);
  AccumulationBuilder(*package.mutable_serial(), options, true).make();
  addLibraries(package);
  return package;
}
