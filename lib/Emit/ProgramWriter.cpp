//===- ProgramWriter.cpp - writes the program of one rank -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States where variables, inputs and results are, then writes a task for every variant of the function.
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"
#include "BufferTable.h"
#include "ScheduleWriter.h"
#include "TaskWriter.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

static LogicalResult addVariables(func::FuncOp func, ArrayRef<net::VariableOp> variables, BufferTable &buffers,
                                  Program &program) {
  for (net::VariableOp variable : variables) {
    FailureOr<int64_t> buffer = buffers.addVariable(func, variable);
    if (failed(buffer))
      return failure();
    program.add_variable_buffers(*buffer);
  }
  // Variables that do not outlive the step are memory of the program, not variables of the package.
  for (auto variable : func->getParentOfType<ModuleOp>().getOps<net::VariableOp>())
    if (dist::kWithinStepAttr.isOn(variable) && failed(buffers.addVariable(func, variable)))
      return failure();
  return success();
}

static void addInputs(ArrayRef<func::FuncOp> variants, BufferTable &buffers, Program &program) {
  func::FuncOp func = variants.front();
  for (BlockArgument argument : func.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!dist::holds(func, dist::getOn(argument))) {
      program.add_input_buffers(-1);
      continue;
    }
    auto offset = dist::kOffsetAttr.getOfArgument(func, number);
    auto name = net::kNameAttr.getOfArgument(func, number);
    uint32_t buffer =
        buffers.add(dist::getTensorType(argument.getType()), offset.getInt(), name ? name.getValue() : StringRef());
    program.add_input_buffers(buffer);
    for (func::FuncOp variant : variants)
      buffers.set(variant.getArgument(number), buffer);
  }
}

/// Programs for several times have common, fixed places for their results.
static void addFixedOutputs(ArrayRef<func::FuncOp> variants, BufferTable &buffers, Program &program) {
  func::FuncOp last = dist::getResultFunction(variants);
  auto places = dist::kOutputsAttr.get(last);
  for (auto [index, type] : llvm::enumerate(last.getResultTypes())) {
    auto name = net::kNameAttr.getOfResult(last, index);
    program.add_output_buffers(places[index] < 0 ? -1
                                                 : buffers.add(cast<RankedTensorType>(type), places[index],
                                                               name ? name.getValue() : StringRef()));
  }
}

static LogicalResult addTask(func::FuncOp func, BufferTable &buffers, Tables &tables, Program &program) {
  Task &task = *program.add_tasks();
  task.set_name(getTaskName(func));
  FailureOr<net::LoopNest> nest = net::LoopNest::find(func.getBody().front());
  if (failed(nest))
    return failure();
  buffers.enter(*nest);
  TaskWriter writer(func, *nest, buffers, tables, program, task);
  for (Operation &op : func.getBody().front())
    if (failed(writer.add(op)))
      return failure();
  return success();
}

LogicalResult emit::writeProgram(ArrayRef<func::FuncOp> variants, ArrayRef<net::VariableOp> variables, Tables &tables,
                                 Program &program) {
  func::FuncOp func = variants.front();
  auto arena = dist::kArenaBytesAttr.get(func);
  auto persistent = dist::kPersistentBytesAttr.get(func);
  if (!arena || !persistent || !dist::kVariablesAttr.isOn(func))
    return func.emitError() << "function has no places in an arena; it has not been through Schedule";
  program.set_arena_bytes(arena.getInt());
  program.set_persistent_bytes(persistent.getInt());
  if (auto host = dist::kHostArenaBytesAttr.get(func))
    program.set_host_arena_bytes(host.getInt());
  BufferTable buffers(program);
  if (failed(addVariables(func, variables, buffers, program)))
    return failure();
  addInputs(variants, buffers, program);
  if (dist::kOutputsAttr.isOn(func))
    addFixedOutputs(variants, buffers, program);
  for (func::FuncOp variant : variants)
    if (failed(addTask(variant, buffers, tables, program)))
      return failure();
  return writeSchedule(variants, program);
}
