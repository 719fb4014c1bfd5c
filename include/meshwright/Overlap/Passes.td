//===- Passes.td - communication beside computation -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OVERLAP_PASSES_TD
#define MESHWRIGHT_OVERLAP_PASSES_TD

include "meshwright/Strategy/FieldOption.td"
include "mlir/Pass/PassBase.td"

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
    %f = dist.collective c_allgather(%t) axes ["dp"] : (tensor<2xf32>) -> !dist.handle<tensor<4xf32>>
    …
    %g = dist.wait %f : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
    %y = dist.kernel(%g) { … } : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let options = [
    FieldOption<"bucketSize", "bucket-megabytes", Zero_bucket_megabytes>,
    FieldOption<"maxInFlight", "max-in-flight", Zero_max_in_flight>,
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
    %f = dist.collective c_reducescatter sum(%0) axes ["dp"] : (tensor<4xf32>) -> !dist.handle<tensor<2xf32>>
    …
    %1 = dist.wait %f : (!dist.handle<tensor<2xf32>>) -> tensor<2xf32>
    %2 = dist.kernel(%1) { … } : (tensor<2xf32>) -> tensor<2xf32>
    ```
  }];
  let options = [
    FieldOption<"bucketSize", "bucket-megabytes", Zero_bucket_megabytes>,
    FieldOption<"maxInFlight", "max-in-flight", Zero_max_in_flight>,
    FieldOption<"maxLive", "max-live-megabytes", Zero_max_live_megabytes>,
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
    %f = dist.collective c_allgather(%w) axes ["dp"] {dist.on = {micro = array<i64: 0>}, dist.once, …} : (tensor<2xf32>) -> !dist.handle<tensor<4xf32>>
    %1 = dist.wait %f : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
    // becomes, with %3 in the place of %1
    %1 = dist.wait %f {dist.on = {micro = array<i64: 0>}} : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
    net.assign @"kept/w", %1 {dist.on = {micro = array<i64: 0>}} : tensor<4xf32>
    %2 = net.read @"kept/w" : tensor<4xf32>
    %3 = dist.either %1 on {micro = array<i64: 0>} else %2 : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numKept", "kept", "Values that later slices read in a variable">];
}

#endif
