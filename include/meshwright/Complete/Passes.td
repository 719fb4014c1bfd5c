//===- Passes.td - passes of Complete -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COMPLETE_PASSES_TD
#define MESHWRIGHT_COMPLETE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SeparateSumsPass : Pass<"dist-complete-separate-sums", "::mlir::ModuleOp"> {
  let summary = "lets every stage of a pipeline add up by itself what it contributes to a sum";
  let description = [{
    A scatter of one stage that adds into what another stage makes adds into zeros instead, and the two are added up.
    The contribution of the other stage is then a value of its own: it is added up over the micro-batches where it is made, and sent once.

    Example: the gradient of a table that stage 0 gathers from, and stage 1 multiplies with.
    ```mlir
    %0 = net.scatter add %head, %ids, %rows <…> {dist.stage = 0, net.name = "grad/table"}
    // becomes
    %1 = net.scatter add %zeros, %ids, %rows <…> {dist.stage = 0}
    %0 = net.add %head, %1 {dist.stage = 0, net.name = "grad/table"}
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numSeparated", "separated", "Number of contributions that became values of their own">];
}

def WidenSumsPass : Pass<"dist-complete-widen-sums", "::mlir::ModuleOp"> {
  let summary = "lets ranks round sums of 16-bit floats after they added their parts up";
  let description = [{
    The kernel of a reduction of floats of 16 bits or fewer takes a sum or a product in f32 and rounds it once. The
    reduction becomes one of f32, with a conversion after it, which no partial sum passes: ranks reduce their parts in f32.
    On one rank the bits stay the same. Sums that become gradients are left: `communicate` says in which type those travel.

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
  let statistics = [Statistic<"numWidened", "widened", "Number of reductions that became wide">];
}

def PropagatePass : Pass<"dist-complete-propagate", "::mlir::ModuleOp"> {
  let summary = "gives every value a placement, one mesh axis at a time";
  let description = [{
    Starts from the mappings of arguments and variables (an axis that they do not mention is replicated) and of
    annotated results (an axis that they do not mention is free), and decides for every operation, on every axis,
    which factor is split, or that partial operands pass, or that it is computed whole. One forward sweep, one reverse
    sweep, and the same once more with what the second look annotated: linear in the number of operations.

    Writes `dist.results` and `dist.operands` on every operation, `dist.computes` where a result leaves the
    computation in another placement than it is kept in, and `dist.mapping` on the function's results.

    Example: a row-parallel product leaves a partial sum, which is reduced where it is first needed whole.
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
  let summary = "lets backward compute again what is not worth its memory";
  let description = [{
    Forward is divided into blocks: those that `blocks` and `anchors` name, else the scopes that end in a number. Of each, what is kept
    for backward is a minimum cut in bytes of a rank, between what may not be computed again and what backward reads. What
    lies between is cloned in front of its first user in backward, with the role `backward`, `net.recomputes` and the
    placements of its origin, so that every element has the same bits.

    `policy` says what may be computed again:

    - `cut`: operations that take at most one floating-point operation per element, which kernels of backward do beside
      their own, but not gathers and scatters. Parameters, converted or not, and inputs are there anyway;
    - `products`: all but products;
    - `cheap`: all that takes at most 128 operations for each byte that it would keep;
    - `nothing`: all.

    An operation whose clone would make ranks exchange data once more is not cloned: what it makes is kept, or what is
    made of it. Neither is a clone read where backward shares an exchange with forward. `repeat-conversions` allows both.

    Works on serial programs, too. Of the trips of a loop that backward goes through again, what is kept is stacked, and the rest is computed by the
    trip of backward with the same number.

    Example: of a GELU backward keeps the argument; after `--dist-complete-recompute`
    ```mlir
    %t = net.tanh %x {net.recomputed = 1, net.role = #net.role<forward>}
    %1 = net.tanh %x {net.recomputes = 1, net.role = #net.role<backward>}
    %2 = net.multiply %1, %1 {net.role = #net.role<backward>}
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let options = [
    ListOption<"blocks", "blocks", "std::string", "Globs of the scopes that are blocks">,
    ListOption<"anchors", "anchors", "std::string",
               "SCOPE.in, SCOPE.out or the name of a value: what lies between two consecutive ones is a block">,
    Option<"policy", "policy", "::meshwright::complete::KeepPolicy", "::meshwright::complete::KeepPolicy::Cut",
           "What is kept of a block that is named; of all, where none is",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::complete::KeepPolicy::Cut, "cut", "what cheap operations do not lead to"),
             clEnumValN(::meshwright::complete::KeepPolicy::Cheap, "cheap", "what takes many operations for its bytes"),
             clEnumValN(::meshwright::complete::KeepPolicy::Products, "products", "what products make"),
             clEnumValN(::meshwright::complete::KeepPolicy::Nothing, "nothing", "what the block reads"))}]>,
    Option<"elsewhere", "elsewhere", "::meshwright::complete::KeepPolicy", "::meshwright::complete::KeepPolicy::Cut",
           "What is kept of blocks that are not named, where some are",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::complete::KeepPolicy::Cut, "cut", "what cheap operations do not lead to"),
             clEnumValN(::meshwright::complete::KeepPolicy::Cheap, "cheap", "what takes many operations for its bytes"),
             clEnumValN(::meshwright::complete::KeepPolicy::Products, "products", "what products make"),
             clEnumValN(::meshwright::complete::KeepPolicy::Nothing, "nothing", "what the block reads"))}]>,
    Option<"repeatConversions", "repeat-conversions", "bool", "false",
           "Whether clones may make ranks exchange data once more">
  ];
  let statistics = [
    Statistic<"numClones", "clones", "Operations that backward computes again">,
    Statistic<"numFlops", "flops", "What they cost, before Partition">,
    Statistic<"numKept", "kept", "Values of forward that are kept for backward">
  ];
}

def FetchInLoopsPass : Pass<"dist-complete-fetch-in-loops", "::mlir::ModuleOp"> {
  let summary = "lets every trip of a loop fetch its part of a stack of parameters, and reduce that of the gradient";
  let description = [{
    A parameter that only trips of loops read, a part each, stays as it is kept in front of them: a trip fetches its part. What a trip puts
    into a stack of gradients is reduced by that trip. So a rank holds one trip's part at a time, as it does of layers that are written out.
    Stacks of which ranks keep different trips, or one rank everything, are fetched and reduced whole.

    Example: with @w kept as `[[], ["dp"]]`, and computed with whole
    ```mlir
    %w = net.read @w {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<3x4xf32>
    %i = net.loop count = 3
    %wi = net.take %w in %i {dist.results = [#dist.mapping<dims = [[]]>], ...} : tensor<3x4xf32> -> tensor<4xf32>
    // becomes, and whatever reads %wi reads it whole as before
    %w = net.read @w {dist.results = [#dist.mapping<dims = [[], ["dp"]]>]} : tensor<3x4xf32>
    %i = net.loop count = 3
    %wi = net.take %w in %i {dist.results = [#dist.mapping<dims = [["dp"]]>], ...} : tensor<3x4xf32> -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let statistics = [
    Statistic<"numFetches", "fetches", "Parameters that trips fetch">,
    Statistic<"numReductions", "reductions", "Stacks that trips reduce their part of">
  ];
}

def SegmentPass : Pass<"dist-complete-segment", "::mlir::ModuleOp"> {
  let summary = "decides when which parameters are fetched";
  let description = [{
    A parameter that is kept in another placement than it is computed with is fetched wherever it is read. This pass
    cuts forward and backward into segments and gives every segment a read of its own of every parameter that it uses,
    in front of the first use. Layout operations between the read and its users are cloned, so that nothing made of a
    parameter by layout alone lives across segments. A later segment takes the read of an earlier one where it is to
    be kept.

    Writes `dist.segment` on every operation of forward and backward, and `dist.fetch_at`, the segment with whose
    beginning the fetch starts, and `dist.reason` on the reads. A program without such parameters is left alone.

    With `backward-axes` the value that forward fetched is split over these right behind its last use in forward, and
    backward gathers that.

    Example: `--dist-complete-segment="megabytes=32 prefetch=2"` makes of a read that forward and backward share
    ```mlir
    %0 = net.read @w {dist.fetch_at = 0, dist.segment = 0, ...} : tensor<8x4xf32>
    %1 = net.dot %x, %0 ... {dist.segment = 0}
    %2 = net.read @w {dist.fetch_at = 0, dist.segment = 1, ...} : tensor<8x4xf32>
    %3 = net.dot %g, %2 ... {dist.segment = 1}
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
  let options = [
    Option<"megabytes", "megabytes", "double", "32.0",
           "A segment uses parameters of at most so many megabytes (10^6 bytes); without anchors">,
    ListOption<"anchors", "anchors", "std::string", "SCOPE.in and SCOPE.out: where segments are cut instead">,
    Option<"prefetch", "prefetch", "int64_t", "1", "How many segments ahead a fetch starts">,
    Option<"keepWithin", "keep-within-megabytes", "double", "0.0",
           "A parameter is kept for its next use where at most so much is fetched in between; 0 keeps nothing">,
    Option<"maxLive", "max-live-megabytes", "double", "0.0", "Bound on the fetched parameters alive at once; 0 is none">,
    Option<"maxInFlight", "max-in-flight", "int64_t", "8", "Bound on the launches of fetches that are queued">,
    ListOption<"backwardAxes", "backward-axes", "std::string", "Axes over which alone backward gathers; by default all">
  ];
  let statistics = [
    Statistic<"numSegments", "segments", "Segments of forward and backward">,
    Statistic<"numFetches", "fetches", "Fetches of a parameter for a segment">,
    Statistic<"numKept", "kept", "Uses of a parameter by a segment that take an earlier fetch">
  ];
}

def VerifyPass : Pass<"dist-complete-verify", "::mlir::ModuleOp"> {
  let summary = "checks that every value has a placement";
  let description = [{
    The gate of Complete: afterwards there is no value without a placement that resolves against the mesh, and
    every operation says how it reads its operands.

    Example: `dist-opt model.mlir --dist-complete-propagate --dist-complete-verify`
  }];
}

#endif
