//===- Passes.td - places in memory ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_MEMORY_PASSES_TD
#define MESHWRIGHT_MEMORY_PASSES_TD

include "meshwright/Strategy/FieldOption.td"
include "mlir/Pass/PassBase.td"

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
    %f = dist.copy %0 to device : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
    …
    %old = dist.wait %f : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
    %1 = dist.kernel(%old, %g) { … } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %new = dist.copy %1 to host : (tensor<4xf32>) -> tensor<4xf32>
    net.assign @m, %new : tensor<4xf32>
    ```
  }];
  let options = [
    FieldOption<"prefetch", "prefetch", Offload_prefetch>,
    FieldOption<"maxInFlight", "max-in-flight", Offload_max_in_flight>,
    FieldOption<"maxLive", "max-live-megabytes", Offload_max_live_megabytes>,
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

#endif
