//===- Passes.td - passes of Train ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TRAIN_PASSES_TD
#define MESHWRIGHT_TRAIN_PASSES_TD

include "meshwright/Strategy/FieldOption.td"
include "mlir/Pass/PassBase.td"

def IndexOneHotsPass : Pass<"dist-train-index-one-hots", "::mlir::ModuleOp"> {
  let summary = "moves rows by position where a network multiplies by one-hot encodings";
  let description = [{
    A product with a one-hot encoding, or with a tensor made of some, such as the one that sends tokens to experts,
    becomes a gather where it is contracted along the encoded dimension, and a scatter along others, if that takes at
    most an eighth of the multiplications. Sums have the same summands but for zeros, in another order; an infinity or
    NaN that is multiplied by zeros alone is no longer part of them. Tensors that nothing reads any more are erased.

    Example:
    ```mlir
    %i = net.iota dim = 1 : tensor<32x1000xi32>
    %p = net.broadcast %ids dims = [0] : tensor<32xi32> -> tensor<32x1000xi32>
    %c = net.compare eq, %p, %i : tensor<32x1000xi32> -> tensor<32x1000xi1>
    %h = net.convert %c : tensor<32x1000xi1> -> tensor<32x1000xf32>
    %x = net.dot %h, %table batch = [] x [] contract = [1] x [0] : tensor<32x1000xf32>, tensor<1000x64xf32> -> tensor<32x64xf32>
    // becomes, with %at the clamped ids and zeros in rows whose id is none of 0 … 999
    %x = net.gather %table, %at <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 1> sizes = [1, 64]
         : tensor<1000x64xf32>, tensor<32x1xi32> -> tensor<32x64xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numReplaced", "replaced", "Products that became gathers and scatters">];
}

def HideScoresPass : Pass<"dist-train-hide-scores", "::mlir::ModuleOp"> {
  let summary = "hides scores by minus infinity";
  let description = [{
    Puts minus infinity in the place of a mask's lowest number, such as -3.4e38 in f32, if every row of scores provably
    has one that is not hidden, as under a causal mask, and a softmax alone reads them. No value that is read changes a
    bit. In exact arithmetic hidden scores then are nothing too, so that a program that leaves them out equals one that
    does not.

    Example:
    ```mlir
    %m = net.select %causal, %s, %lowest : tensor<8x8xi1>, tensor<8x8xf32>
    // becomes, with a constant of minus infinity
    %m = net.select %causal, %s, %infinity : tensor<8x8xi1>, tensor<8x8xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numHidden", "hidden", "Masks by minus infinity">];
}

def AssignPrecisionPass : Pass<"dist-train-assign-precision", "::mlir::ModuleOp"> {
  let summary = "computes in 16 bits where that is accurate enough";
  let description = [{
    Applies to the forward network. Variables, inputs and results keep their types. A parameter is converted
    right after its read, every other value at most once, where it is defined.

    Products are computed in 16 bits. Reductions, exponentials, logarithms, powers, roots and conversions are
    computed in the type in which they are written. All other operations follow their operands: they are
    computed in 16 bits if their operands are; constants take either type if they stay finite.

    `keep` lists exceptions, which stay in the type in which they are written: operations by name (`tanh`) or
    scope (`*.ln_1`), and parameters by name.

    Example: after `--dist-train-assign-precision=compute=bf16`
    ```mlir
    %w = net.read @w : tensor<4x8xf32>
    %narrow = net.convert %w : tensor<4x8xf32> -> tensor<4x8xbf16>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [
    Option<"compute", "compute", "::meshwright::train::ComputeType", "::meshwright::train::ComputeType::Written",
           "The type to compute in",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::train::ComputeType::Written, "written", "those of the network"),
             clEnumValN(::meshwright::train::ComputeType::BF16, "bf16", "16 bits, 8 of them for the exponent"),
             clEnumValN(::meshwright::train::ComputeType::F16, "f16", "16 bits, 5 of them for the exponent"))}]>,
    FieldListOption<"keep", "keep", Precision_keep_f32>
  ];
  let statistics = [
    Statistic<"numNarrow", "narrow", "Operations in 16 bit">,
    Statistic<"numConversions", "conversions", "Values that are converted">
  ];
}

def DeferDivisionsPass : Pass<"dist-train-defer-divisions", "::mlir::ModuleOp"> {
  let summary = "divides the outputs of an attention, not its probabilities";
  let description = [{
    Where a product sums along the rows of a softmax, in f32 or wider, the product takes the exponentials and its result is
    divided by their sums. There are fewer divisions, and the gradient of the divisors is a sum of outputs, not one along
    a row of scores, so that backward can be computed for some columns alone. Operations that move or scale the
    probabilities before the product, such as a dropout, stay. In 16 bits a sum of exponentials would be rounded, and could
    leave the range of f16, so there nothing changes.

    Example:
    ```mlir
    %r = net.broadcast %s dims = [0] : tensor<64xf32> -> tensor<64x64xf32>
    %p = net.divide %e, %r : tensor<64x64xf32>
    %o = net.dot %p, %v batch = [] x [] contract = [1] x [0] : tensor<64x64xf32>, tensor<64x8xf32> -> tensor<64x8xf32>
    // becomes
    %u = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<64x64xf32>, tensor<64x8xf32> -> tensor<64x8xf32>
    %r = net.broadcast %s dims = [0] : tensor<64xf32> -> tensor<64x8xf32>
    %o = net.divide %u, %r : tensor<64x8xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numDeferred", "deferred", "Divisions after a product">];
}

def DifferentiatePass : Pass<"dist-train-differentiate", "::mlir::ModuleOp"> {
  let summary = "appends the gradients of a loss with respect to the parameters";
  let description = [{
    Reverse-mode differentiation of the public function: visits each operation once, from the last to the
    first, and asks it for the cotangents of its operands (`net::DerivativeOpInterface`). The cotangents of a
    value with several uses are added in the reverse order of its uses; those of slices that tile a dimension
    are concatenated. Zero cotangents are not built.

    The operation that computes the gradient of parameter `p.w` gets `net.name = "grad/p.w"`. Appended
    operations have the role `backward` and the scope and location of their forward operation.

    A maximum that a softmax, log-softmax or logsumexp subtracts carries no gradient, because the result does
    not depend on it. A parameter that the loss does not depend on gets a warning and no gradient.

    Example: `loss = sum(w)` gives
    ```mlir
    %g = net.constant {net.name = "grad/w"} dense<1.0> : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"",
           "Name or index of the function result to differentiate; by default its only scalar float result">,
    Option<"seed", "seed", "double", "1.0", "The cotangent of the loss, a factor of every gradient">,
    Option<"lossScale", "loss-scale", "double", "0.0",
           "Loss scale, the value named `loss_scale`; 0 disables loss scaling">,
    Option<"dynamicScale", "dynamic-scale", "bool", "false",
           "Keep the loss scale in a variable that starts at `loss-scale`">,
    FieldListOption<"frozen", "frozen", Model_frozen>
  ];
  let statistics = [
    Statistic<"numGradients", "gradients", "Parameters that got a gradient">,
    Statistic<"numShifts", "shifts", "Subtracted maxima without a gradient">
  ];
}

def FixSumsPass : Pass<"dist-train-fix-sums", "::mlir::ModuleOp"> {
  let summary = "fixes the order in which floats are summed";
  let description = [{
    Gives every sum, product and scatter of floats the number of parts in which its first summed dimension is added up
    (`net.sum_parts`): `parts` of equal size, of which the last may be shorter, unless it would be empty; otherwise 1,
    and then the dimension stays whole on every rank. So does that of a product with batch dimensions whose parts would
    have fewer than 32 terms, and that of a convolution over channels. The mark on the function keeps partial sums from
    passing arithmetic.

    Products of one block that are added become one product, whose parts are those of each, and so do the terms of a
    product with concatenated cotangents. Products, gradients, and sums that are rounded before their reduction
    (`dist.defer_reduction`) round their parts to 16 bits; other sums in 16 bits become sums in f32 that are rounded
    afterwards. A scatter adds into zeros, which are added to its operand. A sum over last dimensions and others before,
    between which some stay, becomes two, and so does one over the batch and a sequence, which has parts of both then.

    Example: after `--dist-train-fix-sums=parts=2`
    ```mlir
    %1 = net.reduce sum %0 dims = [0] : tensor<6x3xf32> -> tensor<3xf32>
    // becomes
    %1 = net.reduce sum %0 dims = [0] {net.sum_parts = 2 : i64} : tensor<6x3xf32> -> tensor<3xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [
    FieldOption<"parts", "parts", Reproducible_parts>
  ];
  let statistics = [
    Statistic<"numParted", "parted", "Operations that sum in several parts">,
    Statistic<"numWhole", "whole", "Operations whose summed dimensions stay whole">
  ];
}

def ReduceGradientsPass : Pass<"dist-train-reduce-gradients", "::mlir::ModuleOp"> {
  let summary = "scales gradients and converts them for their reduction";
  let description = [{
    Applies to gradients in 16 bits. If the loss is a mean over a batch that N ranks share, its cotangents
    contain the factor 1/N and may underflow. `dist-train-differentiate` omits the factor with `seed=N`, and
    this pass multiplies every gradient by it, before or after its reduction. With `communicate`, gradients
    are converted to another type, reduced in it and converted back.

    All of this is part of the serial program. Operations that a partial gradient passes before its reduction
    carry `dist.defer_reduction` (deferred reduction); a reduction is never moved before one of them. The last
    operation has the name `grad/…`.

    Example: after `--dist-train-reduce-gradients="scale=before replicas=4 communicate=f16"`
    ```mlir
    %n = net.constant dense<2.5e-01> : tensor<8xf32>
    %scaled = net.multiply %n, %g {dist.defer_reduction} : tensor<8xf32>
    %narrow = net.convert %scaled {dist.defer_reduction} : tensor<8xf32> -> tensor<8xf16>
    %gradient = net.convert %narrow {net.name = "grad/w"} : tensor<8xf16> -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [
    Option<"scale", "scale", "::meshwright::train::ReduceScale", "::meshwright::train::ReduceScale::Loss",
           "The place of the factor 1/N",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::train::ReduceScale::Loss, "loss", "in the loss, as in the network"),
             clEnumValN(::meshwright::train::ReduceScale::Before, "before", "at every gradient, before its reduction"),
             clEnumValN(::meshwright::train::ReduceScale::After, "after", "at every gradient, after its reduction"))}]>,
    Option<"replicas", "replicas", "int64_t", "1", "N, the number of ranks that share the batch">,
    Option<"communicate", "communicate", "::meshwright::train::ReduceType", "::meshwright::train::ReduceType::Gradient",
           "The type in which gradients are reduced",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::train::ReduceType::Gradient, "gradient", "the type of the gradient"),
             clEnumValN(::meshwright::train::ReduceType::F32, "f32", "32 bits"),
             clEnumValN(::meshwright::train::ReduceType::BF16, "bf16", "16 bits, 8 of them for the exponent"),
             clEnumValN(::meshwright::train::ReduceType::F16, "f16", "16 bits, 5 of them for the exponent"))}]>
  ];
  let statistics = [
    Statistic<"numRewritten", "rewritten", "Gradients that are scaled or converted">
  ];
}

def AccumulateGradientsPass : Pass<"dist-train-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "accumulates the gradients of several steps";
  let description = [{
    Gradient accumulation. Adds an axis of times to the mesh, whose coordinates are the `steps` that
    accumulate one update, and an accumulator for every gradient, in f32 if the gradient has 16 bits. Every
    step but the last assigns the sum so far to the accumulator. The accumulated gradient, the mean or the
    sum, takes over the name `grad/…`, so that later passes see it alone. Its value is only right in the last
    step; `dist-train-put-off-updates` moves the operations that need it there.

    If gradients are reduced after accumulation, they pass all operations up to the mean, including
    conversions to a wider type, as partial sums (`dist.defer_reduction`).

    Example: after `--dist-train-accumulate-gradients=steps=4`
    ```mlir
    dist.mesh @mesh <[steps "accumulation" = 4]>
    net.variable accumulator @"accumulator/w" : tensor<8xf32> = #net.init<constant, 0.0, 0.0> like @w
    …
    %before = net.read @"accumulator/w" : tensor<8xf32>
    %sum = dist.accumulate %before, %g over "accumulation" : tensor<8xf32>
    %gradient = net.multiply %sum, %quarter {dist.defer_reduction, net.name = "grad/w"} : tensor<8xf32>
    net.assign @"accumulator/w", %sum {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect", "::meshwright::dist::DistDialect"];
  let options = [
    FieldOption<"steps", "steps", GradientAccumulation_steps>,
    FieldOption<"average", "average", GradientAccumulation_average>,
    Option<"reduce", "reduce", "::meshwright::train::AccumulationReduce", "::meshwright::train::AccumulationReduce::AtUpdate",
           "The time of the reduction over the ranks that share the batch",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::train::AccumulationReduce::AtUpdate, "at-update", "once per update, after accumulation"),
             clEnumValN(::meshwright::train::AccumulationReduce::EveryStep, "every-step", "in every step, before accumulation"))}]>
  ];
  let statistics = [
    Statistic<"numAccumulated", "accumulated", "Gradients that are accumulated">
  ];
}

def PutOffUpdatesPass : Pass<"dist-train-put-off-updates", "::mlir::ModuleOp"> {
  let summary = "moves updates to the last step of gradient accumulation";
  let description = [{
    Applies if the mesh has an axis of steps. Assignments of role `optimize` happen at its last coordinate,
    except assignments that state their own steps (accumulators), and so do function results that depend on an
    accumulated gradient. Both carry `dist.during`.

    Example:
    ```mlir
    net.assign @w, %next {dist.during = {accumulation = array<i64: 3>}, net.role = #net.role<optimize>} : tensor<8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numPutOff", "put-off", "Assignments and results of the last step">
  ];
}

def OptimizerPass : Pass<"dist-train-optimizer", "::mlir::ModuleOp"> {
  let summary = "appends the update of every parameter that has a gradient";
  let description = [{
    Creates the optimizer's state variables (`adamw.m/p.w`, placed like `@p.w`, initially 0), the learning
    rate of the step, named `lr`, and the assignments at the end of the function. Formulas and counts are
    those of optax: the schedule sees count 0 in the first update, the bias correction 1. The counter `step`
    is only created if a formula uses it. An update is computed in the element type of its parameter; scalars
    are computed in f32, or in f64 if a parameter is f64.

    The optimizer, its settings and their defaults are those of the strategy (docs/reference/strategy.md).
    Parameters may be divided into groups, of which the first match counts. Parameters without a match use the
    optimizer as it is, whose learning rate is the one that is named. The moving average of a parameter, a buffer
    `ema/p.w`, starts at the value before the first update.

    With a bound on the norm of all gradients (`grad_norm`), an update sees `g / norm * bound` unless the norm
    is below the bound. The additions of squared norms are marked `dist.defer_reduction`, so that a distributed
    program reduces the sum once.

    Example: after `--dist-train-optimizer="train={sgd {lr {constant: 0.1}}}"`
    ```mlir
    %lr = net.constant {net.name = "lr"} dense<0.1> : tensor<f32>
    %rate = net.broadcast %lr dims = [] : tensor<f32> -> tensor<4xf32>
    %step = net.multiply %rate, %gradient : tensor<4xf32>
    %next = net.subtract %w, %step : tensor<4xf32>
    net.assign @w, %next : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [
    Option<"train", "train", "std::string", "",
           "The strategy's message `Train` as text, of which this pass reads `optimizer`, `group`, `clip` and `ema`: "
           "`{sgd {lr {constant: 0.1}} clip {value: 1}}`">
  ];
  let statistics = [
    Statistic<"numUpdates", "updates", "Parameters that are updated">
  ];
}

def UnscaleGradientsPass : Pass<"dist-train-unscale-gradients", "::mlir::ModuleOp"> {
  let summary = "divides gradients by the loss scale and detects overflow";
  let description = [{
    Applies if the loss was multiplied by a value named `loss_scale`. The value `found_inf` is 1 if an element
    of a gradient is infinite or NaN, and 0 otherwise. Its maxima are marked `dist.defer_reduction`, so that a
    distributed program reduces it once.

    Example: `dist-opt model.mlir --dist-train-differentiate=loss-scale=128 --dist-train-unscale-gradients`
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def SkipUpdatesPass : Pass<"dist-train-skip-updates", "::mlir::ModuleOp"> {
  let summary = "skips the update if a gradient is not finite";
  let description = [{
    Applies if there is a value named `found_inf`. Every assignment selects between the new and the old value;
    skipped steps are counted in the variable `skipped_steps`. A dynamic loss scale is halved after
    `hysteresis` skipped steps and doubled after `window` consecutive steps that were not skipped.

    Example: `dist-opt model.mlir --dist-train-differentiate=loss-scale=128 --dist-train-unscale-gradients --dist-train-optimizer --dist-train-skip-updates`
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [
    Option<"dynamic", "dynamic", "bool", "false", "Adjust the loss scale">,
    FieldOption<"window", "window", DynamicScale_window>,
    FieldOption<"hysteresis", "hysteresis", DynamicScale_hysteresis>,
    FieldOption<"minimum", "minimum", DynamicScale_minimum>
  ];
  let statistics = [
    Statistic<"numGuarded", "guarded", "Assignments that keep the old value in a skipped step">
  ];
}

def FetchPass : Pass<"dist-train-fetch", "::mlir::ModuleOp"> {
  let summary = "returns named values in addition to the function's results";
  let description = [{
    Appends the first result of every operation whose `net.name` matches a glob to the results of the
    function, in the order of the operations and under its name. A glob that begins with `forward/` or `backward/`
    returns the last value without a name of each scope that it matches (`forward/h.*.attn`), outside of loops. A
    glob without a match is an error.

    Example: `--dist-train-fetch="values=grad/*,lr"`
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [FieldListOption<"values", "values", Strategy_fetch>];
}

def MarkNormsPass : Pass<"dist-train-mark-norms", "::mlir::ModuleOp"> {
  let summary = "marks norms in an exported update to be reduced once";
  let description = [{
    Applies to a graph that was exported as a whole training step. Marks additions of scalars of role optimize
    that sum reductions of floats with `dist.defer_reduction`, as Train does for its own norm of all gradients:
    however the gradients are split, the sum is reduced once.

    Example:
    ```mlir
    %sum = net.add %first, %second {dist.defer_reduction, net.role = #net.role<optimize>} : tensor<f32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect", "::meshwright::dist::DistDialect"];
  let statistics = [Statistic<"numMarked", "marked", "Additions of partial sums">];
}

def SimplifyPass : Pass<"dist-train-simplify", "::mlir::ModuleOp"> {
  let summary = "folds operations, merges equal ones and erases dead ones";
  let description = [{
    One forward sweep folds every operation (adding 0, multiplying by 1, compositions of reshapes,
    transpositions and broadcasts, layouts of splat constants, transposed operands and results of products)
    and merges it with an equal earlier one. One backward sweep erases operations that neither a result nor an
    assignment depends on. Equality ignores roles, scopes and locations; the first of two equal operations is
    kept. Values keep their names. Every element keeps its bits, except for the sign of zero when 0 is added.

    Example: `transpose(transpose(%x))` becomes `%x`.
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def VerifyPass : Pass<"dist-train-verify", "::mlir::ModuleOp"> {
  let summary = "checks that gradients are used, state is initialized and parameters are assigned";
  let description = [{
    The verifier of Train. Afterwards

    - every value named `grad/…` has a use;
    - every optimizer state, counter and accumulator has an initializer and is assigned, and every accumulator is read;
    - every parameter that has a gradient is assigned;
    - no variable is assigned twice.

    Example: `dist-opt model.mlir --dist-train-differentiate --dist-train-optimizer --dist-train-verify`
  }];
}

#endif
