//===- Passes.td - passes of Train ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TRAIN_PASSES_TD
#define MESHWRIGHT_TRAIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignPrecisionPass : Pass<"dist-train-assign-precision", "::mlir::ModuleOp"> {
  let summary = "computes in 16 bit where that is enough";
  let description = [{
    For the forward network. Variables, inputs and results keep their types. A parameter is converted right behind its read,
    and every other value at most once, where it is defined.

    Products are computed in 16 bit. Reductions, exponentials, logarithms, powers, roots and conversions are computed in the
    type they are written in. The others follow their operands: they are in 16 bit if those are, where constants, as long
    as they stay finite, take either type.

    `keep` names what stays in the type it is written in: operations by their own name (`tanh`) or their scope (`*.ln_1`), and
    parameters.

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
    ListOption<"keep", "keep", "std::string", "Globs of operations, scopes and parameters that keep their type">
  ];
  let statistics = [
    Statistic<"numNarrow", "narrow", "Operations in 16 bit">,
    Statistic<"numConversions", "conversions", "Values that are converted">
  ];
}

def DifferentiatePass : Pass<"dist-train-differentiate", "::mlir::ModuleOp"> {
  let summary = "appends the gradients of a loss with respect to the parameters";
  let description = [{
    Reverse mode over the public function: operations are visited once, last first, and give the cotangents of their
    operands through `net::DerivativeOpInterface`. The cotangents of a value that is used several times are added in the
    reverse order of its uses; those of slices that tile a dimension are joined. Zero cotangents are not built.

    The operation that makes the gradient of parameter `p.w` has `net.name = "grad/p.w"`. What is appended has the role
    `backward`, and the scope and location of the forward operation it belongs to.

    A maximum that is subtracted in a softmax, log-softmax or logsumexp carries no gradient: the result does not depend on
    it. A parameter on which the loss does not depend is warned about and gets no gradient.

    Example: `loss = sum(w)` gives
    ```mlir
    %g = net.constant {net.name = "grad/w"} dense<1.0> : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"",
           "Name or index of the function result to differentiate; by default its only scalar float result">,
    Option<"seed", "seed", "double", "1.0", "The cotangent of the loss: what every gradient is multiplied by">,
    Option<"lossScale", "loss-scale", "double", "0.0",
           "What the loss is multiplied by before it is differentiated, under the name `loss_scale`; 0 is nothing">,
    Option<"dynamicScale", "dynamic-scale", "bool", "false",
           "Whether the scale is program state, of which `loss-scale` is the initial value">,
    ListOption<"frozen", "frozen", "std::string", "Globs of parameters that get no gradient">
  ];
  let statistics = [
    Statistic<"numGradients", "gradients", "Parameters that got a gradient">,
    Statistic<"numShifts", "shifts", "Subtracted maxima that carry no gradient">
  ];
}

def ReduceGradientsPass : Pass<"dist-train-reduce-gradients", "::mlir::ModuleOp"> {
  let summary = "scales gradients and converts them to the type they travel in";
  let description = [{
    For gradients in 16 bit. Where the loss is a mean over a batch that N ranks share, its cotangents have the factor 1/N,
    and may become too small; `dist-train-differentiate` leaves it out with `seed=N`, and every gradient is multiplied by it
    here, before or after it is reduced. Where another type is named, gradients are converted to it, reduced in it, and
    converted back.

    All of that is part of the serial program. Operations that a partial gradient has to pass before it is reduced have
    `dist.travels`; a reduction is never moved in front of one. The last operation has the name `grad/…`.

    Example: after `--dist-train-reduce-gradients="scale=before replicas=4 communicate=f16"`
    ```mlir
    %n = net.constant dense<2.5e-01> : tensor<8xf32>
    %scaled = net.multiply %n, %g {dist.travels} : tensor<8xf32>
    %narrow = net.convert %scaled {dist.travels} : tensor<8xf32> -> tensor<8xf16>
    %gradient = net.convert %narrow {net.name = "grad/w"} : tensor<8xf16> -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [
    Option<"scale", "scale", "::meshwright::train::ReduceScale", "::meshwright::train::ReduceScale::Loss",
           "Where the factor 1/N stands",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::train::ReduceScale::Loss, "loss", "in the loss, as the network has it"),
             clEnumValN(::meshwright::train::ReduceScale::Before, "before", "at every gradient, before it is reduced"),
             clEnumValN(::meshwright::train::ReduceScale::After, "after", "at every gradient, after it is reduced"))}]>,
    Option<"replicas", "replicas", "int64_t", "1", "N: how many ranks share the batch">,
    Option<"communicate", "communicate", "::meshwright::train::TravelType", "::meshwright::train::TravelType::Gradient",
           "The type that gradients are reduced in",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::train::TravelType::Gradient, "gradient", "that of the gradient"),
             clEnumValN(::meshwright::train::TravelType::F32, "f32", "32 bits"),
             clEnumValN(::meshwright::train::TravelType::BF16, "bf16", "16 bits, 8 of them for the exponent"),
             clEnumValN(::meshwright::train::TravelType::F16, "f16", "16 bits, 5 of them for the exponent"))}]>
  ];
  let statistics = [
    Statistic<"numRewritten", "rewritten", "Gradients that are scaled or converted">
  ];
}

def MergeGradientsPass : Pass<"dist-train-merge-gradients", "::mlir::ModuleOp"> {
  let summary = "adds up the gradients of several steps";
  let description = [{
    Gives the module an axis of times, the `steps` whose gradients are merged, and every gradient an accumulator, in f32 where the
    gradient is in 16 bit. What the steps so far add up to is assigned to it in all steps but the last. The merged gradient, the mean
    or the sum, takes over the name `grad/…`: what comes behind sees it alone. It is right in the last step only; which
    operations that puts off, `dist-train-put-off-updates` says at the end.

    A gradient that is reduced when it is merged passes as a partial sum everything up to the mean (`dist.travels`), conversions to
    wider types included.

    Example: after `--dist-train-merge-gradients=steps=4`
    ```mlir
    dist.mesh @mesh <[steps "merge" = 4]>
    net.variable accumulator @"accumulator/w" : tensor<8xf32> = #net.init<constant, 0.0, 0.0> like @w
    …
    %before = net.read @"accumulator/w" : tensor<8xf32>
    %sum = net.accumulate %before, %g over "merge" : tensor<8xf32>
    %gradient = net.multiply %sum, %quarter {dist.travels, net.name = "grad/w"} : tensor<8xf32>
    net.assign @"accumulator/w", %sum {dist.during = {merge = array<i64: 0, 1, 2>}} : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect", "::meshwright::dist::DistDialect"];
  let options = [
    Option<"steps", "steps", "int64_t", "1", "How many steps are merged; 1 changes nothing">,
    Option<"average", "average", "bool", "true", "Whether the merged gradient is the mean of the gradients, or their sum">,
    Option<"reduce", "reduce", "::meshwright::train::MergeReduce", "::meshwright::train::MergeReduce::AtUpdate",
           "When gradients are reduced over the ranks that share the batch",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::train::MergeReduce::AtUpdate, "at-update", "once they are merged"),
             clEnumValN(::meshwright::train::MergeReduce::EveryStep, "every-step", "before they are"))}]>
  ];
  let statistics = [
    Statistic<"numMerged", "merged", "Gradients that are merged">
  ];
}

def PutOffUpdatesPass : Pass<"dist-train-put-off-updates", "::mlir::ModuleOp"> {
  let summary = "leaves updates to the last of the steps that are merged";
  let description = [{
    Where the mesh has an axis of steps. Assignments of the role `optimize` take place at its last coordinate, unless they say
    when they do (those of accumulators), and so do results of the function that depend on a merged gradient: `dist.during`
    on either.

    Example:
    ```mlir
    net.assign @w, %next {dist.during = {merge = array<i64: 3>}, net.role = #net.role<optimize>} : tensor<8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numPutOff", "put-off", "Assignments and results that the last step has">
  ];
}

def OptimizerPass : Pass<"dist-train-optimizer", "::mlir::ModuleOp"> {
  let summary = "appends the update of every parameter that has a gradient";
  let description = [{
    Makes the optimizer's state variables (`adamw.m/p.w`, placed like `@p.w`, initially 0), the learning rate of the step,
    which is named `lr`, and the assignments at the end of the function. Formulas and counts are those of optax: the
    schedule of the first update sees count 0, the bias correction 1. The counter is the variable `step`; it is made only
    where something depends on it. An update is computed in the element type of its parameter, scalars in f32 or in f64
    where a parameter is of f64.

    Parameters may be divided into groups, each with options of its own. A group's options begin as those of the pass; the last
    group names the learning rate.

    The moving average of a parameter, a buffer `ema/p.w`, begins with the value before the first update.

    With a bound on the norm of the gradients, which is named `grad_norm`, an update sees `g / norm * bound` where the norm
    is not below it. The additions of squared norms are marked `dist.travels`: distributed, the sum is reduced once.

    Example: after `--dist-train-optimizer="kind=sgd lr=0.1"`
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
    Option<"kind", "kind", "::meshwright::train::OptimizerKind", "::meshwright::train::OptimizerKind::Sgd", "The rule of the update",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::train::OptimizerKind::Sgd, "sgd", "p - lr g"),
             clEnumValN(::meshwright::train::OptimizerKind::Momentum, "momentum", "SGD along a decaying sum of gradients"),
             clEnumValN(::meshwright::train::OptimizerKind::Adam, "adam", "moments of first and second order, bias corrected"),
             clEnumValN(::meshwright::train::OptimizerKind::AdamW, "adamw", "Adam with decoupled weight decay"),
             clEnumValN(::meshwright::train::OptimizerKind::Lamb, "lamb", "AdamW with the norm of the parameter"),
             clEnumValN(::meshwright::train::OptimizerKind::Lion, "lion", "the sign of a mean of gradients"),
             clEnumValN(::meshwright::train::OptimizerKind::RmsProp, "rmsprop", "over the root of a mean of squares"),
             clEnumValN(::meshwright::train::OptimizerKind::Adagrad, "adagrad", "over the root of the sum of squares"),
             clEnumValN(::meshwright::train::OptimizerKind::Adafactor, "adafactor",
                        "over the root of mean squares that are kept by rows and columns"),
             clEnumValN(::meshwright::train::OptimizerKind::Muon, "muon",
                        "matrices with singular values near 1, AdamW for other parameters"))}]>,
    Option<"schedule", "schedule", "::meshwright::train::ScheduleKind", "::meshwright::train::ScheduleKind::Constant",
           "How the learning rate depends on the step",
           [{::llvm::cl::values(
             clEnumValN(::meshwright::train::ScheduleKind::Constant, "constant", "always lr"),
             clEnumValN(::meshwright::train::ScheduleKind::Warmup, "warmup", "linear from lr-start to lr, then constant"),
             clEnumValN(::meshwright::train::ScheduleKind::WarmupCosine, "warmup_cosine",
                        "linear from lr-start to lr, then half a cosine to lr-end"))}]>,
    Option<"lr", "lr", "double", "0.001", "The learning rate, or its peak">,
    Option<"lrScale", "lr-scale", "double", "1.0", "What the learning rate is multiplied by, its name apart">,
    Option<"lrStart", "lr-start", "double", "0.0", "The learning rate of the first update of a warm-up">,
    Option<"lrEnd", "lr-end", "double", "0.0", "The learning rate after `total` updates">,
    Option<"warmup", "warmup", "int64_t", "0", "Updates until the learning rate reaches its peak">,
    Option<"total", "total", "int64_t", "0", "Updates until the learning rate reaches its end, warm-up included">,
    Option<"momentum", "momentum", "double", "0.9", "What is kept of the sum of gradients">,
    Option<"nesterov", "nesterov", "bool", "false", "Whether momentum, Adam, AdamW and Muon look ahead">,
    Option<"beta", "beta", "double", "0.95", "What Muon keeps of the mean of gradients">,
    Option<"beta1", "beta1", "double", "0.9", "What Adam, AdamW, LAMB and Lion keep of the mean of gradients">,
    Option<"beta2", "beta2", "double", "0.999",
           "What Adam, AdamW and LAMB keep of the mean of their squares; what Lion's state keeps of the mean of gradients">,
    Option<"rho", "rho", "double", "0.9", "What RMSProp keeps of the mean of squares">,
    Option<"eps", "eps", "double", "1e-8",
           "What is added where something is divided by: to the root of the mean square by Adam, AdamW and LAMB, to the mean "
           "square by RMSProp, Adagrad and Adafactor, to the norm by Muon">,
    Option<"weightDecay", "weight-decay", "double", "0.01",
           "The part of a parameter that AdamW, LAMB, Lion, Adafactor and Muon add to the update">,
    Option<"l2", "l2", "double", "0.0", "The part of a parameter that is added to its gradient">,
    Option<"initial", "initial", "double", "0.1", "The sum of squares that Adagrad begins with">,
    Option<"decayRate", "decay-rate", "double", "0.8",
           "Adafactor's n-th update takes n to the power of minus this of the new mean square">,
    Option<"minDim", "min-dim", "int64_t", "128",
           "The size from which on the second largest dimension is factored by Adafactor">,
    Option<"clipRms", "clip-rms", "double", "1.0", "Adafactor's bound on the root mean square of an update; 0 is no bound">,
    Option<"scaleByParameter", "scale-by-parameter", "bool", "true",
           "Whether Adafactor multiplies the update by the root mean square of its parameter">,
    Option<"nsSteps", "ns-steps", "int64_t", "5", "Muon's iterations">,
    Option<"consistentRms", "consistent-rms", "double", "0.0",
           "The root mean square of Muon's update where the matrix is square; 0 scales by the shape alone">,
    Option<"adamBeta1", "adam-beta1", "double", "0.9", "beta1 of AdamW beside Muon">,
    Option<"adamBeta2", "adam-beta2", "double", "0.999", "beta2 of AdamW beside Muon">,
    Option<"adamWeightDecay", "adam-weight-decay", "double", "0.0", "weight-decay of AdamW beside Muon">,
    Option<"clipValue", "clip-value", "double", "0.0",
           "What every element of a gradient is bounded by before the update; 0 is no bound">,
    Option<"clipTensorNorm", "clip-tensor-norm", "double", "0.0",
           "What the norm of every gradient is bounded by before the update; 0 is no bound">,
    Option<"clipGlobalNorm", "clip-global-norm", "double", "0.0",
           "What the norm of all gradients is bounded by before the update; 0 is no bound">,
    Option<"ema", "ema", "double", "0.0",
           "What the moving average of every parameter keeps of itself in a step; 0 makes no average">,
    ListOption<"decay", "decay", "std::string", "Globs of the parameters that weight-decay and l2 are for; by default all">,
    ListOption<"match", "match", "std::string", "Globs of the parameters that a group is for; by default all">,
    ListOption<"group", "group", "std::string",
               "Options for some of the parameters: `{match=*.bias lr-scale=2}`; the first match counts">
  ];
  let statistics = [
    Statistic<"numUpdates", "updates", "Parameters that are updated">
  ];
}

def UnscaleGradientsPass : Pass<"dist-train-unscale-gradients", "::mlir::ModuleOp"> {
  let summary = "divides gradients by the scale of the loss and looks for infinite ones";
  let description = [{
    Where the loss was multiplied by a value named `loss_scale`. `found_inf` is 1 if an element of a gradient is infinite or no
    number, and 0 otherwise; its maxima are marked `dist.travels`, so that, distributed, it is reduced once.

    Example: `dist-opt model.mlir --dist-train-differentiate=loss-scale=128 --dist-train-unscale-gradients`
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def SkipUpdatesPass : Pass<"dist-train-skip-updates", "::mlir::ModuleOp"> {
  let summary = "lets variables keep their values where a gradient is not finite";
  let description = [{
    Where there is a value named `found_inf`. All that is assigned is selected from the new and the old value; skipped steps are
    counted in the variable `skipped_steps`. A dynamic scale of the loss is halved after `hysteresis` skipped steps and doubled
    after `window` steps in a row that were not.

    Example: `dist-opt model.mlir --dist-train-differentiate=loss-scale=128 --dist-train-unscale-gradients --dist-train-optimizer --dist-train-skip-updates`
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [
    Option<"dynamic", "dynamic", "bool", "false", "Whether the scale changes">,
    Option<"window", "window", "int64_t", "1000", "Steps in a row until the scale is doubled">,
    Option<"hysteresis", "hysteresis", "int64_t", "1", "Skipped steps until the scale is halved">,
    Option<"minimum", "minimum", "double", "1.0", "What the scale does not fall below">
  ];
  let statistics = [
    Statistic<"numGuarded", "guarded", "Assignments that keep the old value in a skipped step">
  ];
}

def FetchPass : Pass<"dist-train-fetch", "::mlir::ModuleOp"> {
  let summary = "returns named values beside the function's results";
  let description = [{
    Every operation whose `net.name` matches one of the globs has its first result appended to the function's results, in the
    order of the operations, under its name. A glob without a match is an error.

    Example: `--dist-train-fetch="values=grad/*,lr"`
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let options = [ListOption<"values", "values", "std::string", "Globs of the names of values to return">];
}

def MarkNormsPass : Pass<"dist-train-mark-norms", "::mlir::ModuleOp"> {
  let summary = "lets the norms of a step's own update be reduced once";
  let description = [{
    For a graph that was a training step before. Additions of scalars of the role optimize that add up reductions of floats are marked
    `dist.travels`, as the norm of all gradients is where the step was made here: however the gradients are split, the sum is reduced once.

    Example:
    ```mlir
    %sum = net.add %first, %second {dist.travels, net.role = #net.role<optimize>} : tensor<f32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect", "::meshwright::dist::DistDialect"];
  let statistics = [Statistic<"numMarked", "marked", "Additions that partial sums pass">];
}

def SimplifyPass : Pass<"dist-train-simplify", "::mlir::ModuleOp"> {
  let summary = "folds, merges equal operations and drops what nobody uses";
  let description = [{
    One sweep forward folds every operation (adding 0, multiplying by 1, compositions of reshapes, transpositions and
    broadcasts, layouts of splat constants, transposed factors and results of a product) and merges it with an equal
    earlier one; one sweep backward drops what neither a result nor an assignment depends on. Roles, scopes and locations do
    not make operations differ; of merged ones the first is kept. Values keep their names. Every element keeps its bits, but
    for the sign of zero where 0 is added.

    Example: `transpose(transpose(%x))` becomes `%x`.
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def VerifyPass : Pass<"dist-train-verify", "::mlir::ModuleOp"> {
  let summary = "checks that gradients are used, state is initialized and parameters are assigned";
  let description = [{
    The gate of Train. Afterwards

    - every value named `grad/…` has a user;
    - every optimizer state, counter and accumulator has an initializer and is assigned, and every accumulator is read;
    - every parameter that has a gradient is assigned;
    - no variable is assigned twice.

    Example: `dist-opt model.mlir --dist-train-differentiate --dist-train-optimizer --dist-train-verify`
  }];
}

#endif
