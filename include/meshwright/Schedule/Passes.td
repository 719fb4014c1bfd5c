//===- Passes.td - the passes of Schedule ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PASSES_TD
#define MESHWRIGHT_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ElideEmptyPass : Pass<"dist-schedule-elide-empty", "mlir::ModuleOp"> {
  let summary = "makes constants of what has no elements";
  let description = [{
    An operation whose results have no elements is replaced by constants, conversions between placements among them.

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
    Gathering along an inner dimension becomes gathering along a new outermost one and a transposition that puts the parts where
    they belong; scattering and exchanging likewise. Local conversions become operations of `net` on the rank's coordinate.
    What is added is fused with its neighbours like any other operation. Parts of uneven size travel padded.

    Example: `dist.c_allgather` of `tensor<4x3xf32>` along dimension 1 over two ranks gathers to `tensor<2x4x3xf32>`, which is transposed to
    `4x2x3` and reshaped to `4x6`.
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
}

def LowerLoopsPass : Pass<"dist-schedule-lower-loops", "mlir::ModuleOp"> {
  let summary = "leaves of loops what is memory and what differs from trip to trip";
  let description = [{
    A sum over trips becomes a carried value that begins at zero. Who computes with the number of the trip takes it from all numbers in
    a row. What is the same in every trip comes in front of the loop. In a body carried values come first, and what
    becomes of them last.

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
  let statistics = [Statistic<"numHoisted", "hoisted", "Operations that are the same in every trip">];
}

def CutTasksPass : Pass<"dist-schedule-cut-tasks", "mlir::ModuleOp"> {
  let summary = "makes a function of every task of a pipeline";
  let description = [{
    Where the mesh has an axis of stages, one function becomes many, each of one work (`dist.work`): the forward of a stage (`0F`), its
    backward (`0B`) or the two halves of it (`0I`, `0W`: what the previous stage waits for, and what only the update does), what is sent from
    stage to stage (`send7`), and the update. What goes from one to another is in a variable within the step, with as many slots
    (`dist.slots`) as micro-batches are there at once. What is made of inputs and constants alone is made again where it is read, unless it
    takes long; layout operations too. A sum over micro-batches is read in its accumulator by the update.

    `dist.schedule` says in which order the ranks do their works: tasks in that of `dist.task_order`, and between them sends, which are
    started and waited for. No order needs a buffer: a send takes place when both sides have come to it.

    Example: of a network of two stages on a mesh with `dist.stage_axis = "pp"`, the function of the first
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
  let summary = "lets operations run at the times at which they are needed";
  let description = [{
    Where the mesh has axes of times. An operation is needed when what it makes is: when a variable is assigned or a result
    returned (`dist.during`), or when an operation that is needed reads it. `dist.on` states the times beside the ranks; what
    nobody needs is dropped. Values that are there from the start (variables, constants, coordinates) have no times.

    A collective that is done once in a step (`dist.once`) and what only it reads run in the first slice that needs it.
    `dist-schedule-keep-across-slices` leaves its result to the others.

    A sum over times becomes the addend at the first of them and an addition at the others.

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
  let summary = "groups operations into kernels and products of the library";
  let description = [{
    Elementwise operations, reductions and what lies between them become `dist.kernel`s by a greedy, linear clustering. Layout
    operations go into every kernel that reads through them, and cost nothing there; products read through them by
    strides and become `dist.matmul`s. Convolutions of floats stay as they are, on operands that are contiguous. What has to be contiguous in memory and is not is copied by a kernel.

    With `library-epilogues` the sum of a product that nothing else reads and something smaller is stored where several kernels read it, and not computed
    again from the product: a library may make it without the product ever being in memory (`dist-schedule-annotate-epilogues`).

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
                        "Whether the library computes convolutions, as that of CPUs does; else kernels do.">,
                 Option<"libraryEpilogues", "library-epilogues", "bool", /*default=*/"false",
                        "Whether the library may add a bias to a product, as that of GPUs does.">];
  let statistics = [Statistic<"numKernels", "kernels", "Number of kernels formed">,
                    Statistic<"numProducts", "products", "Number of products and convolutions for the library">,
                    Statistic<"numCopies", "copies", "Number of layout operations that had to be computed">];
}

def AnnotateEpiloguesPass : Pass<"dist-schedule-annotate-epilogues", "mlir::ModuleOp"> {
  let summary = "says which kernels a library may compute with the product in front of them";
  let description = [{
    A product of f32, bf16 or f16 gets `dist.epilogue` where the kernel right behind it only adds a vector along its last dimension, takes the GELU by the tanh
    approximation, or both, however that is written; the sum may be stored beside its GELU. The product itself has no other reader, unless it is what the
    GELU is taken of. What the product reads keeps its place until that kernel is over.

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
  let statistics = [Statistic<"numEpilogues", "epilogues", "Number of products with an epilogue">];
}

def CommunicateInLoopsPass : Pass<"dist-schedule-communicate-in-loops", "mlir::ModuleOp"> {
  let summary = "starts what a trip of a loop fetches when it begins, and waits for what it reduces when it ends";
  let description = [{
    - What a trip takes of stacks and fetches, in whatever layout, starts at the begin of the body, in the order of the first readers: a launch
      for each `bucket-megabytes` of one kind, type and group. It is waited for in front of its first reader.
    - What a trip reduces and only stacks of the loop take leaves in buckets likewise, behind the operation that makes the last part, and is
      waited for at the end of the body; what is left then is issued there.
    - Any other collective of a body stays where it stands.

    At most `max-in-flight` launches of either sort are started and not waited for.

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
    Option<"maxInFlight", "max-in-flight", "int64_t", "8", "Launches that are started and not waited for, at most">,
  ];
  let statistics = [Statistic<"numLaunches", "launches", "Collectives that are issued">,
                    Statistic<"numParts", "parts", "Values that they move">,
                    Statistic<"numStarts", "starts", "Collectives that are started and waited for elsewhere">];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
}

def CommunicatePass : Pass<"dist-schedule-communicate", "mlir::ModuleOp"> {
  let summary = "starts collectives early, several in one launch, and waits for them late";
  let description = [{
    Works on the program that all ranks have in common, in the order of its operations, so that the ranks of a group issue
    the same list.

    - Gradients whose reduction only the update waits for leave in buckets, in the order in which they are made: one launch for each
      `bucket-megabytes` of one kind, reduction, type and group, behind the operation that makes its last part; what
      is left, at the end of backward. A further reduction over other axes takes the first one's flights. A bucket is waited
      for when the one after the next starts, or when backward is over; then comes what waits for it.
    - New values that are only assigned or returned are gathered in buckets likewise, and waited for at the end of the step.
    - The parameters that one segment fetches (`dist.fetch_at`) are one launch for each kind, type and group, in front of the first
      operation of the segment with which it starts.
    - Any other collective starts where it stands; where nothing is computed before its first use it stays whole.

    At most `max-in-flight` launches are started and not waited for: the oldest are waited for first. Launches of several parts
    name them in `dist.parts`.

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
    Option<"maxInFlight", "max-in-flight", "int64_t", "8", "Launches that are started and not waited for, at most">,
    Option<"maxLiveMegabytes", "max-live-megabytes", "double", "0", "Fetched parameters that are alive at once, in megabytes (10^6 bytes); 0: no bound">,
    Option<"lateReductions", "late-reductions", "bool", "false", "Whether gradients are reduced when backward is over">,
  ];
  let statistics = [Statistic<"numLaunches", "launches", "Collectives that are issued">,
                    Statistic<"numParts", "parts", "Values that they move">,
                    Statistic<"numStarts", "starts", "Collectives that are started and waited for elsewhere">];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
}

def KeepAcrossSlicesPass : Pass<"dist-schedule-keep-across-slices", "mlir::ModuleOp"> {
  let summary = "keeps for later slices the fetches that one slice does";
  let description = [{
    A collective that is done once in a step (`dist.once`) runs in the first slice that needs it, which `dist-schedule-assign-times` states.
    A variable within the step takes each of its results that other slices read, and those slices read the variable. Collectives in flight are
    kept by their wait. It runs after `dist-schedule-communicate`, which orders the first slice as if there were no other.

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
    Where an operation, a variable or an argument has `dist.on` or a support, the function becomes several: one for each
    combination of coordinates that are named together everywhere, and one for all that are not named. Each states its coordinates
    in `dist.on` and has only what its ranks run and somebody uses. Programs of the same ranks at other times are variants of one:
    of a merge of eight steps those of the first, the last and all between. Collectives are kept whether somebody uses them or not: all members of a group issue
    the same. One whose root is another rank has its part `elsewhere`; a result that others return is `dist.absent`. All members number
    a collective alike (`dist.tag`).

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
    A variable with `dist.memory` host is in the memory of the host. Whoever reads one gets a copy on the device, started `prefetch`
    kernels, products and collectives ahead; reads so near to each other that the next copy would start before the one before is over share
    one. A new value is copied to the host as soon as it is made, and waited for `prefetch` operations behind. Copies are made in the program of
    each rank by itself, and change the order of nothing else.

    At most `max-in-flight` copies are started and not waited for. With `max-live-megabytes` a fetch starts later where it does not fit;
    that an operation alone reads more is an error.

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
    Option<"prefetch", "prefetch", "int64_t", "2", "Operations that a fetch starts ahead, and a write-back may take; 0: who reads or writes waits">,
    Option<"maxInFlight", "max-in-flight", "int64_t", "8", "Copies that are started and not waited for, at most">,
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
    The arena begins with what persists from step to step: variables, inputs, constants and coordinates. Behind it every other value has
    an offset that no value shares while it lives. A variable is updated in place where nothing reads its old value later. Variables that the
    host keeps are in an arena of its own.

    Programs of the same ranks at different times have what persists in the same places, results among it, because a result may be
    asked for after a step that does not make it. Their arena is as large as the largest needs.

    States `dist.offsets` on operations (one per result, in bytes), `dist.offset` on arguments, and on the function `dist.arena_bytes`,
    `dist.persistent_bytes`, `dist.host_arena_bytes` where there is one, and `dist.variables`, where there are several times `dist.outputs` too:
    the places of results, −1 for others'.

    Example: `net.exponential` after `net.negate` in different kernels get offsets 64 bytes apart, and the first is free again afterwards.
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyPass : Pass<"dist-schedule-verify", "mlir::ModuleOp"> {
  let summary = "checks that no two live values overlap in memory";
  let description = [{
    Afterwards every operation is one that the runtime executes or part of a kernel, every value has a place inside the arena, values that
    live at the same time lie apart but where one is declared to be in the other's place, and the old value of a variable is not read after it was overwritten.
    That holds in the memory of the device and in that of the host, from which nothing but a copy reads and to which nothing but a copy writes.
    Programs of different ranks issue the same collectives in each of their groups, in an order in which all can take place.
  }];
}

#endif
