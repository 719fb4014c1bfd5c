//===- Passes.td - programs per stage and rank ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PIPELINING_PASSES_TD
#define MESHWRIGHT_PIPELINING_PASSES_TD

include "mlir/Pass/PassBase.td"

def CutTasksPass : Pass<"dist-schedule-cut-tasks", "mlir::ModuleOp"> {
  let summary = "cuts a pipelined step into one function per task";
  let description = [{
    On a mesh with an axis of stages, divides the function into one function per action (`dist.action`): the forward of a
    stage (`0F`), its backward (`0B`) or its two halves (`0I`, `0W`: the gradient that the previous stage waits for, and
    those that only the update reads), each transfer between stages (`send7`), and the update. A value that passes from
    one action to another is kept in a variable within the step, with as many slots (`dist.slots`) as micro-batches are
    alive at once. Values made of inputs and constants alone are recomputed where they are read, unless that takes long;
    so are layout operations. The update reads a sum over micro-batches from its accumulator.

    `dist.schedule` lists the actions of the ranks in order: tasks as in `dist.task_order`, and between them the starts
    and waits of transfers. No order needs a buffer: a transfer takes place once both sides have started it.

    Example: the forward of the first of two stages, on a mesh with `dist.stage_axis = "pp"`
    ```mlir
    func.func @step_0F(%x: tensor<4x8xf32>) attributes {dist.action = "0F"} {
      %0 = net.read @w : tensor<8x8xf32>
      %1 = net.dot %x, %0 … {dist.stage = 0} : …
      net.assign @"within/h", %1 : tensor<4x8xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numCrossings", "crossings", "Values that one action makes and another reads">];
}

def AssignTimesPass : Pass<"dist-schedule-assign-times", "mlir::ModuleOp"> {
  let summary = "restricts operations to the times at which they are needed";
  let description = [{
    Applies to meshes with time axes. An operation is needed when a variable is assigned or a result returned
    (`dist.during`) that depends on it. `dist.on` states these times beside the ranks; operations that are never needed
    are removed. Values that exist from the start (variables, constants, coordinates) have no times.

    A collective that runs once in a step (`dist.once`), and the operations that only it reads, run in the first slice
    that needs it. `dist-schedule-keep-across-slices` passes its result on to the other slices.

    A sum over times becomes the addend at the first time and an addition at the others.

    Example: over four steps, the last of which updates
    ```mlir
    %1 = dist.accumulate %0, %g over "accumulation" : tensor<4xf32>
    // becomes
    %s = net.add %0, %g {dist.on = {accumulation = array<i64: 1, 2, 3>}} : tensor<4xf32>
    %1 = dist.either %g on {accumulation = array<i64: 0>} else %s : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numTimed", "timed", "Operations that run at some of the times">];
}

def SpecializePass : Pass<"dist-schedule-specialize", "mlir::ModuleOp"> {
  let summary = "makes one program for each set of ranks that run the same operations";
  let description = [{
    If an operation, a variable or an argument has `dist.on` or a support, divides the function into several: one for
    each combination of coordinates that are named together everywhere, and one for all that are not named. Each states
    its coordinates in `dist.on` and contains only operations that its ranks run and whose results are used. Programs of
    the same ranks at different times are variants of one program: with gradient accumulation over eight steps, those of
    the first step, the last step and the six between. Collectives are kept even if their results are unused, so that
    all members of a group issue the same ones. A collective whose root is another rank has its part `elsewhere`; a
    result that only other ranks return is `dist.absent`. All members give a collective the same number (`dist.tag`).

    Example: of two ranks, in the program of the first
    ```mlir
    %0 = net.read @w {dist.on = {zero = array<i64: 1>}} : tensor<4xf32>
    %1 = dist.collective c_broadcast(%0) roots [1] axes ["zero"] : (tensor<4xf32>) -> tensor<4xf32>
    // becomes
    %1 = dist.collective c_broadcast() roots [1] elsewhere [0] axes ["zero"] {dist.tag = 0} : () -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let statistics = [Statistic<"numPrograms", "programs", "Number of programs made">];
}

#endif
