//===- Passes.td - passes of the stage Import -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PASSES_TD
#define MESHWRIGHT_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def AnnotateNamesPass : Pass<"dist-import-annotate-names", "::mlir::ModuleOp"> {
  let summary = "Name arguments, results and the scopes of operations";
  let description = [{
    Arguments of the graph get `net.name` from their location (`p['w'][0]` becomes `p.w.0`, without one `arg3`), results from
    `jax.result_info` (without it `out3`), operations `net.scope` and `net.role` from the name in theirs. Two equal
    names are an error. What stands in front of the parameters' names in every scope, as Flax's class of the model does, is left
    out: operations of `p.transformer.h.0` are in scope `transformer.h.0`.

    ```mlir
    func.func public @main(%arg0: tensor<4xf32> loc("p['w']")) -> (tensor<4xf32> {jax.result_info = "result[0]"})
    ```
    becomes
    ```mlir
    func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w"}) -> (tensor<4xf32> {net.name = "0"})
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def InlineCallsPass : Pass<"dist-import-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Replace calls of private functions by their bodies";
  let description = [{
    Afterwards the graph's function, the only public one, is the module's only function. An operation's scope is that of the call
    followed by its own, its location keeps that of the call. Every operation of the result is made once. Recursion
    is an error, and so is a result of more than ten million operations.

    ```mlir
    %1 = call @relu(%0) {net.scope = "mlp"} : (tensor<4xf32>) -> tensor<4xf32>
    ```
    becomes the body of `@relu`, in scope `mlp`.
  }];
  let statistics = [Statistic<"numInlined", "num-inlined", "Calls that were replaced">];
}

def LoopsPass : Pass<"dist-import-loops", "::mlir::ModuleOp"> {
  let summary = "Make a loop of net, or straight code, of every counted loop";
  let description = [{
    A loop is counted if it compares a number with a constant, and its body adds a constant to that number, which starts as one. What is not
    counted is an error. A loop that computes with floats becomes a `net.loop`: what no trip changes is read from in front of
    it; a dynamic slice of element i of such a value becomes `net.take`, the update of slice i of a value that is for nothing else
    `net.stack`, anything else `net.carry` and `net.next`. A loop of integers alone, as JAX prints the rounds of threefry,
    is written as often as it runs, and so is any with `unroll`; more than ten thousand operations are an error then.

    ```mlir
    %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<4xf32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %2 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      %3 = stablehlo.tanh %x : tensor<4xf32>
      stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    %i = net.loop count = 3
    %x = net.carry %0 in %i : tensor<4xf32>
    %3 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = net.next %3 for %x : tensor<4xf32>
    net.end_loop %i
    ```
  }];
  let options = [Option<"unroll", "unroll", "bool", "false", "Write out every loop">];
  let statistics = [Statistic<"numUnrolled", "num-unrolled", "Loops that were written out">,
                    Statistic<"numRolled", "num-rolled", "Loops that stay loops">];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def ConditionalsPass : Pass<"dist-import-conditionals", "::mlir::ModuleOp"> {
  let summary = "Compute all branches of a conditional and select among their results";
  let description = [{
    A predicate that is a constant leaves its branch alone; otherwise the operations of all branches take place, whatever the predicate,
    and the results are selected. So nothing that ranks do together depends on data. A branch that is not taken computes with 1 instead of the
    floats from outside: gradients that pass it are zero, as JAX's are, whatever is not finite in it.

    ```mlir
    %1 = "stablehlo.if"(%p) ({
      %2 = stablehlo.tanh %0 : tensor<4xf32>
      stablehlo.return %2 : tensor<4xf32>
    }, {
      stablehlo.return %0 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    ```
    becomes
    ```mlir
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %3 = stablehlo.select %p, %0, %one : tensor<i1>, tensor<4xf32>
    %2 = stablehlo.tanh %3 : tensor<4xf32>
    %1 = stablehlo.select %p, %2, %0 : tensor<i1>, tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numReplaced", "num-replaced", "Conditionals that were replaced">];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def ConvertStableHLOPass : Pass<"dist-import-convert-stablehlo", "::mlir::ModuleOp"> {
  let summary = "Turn operations of StableHLO and CHLO into operations of net";
  let description = [{
    Every operation is converted on its own, in order; what is not known is an error at its line. Reshapes of reshapes and broadcasts
    of broadcasts are joined, operations that nobody uses are left out.

    ```mlir
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %1 = net.reshape %0 : tensor<8x1xf32> -> tensor<8xf32>
    %2 = net.broadcast %1 dims = [0] : tensor<8xf32> -> tensor<8x4xf32>
    ```
  }];
  let statistics = [Statistic<"numConverted", "num-converted", "Operations that were converted">];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def MaterializeVariablesPass : Pass<"dist-import-materialize-variables", "::mlir::ModuleOp"> {
  let summary = "Make variables of parameters and of state that is carried from step to step";
  let description = [{
    An argument whose name matches a glob of `parameters` becomes a `net.variable` and a `net.read` at the entry; the function is then
    called `@step`, unless a variable is. A glob that matches nothing is an error.

    So does an argument that the graph gives back: its result is assigned to it instead of returned. Those are the arguments that `carry` pairs with
    results, and those that were donated (`tf.aliasing_output`, `jax.buffer_donor`), paired tree by tree by their paths:
    `opt_state.0.mu.w` with `1.0.mu.w` if all of `opt_state` is found below `1`. Where several trees of results fit, `tf.aliasing_output` decides, if it
    is consistent; else the choice is an error that shows the rule to write. A result of such a tree whose argument the exporter left out, because nothing reads it,
    becomes a variable that is written alone. A donated parameter without a result is an
    error, another donated argument stays an input with a warning. What is no parameter is a buffer so far; initializers that match a
    parameter are not for it.

    ```mlir
    func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w", tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {net.name = "x"})
        -> (tensor<4xf32> {net.name = "0.w"}, tensor<f32> {net.name = "1"})
    ```
    with `parameters=p.*` becomes
    ```mlir
    net.variable parameter @p.w : tensor<4xf32>
    func.func public @step(%arg0: tensor<4xf32> {net.name = "x"}) -> (tensor<f32> {net.name = "1"}) {
      %0 = net.read @p.w : tensor<4xf32>
      ...
      net.assign @p.w, %8 : tensor<4xf32>
    }
    ```
  }];
  let options = [
    ListOption<"parameters", "parameters", "std::string", "Globs of the arguments that become variables">,
    ListOption<"variables", "variables", "std::string", "Names of further arguments that become variables, where there are any">,
    ListOption<"inits", "init", "std::string", "Initializers as GLOB:KIND:A:B, for instance *.kernel:normal:0:0.02">,
    ListOption<"carries", "carry", "std::string",
               "Arguments and the results that are their next values, as GLOB=GLOB, for instance state.*=0.*">
  ];
  let statistics = [
    Statistic<"numVariables", "num-variables", "Variables that were made">,
    Statistic<"numCarried", "num-carried", "Variables that the graph gives back">
  ];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def RecognizeStepPass : Pass<"dist-import-recognize-step", "::mlir::ModuleOp"> {
  let summary = "Tell forward, backward and update of a whole training step apart";
  let description = [{
    For a graph that assigns variables and has operations of role backward, which the exporter's scopes say (`transpose(jvp(…))`). Where no scope does, backward is
    found by the flow of data: what makes the values from which elementwise operations in the shape of a parameter make its next value. What depends on those
    is of role optimize, and so is what only updates read. The value of backward from which alone a parameter is updated, and that has its shape, is
    named `grad/…`.

    Variables that are no parameters get their kind: optimizer state, if they are floats that are read and whose new value depends on a
    gradient; a counter, if they are integers without dimensions; else they stay buffers. State is `like` the parameter that shares the end of its name
    and the shape. Optimizer state and counters without initializer begin at 0. Without any parameter, floats that forward reads and
    gradients update are parameters.

    ```mlir
    %g = net.reduce %d sum dims = [0] {net.role = #net.role<backward>} : tensor<8x4xf32> -> tensor<4xf32>
    %s = net.multiply %rate, %g {net.role = #net.role<forward>} : tensor<4xf32>
    %n = net.subtract %w, %s {net.role = #net.role<forward>} : tensor<4xf32>
    net.assign @p.w, %n {net.role = #net.role<forward>} : tensor<4xf32>
    ```
    becomes
    ```mlir
    %g = net.reduce %d sum dims = [0] {net.name = "grad/p.w", net.role = #net.role<backward>} : tensor<8x4xf32> -> tensor<4xf32>
    %s = net.multiply %rate, %g {net.role = #net.role<optimize>} : tensor<4xf32>
    %n = net.subtract %w, %s {net.role = #net.role<optimize>} : tensor<4xf32>
    net.assign @p.w, %n {net.role = #net.role<optimize>} : tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numUpdates", "num-updates", "Operations of the update">,
    Statistic<"numGradients", "num-gradients", "Gradients that were found">
  ];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def FindBlocksPass : Pass<"dist-import-find-blocks", "::mlir::ModuleOp"> {
  let summary = "Find the repeated blocks of a network whose scopes do not say them";
  let description = [{
    For a network without a scope that ends in a number. Operations that apply variables to data, in program order, are a sequence; where it
    repeats, each period is a block, cut where the fewest bytes of activations are alive. Operations of a block get a scope: the part of
    the names of its variables that ends in a number (`layers.3` of `p.layers.3.w`) if each block has its own, else `block0`, `block1` and so on. Those of
    backward get that of the block whose activations or variables they read. Loops stay as they are: no block begins in one.

    ```mlir
    %a = net.dot %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b = net.tanh %a : tensor<4x4xf32>
    %c = net.dot %b, %v : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %d = net.tanh %c : tensor<4x4xf32>
    ```
    with variables `%w` and `%v` has the blocks `block0` and `block1`, of two operations each.
  }];
  let statistics = [Statistic<"numBlocks", "num-blocks", "Blocks that were found">];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def VerifyImportPass : Pass<"dist-import-verify", "::mlir::ModuleOp"> {
  let summary = "Check what later stages rely on";
  let description = [{
    Afterwards there is no unknown operation (one that is neither of net nor has a sharding rule), no dynamic shape, and no
    variable, input or output without a name. Reads only.
  }];
}

#endif
