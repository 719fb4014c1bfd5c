//===- Passes.td - passes of the stage Import -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PASSES_TD
#define MESHWRIGHT_IMPORT_PASSES_TD

include "meshwright/Strategy/FieldOption.td"
include "mlir/Pass/PassBase.td"

def AnnotateNamesPass : Pass<"dist-import-annotate-names", "::mlir::ModuleOp"> {
  let summary = "Name arguments, results and the scopes of operations";
  let description = [{
    Names the arguments of the graph (`net.name`) from their locations: `p['w'][0]` becomes `p.w.0`, an
    argument without a name becomes `arg3`. Names the results from `jax.result_info`, or `out3` without it.
    Gives operations a scope (`net.scope`) and a role (`net.role`) from the names in their locations. Two
    equal names are an error. A component that precedes the names of the parameters in every scope is dropped,
    such as the class of the model that Flax writes: operations of `p.transformer.h.0` are in scope
    `transformer.h.0`.

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
    Leaves the graph's function, the only public one, as the only function of the module. The scope of an
    inlined operation is the scope of the call followed by its own; its location keeps the location of the
    call. Every operation of the result is created once. Recursion is an error, and so is a result of more
    than ten million operations.

    ```mlir
    %1 = call @relu(%0) {net.scope = "mlp"} : (tensor<4xf32>) -> tensor<4xf32>
    ```
    becomes the body of `@relu`, in scope `mlp`.
  }];
  let statistics = [Statistic<"numInlined", "num-inlined", "Calls that were replaced">];
}

def BatchPartsPass : Pass<"dist-import-batch-parts", "::mlir::ModuleOp"> {
  let summary = "Make serial code of computations per rank";
  let description = [{
    A value that differs along axes of the module's mesh gets a dimension for each of them, before all others, and
    operations compute all parts at once. What collectives exchange is reduced, transposed or reshaped along these
    dimensions. If the graph has a mesh (`given.mesh`), every dimension is constrained to its axis where parts are taken.
    `dist.mesh` is removed. An operation without `BatchOpInterface` that is not elementwise is an error, and so is a
    computation per rank within another one.

    ```mlir
    dist.mesh @mesh <["dp" = 2]>
    func.func @main(%arg0: tensor<8xf32>) -> tensor<4xf32> {
      %0 = dist.to_local %arg0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
      %1 = net.tanh %0 : tensor<4xf32>
      %2 = dist.c_allreduce %1 axes ["dp"] from <dims = [[]], partial = sum ["dp"]> to <dims = [[]]> shape [4]
           : tensor<4xf32> -> tensor<4xf32>
      %3 = dist.to_global %2 over ["dp"] in <dims = [[]]> : tensor<4xf32> -> tensor<4xf32>
      return %3 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%arg0: tensor<8xf32>) -> tensor<4xf32> {
      %0 = net.reshape %arg0 : tensor<8xf32> -> tensor<2x4xf32>
      %1 = net.tanh %0 : tensor<2x4xf32>
      %2 = net.reduce sum %1 dims = [0] : tensor<2x4xf32> -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::given::GivenDialect",
                           "::meshwright::net::NetDialect"];
}

def MaterializePartsPass : Pass<"dist-import-materialize-parts", "::mlir::ModuleOp"> {
  let summary = "Take parts of what enters a computation per rank, and gather what leaves it";
  let description = [{
    For a graph of which every rank runs all. Outside of computations per rank values are whole on every rank. An
    argument that only enters such computations, and a result that has just left one, become the parts that these have,
    with their placement.

    ```mlir
    %1 = dist.to_local %0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
    %2 = dist.to_global %1 over ["dp"] in <dims = [["dp"]]> : tensor<4xf32> -> tensor<8xf32>
    ```
    becomes
    ```mlir
    %dp = dist.coordinate "dp" : tensor<i32>
    %1 = dist.shard %0 at (%dp) axes ["dp"] from <dims = [[]]> to <dims = [["dp"]]> shape [8] : tensor<8xf32> -> tensor<4xf32>
    %2 = dist.c_allgather %1 axes ["dp"] from <dims = [["dp"]]> to <dims = [[]]> shape [8] : tensor<4xf32> -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect"];
}

def FoldConstantsPass : Pass<"dist-import-fold-constants", "::mlir::ModuleOp"> {
  let summary = "Fold arithmetic and comparisons of constant floats";
  let description = [{
    For the comparison of a program that another tool partitioned with the serial one, of which either tool
    may have folded constants. Sums, differences, products, quotients, roots, extrema, magnitudes and
    conversions of constants become constants, rounded as their format rounds, and comparisons truth values.

    ```mlir
    %eight = net.constant dense<8.0> : tensor<f32>
    %root = net.sqrt %eight : tensor<f32>
    ```
    becomes
    ```mlir
    %root = net.constant dense<2.82842708> : tensor<f32>
    ```
  }];
  let statistics = [Statistic<"numFolded", "num-folded", "Operations that became constants">];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def ApplyFactsPass : Pass<"dist-import-apply-facts", "::mlir::ModuleOp"> {
  let summary = "Apply facts of floats that exact arithmetic does not know";
  let description = [{
    For the comparison of a program that another tool partitioned with the serial one, by exact arithmetic,
    where residues have a pseudo-random order. Both programs say afterwards what tools know of floats:

    | in the program | becomes |
    |---|---|
    | a truth value, converted to a number, compared with a constant | the truth value, its opposite, or a constant |
    | the lowest number of a type (or half of it), with which a selection hides scores | minus infinity |

    The second holds if only maxima of rows and exponentials of the distance from these read the scores,
    possibly after sums with others, and if every row has a score that is not hidden. Which are hidden follows
    from constants and indices alone; a mask that is data stays as it is.

    ```mlir
    %mask = net.convert %shown : tensor<2x2xi1> -> tensor<2x2xf32>
    %zero = net.constant dense<0.0> : tensor<2x2xf32>
    %keeps = net.compare gt, %mask, %zero : tensor<2x2xf32> -> tensor<2x2xi1>
    %bias = net.select %keeps, %zero, %lowest : tensor<2x2xi1>, tensor<2x2xf32>
    ```
    becomes
    ```mlir
    %infinity = net.constant dense<0xFF800000> : tensor<2x2xf32>
    %bias = net.select %shown, %zero, %infinity : tensor<2x2xi1>, tensor<2x2xf32>
    ```
  }];
  let statistics = [
    Statistic<"numComparisons", "num-comparisons", "Comparisons that were decided">,
    Statistic<"numHidden", "num-hidden", "Lowest numbers that became minus infinity">
  ];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def MaterializeVariablesPass : Pass<"dist-import-materialize-variables", "::mlir::ModuleOp"> {
  let summary = "Make variables of parameters and of state that is carried from step to step";
  let description = [{
    An argument that matches a glob of `parameters` becomes a `net.variable` with a `net.read` at the entry;
    the function is then called `@step`, unless a variable has that name. A glob that matches nothing is an
    error.

    An argument whose next value the graph returns also becomes a variable; the result is assigned to it
    instead of returned. Such pairs come from the rules `carry` and from donated arguments
    (`tf.aliasing_output`, `jax.buffer_donor`). Donated arguments are paired tree by tree by their paths:
    `opt_state.0.mu.w` with `1.0.mu.w` if all of `opt_state` is found below `1`. If several trees of results
    fit, a consistent `tf.aliasing_output` decides; without one the choice is an error that shows the rule to
    write. A result in such a tree whose argument the exporter left out, because the step does not read it,
    becomes a variable that is only assigned. A donated parameter without a result is an error; any other
    donated argument without one stays an input, with a warning.

    State that is not a parameter becomes a buffer, for now. An initializer whose glob matches a parameter
    applies to parameters alone.

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
    FieldListOption<"parameters", "parameters", Model_parameters>,
    ListOption<"variables", "variables", "std::string", "Names of further arguments that become variables, where there are any">,
    ListOption<"inits", "init", "std::string", "Initializers as GLOB:KIND:A:B, for instance *.kernel:normal:0:0.02">,
    ListOption<"carries", "carry", "std::string",
               "Arguments and the results that are their next values, as GLOB=GLOB, for instance state.*=0.*">
  ];
  let statistics = [
    Statistic<"numVariables", "num-variables", "Variables that were created">,
    Statistic<"numCarried", "num-carried", "Variables whose next value the graph returns">
  ];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def RecognizeStepPass : Pass<"dist-import-recognize-step", "::mlir::ModuleOp"> {
  let summary = "Separate forward, backward and update of a whole training step";
  let description = [{
    Applies to a graph that assigns variables and has operations of role backward, which the exporter's scopes
    mark (`transpose(jvp(…))`). Without such scopes, backward is found by data flow: it consists of the
    operations that compute the inputs of the update, where the update of a parameter is the elementwise
    operations in the parameter's shape that compute its next value. Operations that depend on these inputs
    get role optimize, and so do operations that only the update reads. The value of backward from which alone
    a parameter is updated, if it has the parameter's shape, is named `grad/…`.

    Variables that are not parameters get a kind: optimizer state, if they are floats that are read and whose
    next value depends on a gradient; a counter, if they are integer scalars; otherwise they stay buffers. A
    state is `like` the parameter whose name has the same end and whose shape is equal. Optimizer state and
    counters without an initializer start at 0. If the graph has no parameters, floats that forward reads and
    gradients update are the parameters.

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
  let summary = "Find the repeated blocks of a network without numbered scopes";
  let description = [{
    Applies to a network without a scope that ends in a number. The operations that apply variables to data,
    in program order, form a sequence; where it repeats, each period is a block, cut where the fewest bytes of
    activations are alive. The operations of a block get a scope: the part of its variables' names that ends
    in a number (`layers.3` of `p.layers.3.w`) if that differs for every block, otherwise `block0`, `block1`
    and so on. Operations of backward get the scope of the block whose activations or variables they read.
    Loops stay whole: no block begins inside one.

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
  let summary = "Check the invariants that later stages rely on";
  let description = [{
    Rejects unknown operations (neither operations of net nor operations with a sharding rule), dynamic
    shapes, and variables, inputs and outputs without a name. Changes nothing.
  }];
}

#endif
