//===- Passes.td - passes of Complete -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COMPLETE_PASSES_TD
#define MESHWRIGHT_COMPLETE_PASSES_TD

include "meshwright/Strategy/FieldOption.td"
include "mlir/Pass/PassBase.td"

def SeparateSumsPass : Pass<"dist-complete-separate-sums", "::mlir::ModuleOp"> {
  let summary = "separates the contributions of pipeline stages to a sum";
  let description = [{
    A scatter of one stage that adds into a value of another stage adds into zeros instead, and the two are
    added. The contribution of the other stage then is a value of its own: it is accumulated over the
    micro-batches where it is computed, and sent once.

    Example: the gradient of a table that stage 0 gathers from, and stage 1 multiplies with.
    ```mlir
    %0 = net.scatter add %head, %ids, %rows <…> {dist.stage = 0, net.name = "grad/table"}
    // becomes
    %1 = net.scatter add %zeros, %ids, %rows <…> {dist.stage = 0}
    %0 = net.add %head, %1 {dist.stage = 0, net.name = "grad/table"}
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numSeparated", "separated", "Number of contributions that were separated">];
}

def WidenSumsPass : Pass<"dist-complete-widen-sums", "::mlir::ModuleOp"> {
  let summary = "makes ranks round sums of 16-bit floats once, after reduction";
  let description = [{
    The kernel of a reduction of floats of 16 bits or fewer computes a sum or a product in f32 and rounds it
    once. The reduction becomes a reduction in f32 with a conversion after it, which no partial sum passes:
    ranks reduce their parts in f32. On one rank the bits stay the same. Sums that become gradients are left
    alone: `communicate` states the type of their reduction.

    Example:
    ```mlir
    %0 = net.reduce sum %x dims = [0] : tensor<8x2xf16> -> tensor<2xf16>
    // becomes
    %1 = net.convert %x : tensor<8x2xf16> -> tensor<8x2xf32>
    %2 = net.reduce sum %1 dims = [0] : tensor<8x2xf32> -> tensor<2xf32>
    %0 = net.convert %2 : tensor<2xf32> -> tensor<2xf16>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numWidened", "widened", "Number of reductions that were widened">];
}

def PropagatePass : Pass<"dist-complete-propagate", "::mlir::ModuleOp"> {
  let summary = "gives every value a placement, one mesh axis at a time";
  let description = [{
    Starts from the mappings of arguments and variables (axes that they do not mention are replicated) and of
    annotated results (axes that they do not mention are free). Decides for every operation, on every axis,
    which factor is split, whether partial operands pass, or whether it is computed whole. Runs one forward
    and one reverse sweep, and repeats them with the annotations of a second look at the plan: linear in the
    number of operations.

    Writes `dist.results` and `dist.operands` on every operation, `dist.computes` where a result is computed
    in another placement than it is kept in, and `dist.mapping` on the function's results.

    Example: a row-parallel product leaves a partial sum, which is reduced at its first use that needs it whole.
    ```mlir
    %w = net.read @w : tensor<8x4xf32>          // @w: dims = [["tp"], []]
    %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x4xf32>
    // becomes: dist.computes = [partial = sum ["tp"]], dist.results = [replicated]
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
  let statistics = [
    Statistic<"numConversions", "conversions", "Conversions between placements that the plan implies">,
    Statistic<"numReductions", "reductions", "Conversions that reduce a partial value">
  ];
}

def RecomputePass : Pass<"dist-complete-recompute", "::mlir::ModuleOp"> {
  let summary = "recomputes values in backward instead of keeping them";
  let description = [{
    Activation checkpointing. Divides forward into blocks: those that `blocks` and `anchors` name, otherwise
    the scopes that end in a number. The values of a block that are kept for backward form a minimum cut, in
    bytes per rank, between values that may not be recomputed and values that backward reads. Operations after
    the cut are cloned before their first user in backward, with the role `backward`, `net.recomputes` and the
    placements of the original, so that every element has the same bits.

    `policy` states which operations may be recomputed, in addition to those with at most one floating-point operation per
    element, which kernels of backward fuse, except gathers and scatters. Parameters, converted or not, and inputs are
    available anyway.
    - `cut`: operations that make at least 256 KiB on a rank of at most four times as much, at a price: recomputing 48
      floating-point operations costs as much as keeping a byte;
    - `products`: all operations except products;
    - `nothing`: all operations;
    - `cheap`: all operations, at the price of `flops-per-byte`, if that is more. Of all cuts it is the one of the least
      cost, so 0 gives `cut` and a large number `nothing`.

    Operations with a price are in stretches that begin where a scope with a product does whose name ends in a number, unless
    they are in named blocks.

    Values with the rows and columns of an attention's scores are recomputed under every policy, from the operands of its
    products and what its softmax has reduced: `dist-schedule-tile-regions` then computes them by tiles.

    An operation is not cloned if that would repeat an exchange between ranks: its result, or a value computed
    from it, is kept. Nor does backward read a clone where it shares an exchange with forward.
    `repeat-conversions` allows both. The pass also works on serial programs. Values of a loop that backward
    runs in reverse are stacked if they are kept, and otherwise recomputed by the iteration of backward with
    the same number.

    Example: backward of a GELU keeps only the argument; after `--dist-complete-recompute`
    ```mlir
    %t = net.tanh %x {net.recomputed = 1, net.role = #net.role<forward>}
    %1 = net.tanh %x {net.recomputes = 1, net.role = #net.role<backward>}
    %2 = net.multiply %1, %1 {net.role = #net.role<backward>}
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let options = [
    FieldListOption<"blocks", "blocks", Recompute_blocks>,
    FieldListOption<"anchors", "anchors", Recompute_anchors>,
    Option<"policy", "policy", "::meshwright::complete::KeepPolicy", "::meshwright::complete::KeepPolicy::Cut",
           "The values kept of the named blocks, or of all blocks if none is named",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::complete::KeepPolicy::Cut, "cut", "values that take more time to compute again than to keep"),
             clEnumValN(::meshwright::complete::KeepPolicy::Cheap, "cheap", "values that take many operations per byte"),
             clEnumValN(::meshwright::complete::KeepPolicy::Products, "products", "results of products"),
             clEnumValN(::meshwright::complete::KeepPolicy::Nothing, "nothing", "only the inputs of the block"))}]>,
    ListOption<"flopsPerByte", "flops-per-byte", "int64_t", "The operations that a byte is worth, for `cheap`; default: 128">,
    ListOption<"ends", "ends", "unsigned",
               "The 256ths of forward at which these numbers end, in order; after the last one a byte is worth nothing; default: 256">,
    FieldOption<"repeatConversions", "repeat-conversions", Recompute_repeat_conversions>,
    Option<"scoresOnly", "scores-only", "bool", "false", "Let cut recompute nothing but scores">,
    FieldOption<"tiles", "tiles", Tiles_enabled>,
    FieldOption<"scoreBytes", "score-bytes", Tiles_min_bytes>
  ];
  let statistics = [
    Statistic<"numClones", "clones", "Operations that backward recomputes">,
    Statistic<"numFlops", "flops", "Floating-point operations of the clones, before Partition">,
    Statistic<"numKept", "kept", "Values of forward that are kept for backward">
  ];
}

def FetchInLoopsPass : Pass<"dist-complete-fetch-in-loops", "::mlir::ModuleOp"> {
  let summary = "fetches stacked parameters and reduces their gradients in every iteration";
  let description = [{
    A parameter whose parts are only read by iterations of loops stays in its storage placement before the
    loop; every iteration fetches its own part. The part of a stack of gradients that an iteration computes is
    reduced by that iteration. A rank then holds the parameters of one iteration at a time, as with unrolled
    layers. Stacks whose iterations are split over ranks, or that one rank owns, are fetched and reduced
    whole.

    Example: with @w kept as `[[], ["dp"]]`, and computed with whole
    ```mlir
    %w = net.read @w {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<3x4xf32>
    %i = net.loop count = 3
    %wi = net.take %w in %i {dist.results = [#dist.mapping<dims = [[]]>], ...} : tensor<3x4xf32> -> tensor<4xf32>
    // becomes the following, where the users of %wi still read it whole
    %w = net.read @w {dist.results = [#dist.mapping<dims = [[], ["dp"]]>]} : tensor<3x4xf32>
    %i = net.loop count = 3
    %wi = net.take %w in %i {dist.results = [#dist.mapping<dims = [["dp"]]>], ...} : tensor<3x4xf32> -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let statistics = [
    Statistic<"numFetches", "fetches", "Parameters that iterations fetch">,
    Statistic<"numReductions", "reductions", "Stacks whose parts iterations reduce">
  ];
}

def SegmentPass : Pass<"dist-complete-segment", "::mlir::ModuleOp"> {
  let summary = "decides when parameters are fetched";
  let description = [{
    A parameter whose storage placement differs from its compute placement is fetched at its reads. This pass
    cuts forward and backward into segments and gives every segment its own read of every parameter that it
    uses, before the first use. Layout operations between the read and its users are cloned, so that no value
    derived from a parameter by layout alone is alive across segments. A later segment uses the read of an
    earlier one if the parameter is to be kept.

    Writes `dist.segment` on every operation of forward and backward, and on reads `dist.fetch_at`, the
    segment with whose beginning the fetch starts, and `dist.reason`. Leaves programs without such parameters
    alone.

    With `backward-axes` the value that forward fetched is split over these axes right after its last use in
    forward, and backward gathers from there.

    Example: `--dist-complete-segment="megabytes=32 prefetch=2"` splits a read that forward and backward share into
    ```mlir
    %0 = net.read @w {dist.fetch_at = 0, dist.segment = 0, ...} : tensor<8x4xf32>
    %1 = net.dot %x, %0 ... {dist.segment = 0}
    %2 = net.read @w {dist.fetch_at = 0, dist.segment = 1, ...} : tensor<8x4xf32>
    %3 = net.dot %g, %2 ... {dist.segment = 1}
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let options = [
    FieldOption<"segmentSize", "megabytes", Segment_megabytes>,
    FieldListOption<"anchors", "anchors", Segment_anchors>,
    FieldOption<"prefetch", "prefetch", Zero_prefetch>,
    FieldOption<"keepWithin", "keep-within-megabytes", Zero_keep_within_megabytes>,
    FieldOption<"maxLive", "max-live-megabytes", Zero_max_live_megabytes>,
    FieldOption<"maxInFlight", "max-in-flight", Zero_max_in_flight>,
    FieldListOption<"backwardAxes", "backward-axes", Zero_backward_axes>
  ];
  let statistics = [
    Statistic<"numSegments", "segments", "Segments of forward and backward">,
    Statistic<"numFetches", "fetches", "Fetches of a parameter for a segment">,
    Statistic<"numKept", "kept", "Uses of a parameter by a segment that reuse an earlier fetch">
  ];
}

def VerifyPass : Pass<"dist-complete-verify", "::mlir::ModuleOp"> {
  let summary = "checks that every value has a placement";
  let description = [{
    The verifier of Complete: afterwards every value has a placement that resolves against the mesh, and every
    operation states how it reads its operands.

    Example: `dist-opt model.mlir --dist-complete-propagate --dist-complete-verify`
  }];
}

#endif
