//===- Passes.td - the passes of Schedule ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PASSES_TD
#define MESHWRIGHT_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ElideEmptyPass : Pass<"dist-schedule-elide-empty", "mlir::ModuleOp"> {
  let summary = "replaces empty values by constants";
  let description = [{
    Replaces every operation whose results have no elements, including conversions between placements, by constants.

    Example:
    ```mlir
    %1 = net.slice %0 starts = [0, 2] limits = [4, 2] steps = [1, 1] : tensor<4x2xf32> -> tensor<4x0xf32>
    // becomes
    %1 = net.constant dense<> : tensor<4x0xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numElided", "elided", "Operations whose results have no elements">];
}

def LowerConversionsPass : Pass<"dist-schedule-lower-conversions", "mlir::ModuleOp"> {
  let summary = "makes collectives act on contiguous memory";
  let description = [{
    Rewrites a gather along an inner dimension as a gather along a new outermost one and a transposition that moves the
    parts to their places; scatters and exchanges likewise. Local conversions become operations of `net` on the rank's
    coordinate. The added operations are fused with their neighbours like any other operation. Parts of uneven size are
    sent padded.

    Example: `dist.c_allgather` of `tensor<4x3xf32>` along dimension 1 over two ranks gathers to `tensor<2x4x3xf32>`, which is transposed to
    `4x2x3` and reshaped to `4x6`.
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
}

def LowerLoopsPass : Pass<"dist-schedule-lower-loops", "mlir::ModuleOp"> {
  let summary = "lowers sums, indices and invariants of loops";
  let description = [{
    Turns a sum over iterations into a carried value that begins at zero, and the iteration number into an element of a
    constant with all numbers. Moves loop-invariant operations before the loop. Orders the body: carried values first,
    their next values last.

    Example:
    ```mlir
    %i = net.loop count = 3
    %x = net.exponential %a : tensor<4xf32>
    %c = net.carry %b in %i : tensor<4xf32>
    %y = net.multiply %x, %c : tensor<4xf32>
    %s = net.total %y in %i : tensor<4xf32>
    %n = net.next %y for %c : tensor<4xf32>
    net.end_loop %i
    // becomes
    %x = net.exponential %a : tensor<4xf32>
    %z = net.constant dense<0.0> : tensor<4xf32>
    %i = net.loop count = 3
    %d = net.carry %z in %i : tensor<4xf32>
    %c = net.carry %b in %i : tensor<4xf32>
    %y = net.multiply %x, %c : tensor<4xf32>
    %t = net.add %d, %y : tensor<4xf32>
    %s = net.next %t for %d : tensor<4xf32>
    %n = net.next %y for %c : tensor<4xf32>
    net.end_loop %i
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numHoisted", "hoisted", "Loop-invariant operations">];
}

def CutTasksPass : Pass<"dist-schedule-cut-tasks", "mlir::ModuleOp"> {
  let summary = "cuts a pipelined step into one function per task";
  let description = [{
    On a mesh with an axis of stages, divides the function into one function per work (`dist.work`): the forward of a
    stage (`0F`), its backward (`0B`) or its two halves (`0I`, `0W`: the gradient that the previous stage waits for, and
    those that only the update reads), each transfer between stages (`send7`), and the update. A value that passes from
    one work to another is kept in a variable within the step, with as many slots (`dist.slots`) as micro-batches are
    alive at once. Values made of inputs and constants alone are recomputed where they are read, unless that takes long;
    so are layout operations. The update reads a sum over micro-batches from its accumulator.

    `dist.schedule` lists the works of the ranks in order: tasks as in `dist.task_order`, and between them the starts
    and waits of transfers. No order needs a buffer: a transfer takes place once both sides have started it.

    Example: the forward of the first of two stages, on a mesh with `dist.stage_axis = "pp"`
    ```mlir
    func.func @step_0F(%x: tensor<4x8xf32>) attributes {dist.work = "0F"} {
      %0 = net.read @w : tensor<8x8xf32>
      %1 = net.dot %x, %0 … {dist.stage = 0} : …
      net.assign @"within/h", %1 : tensor<4x8xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numCrossings", "crossings", "Values that one work makes and another reads">];
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
    %1 = net.accumulate %0, %g over "merge" : tensor<4xf32>
    // becomes
    %s = net.add %0, %g {dist.on = {merge = array<i64: 1, 2, 3>}} : tensor<4xf32>
    %1 = dist.either %g on {merge = array<i64: 0>} else %s : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numTimed", "timed", "Operations that run at some of the times">];
}

def FormKernelsPass : Pass<"dist-schedule-form-kernels", "mlir::ModuleOp"> {
  let summary = "groups operations into kernels and library GEMMs";
  let description = [{
    Clusters elementwise operations, reductions and the layout operations between them into `dist.kernel`s, greedily and
    in linear time. Layout operations join every kernel that reads through them and cost nothing there; GEMMs read
    through them by strides and become `dist.matmul`s. Convolutions of floats stay operations on contiguous operands. A
    kernel copies an operand that has to be contiguous and is not.

    With `library-epilogues`, the sum of a smaller value and a GEMM's result without other readers is stored if several
    kernels read it, instead of recomputed from the GEMM's result: a library may then compute it without storing that
    result (`dist-schedule-annotate-epilogues`).

    Example:
    ```mlir
    %1 = net.transpose %0 dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    %2 = net.dot %x, %1 batch = [] x [] contract = [1] x [0] : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x4xf32>
    // becomes
    %2 = dist.matmul %x at 0 [8, 1], %0 at 0 [1, 8] to [4, 1] batch [] m 2 n 4 k 8 : …
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [Option<"libraryConvolutions", "library-convolutions", "bool", /*default=*/"true",
                        "True if the library computes convolutions, as on CPUs; otherwise kernels do.">,
                 Option<"libraryEpilogues", "library-epilogues", "bool", /*default=*/"false",
                        "True if the library may add a bias to a GEMM, as on GPUs.">];
  let statistics = [Statistic<"numKernels", "kernels", "Number of kernels formed">,
                    Statistic<"numProducts", "products", "Number of GEMMs and convolutions for the library">,
                    Statistic<"numCopies", "copies", "Number of layout operations that had to be computed">];
}

def AnnotateEpiloguesPass : Pass<"dist-schedule-annotate-epilogues", "mlir::ModuleOp"> {
  let summary = "marks kernels that a library may compute as a GEMM's epilogue";
  let description = [{
    Marks a GEMM of f32, bf16 or f16 with `dist.epilogue` if the kernel directly after it only adds a vector along its
    last dimension, applies GELU by the tanh approximation, or both, in whatever form these are written; the sum may be
    stored beside its GELU. The GEMM's result must have no other reader, unless it is itself the input of the GELU. The
    GEMM's operands keep their places until the kernel is over.

    Example:
    ```mlir
    %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 {dist.epilogue} : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
    %1 = dist.kernel(%0, %b) {
    ^bb0(%x0: tensor<2x8xf32>, %b0: tensor<8xf32>):
      %2 = net.broadcast %b0 dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
      %3 = net.add %x0, %2 : tensor<2x8xf32>
      dist.yield %3 : tensor<2x8xf32>
    } : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numEpilogues", "epilogues", "Number of GEMMs with an epilogue">];
}

def CommunicateInLoopsPass : Pass<"dist-schedule-communicate-in-loops", "mlir::ModuleOp"> {
  let summary = "overlaps the collectives of a loop's body with computation";
  let description = [{
    - Fetches of an iteration from stacks, in whatever layout, start at the beginning of the body, in the order of their
      first readers: one launch per `bucket-megabytes` of one kind, type and group. Each is waited for before its first
      reader.
    - Reductions whose results only stacks of the loop take start in buckets, too, after the operation that makes the
      last part, and are waited for at the end of the body, where the remaining ones are issued.
    - Any other collective of a body stays at its place.

    At most `max-in-flight` launches of either sort are in flight.

    Example:
    ```mlir
    %i = net.loop count = 3
    %t = net.take %w in %i : tensor<3x2xf32> -> tensor<2xf32>
    %f = dist.collective c_allgather(%t) axes ["dp"] : (tensor<2xf32>) -> !dist.flight<tensor<4xf32>>
    …
    %g = dist.wait %f : (!dist.flight<tensor<4xf32>>) -> tensor<4xf32>
    %y = dist.kernel(%g) { … } : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let options = [
    Option<"bucketMegabytes", "bucket-megabytes", "double", "32", "Bytes of a launch, in megabytes (10^6); 0: a launch for each value">,
    Option<"maxInFlight", "max-in-flight", "int64_t", "8", "Largest number of launches in flight">,
  ];
  let statistics = [Statistic<"numLaunches", "launches", "Collectives that are issued">,
                    Statistic<"numParts", "parts", "Values that they move">,
                    Statistic<"numStarts", "starts", "Collectives that are started and waited for elsewhere">];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
}

def CommunicatePass : Pass<"dist-schedule-communicate", "mlir::ModuleOp"> {
  let summary = "starts collectives early, several in one launch, and waits for them late";
  let description = [{
    Works on the common program of all ranks, in the order of its operations, so that the ranks of a group issue the
    same list.

    - Gradients whose reduction only the update reads are reduced in buckets, in the order in which they are made: one
      launch per `bucket-megabytes` of one kind, reduction, type and group, after the operation that makes its last
      part; the remaining ones start at the end of backward. A further reduction over other axes takes the async handles
      of the first. A bucket is waited for when the one after the next starts, or when backward is over; then its
      readers follow.
    - New values that are only assigned or returned are gathered in buckets, too, and waited for at the end of the step.
    - The parameters that one segment fetches (`dist.fetch_at`) are one launch per kind, type and group, before the
      first operation of the segment with which it starts.
    - Any other collective starts at its place; if nothing is computed before its first use, it stays one blocking
      operation.

    At most `max-in-flight` launches are in flight: before a further one, the oldest is waited for. Launches of several
    parts name them in `dist.parts`.

    Example: with role `optimize` for `%2`, and between them operations that do not need `%1`
    ```mlir
    %1 = dist.collective c_reducescatter sum(%0) axes ["dp"] : (tensor<4xf32>) -> tensor<2xf32>
    %2 = dist.kernel(%1) { … } : (tensor<2xf32>) -> tensor<2xf32>
    // becomes
    %f = dist.collective c_reducescatter sum(%0) axes ["dp"] : (tensor<4xf32>) -> !dist.flight<tensor<2xf32>>
    …
    %1 = dist.wait %f : (!dist.flight<tensor<2xf32>>) -> tensor<2xf32>
    %2 = dist.kernel(%1) { … } : (tensor<2xf32>) -> tensor<2xf32>
    ```
  }];
  let options = [
    Option<"bucketMegabytes", "bucket-megabytes", "double", "32", "Bytes of a bucket, in megabytes (10^6); 0: a launch for each value">,
    Option<"maxInFlight", "max-in-flight", "int64_t", "8", "Largest number of launches in flight">,
    Option<"maxLiveMegabytes", "max-live-megabytes", "double", "0", "Fetched parameters that are alive at once, in megabytes (10^6 bytes); 0: no bound">,
    Option<"lateReductions", "late-reductions", "bool", "false", "True to reduce gradients only after backward">,
  ];
  let statistics = [Statistic<"numLaunches", "launches", "Collectives that are issued">,
                    Statistic<"numParts", "parts", "Values that they move">,
                    Statistic<"numStarts", "starts", "Collectives that are started and waited for elsewhere">];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
}

def KeepAcrossSlicesPass : Pass<"dist-schedule-keep-across-slices", "mlir::ModuleOp"> {
  let summary = "keeps the fetches of one slice for later slices";
  let description = [{
    A collective that runs once in a step (`dist.once`) is in the first slice that needs it, which
    `dist-schedule-assign-times` states. This pass stores each of its results that other slices read in a variable
    within the step, and lets those slices read the variable. The result of an asynchronous collective is stored after
    its wait. The pass runs after `dist-schedule-communicate`, which orders the first slice as if there were no other.

    Example: in four slices
    ```mlir
    %f = dist.collective c_allgather sum(%w) axes ["dp"] {dist.on = {micro = array<i64: 0>}, dist.once, …} : (tensor<2xf32>) -> !dist.flight<tensor<4xf32>>
    %1 = dist.wait %f : (!dist.flight<tensor<4xf32>>) -> tensor<4xf32>
    // becomes, with %3 in the place of %1
    %1 = dist.wait %f {dist.on = {micro = array<i64: 0>}} : (!dist.flight<tensor<4xf32>>) -> tensor<4xf32>
    net.assign @"kept/w", %1 {dist.on = {micro = array<i64: 0>}} : tensor<4xf32>
    %2 = net.read @"kept/w" : tensor<4xf32>
    %3 = dist.either %1 on {micro = array<i64: 0>} else %2 : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numKept", "kept", "Values that later slices read in a variable">];
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
    %1 = dist.collective c_broadcast sum(%0) roots [1] axes ["zero"] : (tensor<4xf32>) -> tensor<4xf32>
    // becomes
    %1 = dist.collective c_broadcast sum() roots [1] elsewhere [0] axes ["zero"] {dist.tag = 0} : () -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let statistics = [Statistic<"numPrograms", "programs", "Number of programs made">];
}

def MaterializeCopiesPass : Pass<"dist-schedule-materialize-copies", "mlir::ModuleOp"> {
  let summary = "copies variables of the host where they are read and assigned";
  let description = [{
    A variable with `dist.memory` host is in the memory of the host. Operations read a copy of it on the device, which
    is started `prefetch` kernels, GEMMs and collectives ahead; reads share a copy if a second one would start before
    the first is over. A new value is copied to the host as soon as it is made, and waited for `prefetch` operations
    later. Copies are planned for each rank's program by itself and change the order of nothing else.

    At most `max-in-flight` copies are in flight. With `max-live-megabytes`, a fetch that does not fit starts later; an
    operation that alone reads more is an error.

    Example: with `net.variable optimizer_state @m : tensor<4xf32> {dist.memory = #dist<memory host>}` and an operation in front
    ```mlir
    %0 = net.read @m : tensor<4xf32>
    …
    %1 = dist.kernel(%0, %g) { … } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    net.assign @m, %1 : tensor<4xf32>
    // becomes
    %0 = net.read @m : tensor<4xf32>
    %f = dist.copy %0 to device : (tensor<4xf32>) -> !dist.flight<tensor<4xf32>>
    …
    %old = dist.wait %f : (!dist.flight<tensor<4xf32>>) -> tensor<4xf32>
    %1 = dist.kernel(%old, %g) { … } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %new = dist.copy %1 to host : (tensor<4xf32>) -> tensor<4xf32>
    net.assign @m, %new : tensor<4xf32>
    ```
  }];
  let options = [
    Option<"prefetch", "prefetch", "int64_t", "2", "Operations that a fetch starts ahead and a write-back may take; 0: copies block">,
    Option<"maxInFlight", "max-in-flight", "int64_t", "8", "Largest number of copies in flight">,
    Option<"maxLiveMegabytes", "max-live-megabytes", "double", "0", "Bytes on the device that are fetched and still read, or not written back, in megabytes (10^6 bytes); 0: no bound">,
  ];
  let statistics = [Statistic<"numFetches", "fetches", "Copies to the device">,
                    Statistic<"numWriteBacks", "write-backs", "Copies to the host">,
                    Statistic<"numStarts", "starts", "Copies that are started and waited for elsewhere">];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
}

def AssignBuffersPass : Pass<"dist-schedule-assign-buffers", "mlir::ModuleOp"> {
  let summary = "gives every value its place in one arena per rank and memory";
  let description = [{
    The arena begins with the values that persist from step to step: variables, inputs, constants and coordinates. After
    them, every other value has an offset, and values that are alive at the same time do not overlap. A variable is
    updated in place if nothing reads its old value later. Variables kept on the host have an arena of their own.

    Programs of the same ranks at different times have persistent values in the same places. Results are among these,
    because a result may be read after a step that does not make it. All have an arena of the largest size that one of
    them needs.

    States `dist.offsets` on operations (one per result, in bytes), `dist.offset` on arguments, and on the function
    `dist.arena_bytes`, `dist.persistent_bytes`, `dist.variables`, `dist.host_arena_bytes` if the host keeps variables,
    and, if there are programs for several times, `dist.outputs`: the places of results, −1 for those of other ranks.

    Example: `net.exponential` after `net.negate` in different kernels get offsets 64 bytes apart, and the first is free again afterwards.
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyPass : Pass<"dist-schedule-verify", "mlir::ModuleOp"> {
  let summary = "checks that no two live values overlap in memory";
  let description = [{
    Checks that every operation is one that the runtime executes or part of a kernel, that every value has a place
    inside the arena, that values alive at the same time do not overlap unless one is declared to overwrite the other,
    and that the old value of a variable is not read after it was overwritten. The same holds in the host's memory,
    which only copies read and write. Programs of different ranks issue the same collectives in each of their groups, in
    an order in which all can take place.
  }];
}

#endif
