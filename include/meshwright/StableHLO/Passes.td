//===- Passes.td - from StableHLO to net ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STABLEHLO_PASSES_TD
#define MESHWRIGHT_STABLEHLO_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReadShardingsPass : Pass<"dist-import-read-shardings", "::mlir::ModuleOp"> {
  let summary = "Read what the exporter says of placements";
  let description = [{
    Takes the meshes and shardings of Shardy (`sdy.mesh`, `sdy.sharding` on arguments, results and operations,
    `sdy.sharding_constraint`, `sdy.sharding_group`), and XLA's older ones (`mhlo.sharding`, `custom_call @Sharding`),
    whose devices are one axis. The mesh becomes `given.mesh` of the module; an axis of which parts are named is divided
    into the factors that occur. The sharding of an argument or result becomes `given.sharding`, any other a
    `given.constrain`. An argument that all users constrain alike takes their sharding. Unknown axes, axes that are named
    twice, overlapping parts, lists out of order and wrong ranks are errors.

    ```mlir
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}p1]>}) -> tensor<4x8xf32> {
      %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x":(2)4}, {?}p1]> : tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
    becomes
    ```mlir
    module attributes {given.mesh = #given.mesh<["x:(1)2" = 2, "x:(2)4" = 4]>} {
      func.func @main(%arg0: tensor<4x8xf32> {given.sharding = #given.sharding<[{}, {"x:(1)2", "x:(2)4"}p1]>}) -> tensor<4x8xf32> {
        %0 = given.constrain %arg0 to <[{"x:(2)4"}, {?}p1]> : tensor<4x8xf32>
        return %0 : tensor<4x8xf32>
      }
    }
    ```
  }];
  let options = [Option<"ignore", "ignore", "bool", "false", "Remove all shardings unread">];
  let dependentDialects = ["::meshwright::net::NetDialect", "::meshwright::given::GivenDialect"];
}

def LoopsPass : Pass<"dist-import-loops", "::mlir::ModuleOp"> {
  let summary = "Convert every counted loop to a net loop or to straight code";
  let description = [{
    A counted loop compares a counter with a constant and adds a constant to it in every iteration; the
    counter starts at a constant. Any other loop is an error. A loop that computes with floats becomes a
    `net.loop`. Its body reads values that do not change directly from before the loop. A dynamic slice of
    element i of such a value becomes a `net.take`; an update of slice i of a value with no other use becomes
    a `net.stack`; every other value becomes a `net.carry` with a `net.next`. A loop that computes with
    integers alone, such as the rounds of threefry as JAX prints them, is unrolled; `unroll` unrolls every
    loop. Unrolling a loop into more than ten thousand operations is an error, and so are more than `max-operations`
    of all loops.

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
  let options = [Option<"unroll", "unroll", "bool", "false", "Unroll every loop">,
                 Option<"maxOperations", "max-operations", "int64_t", "10'000'000", "The most operations that all unrolled loops together become">];
  let statistics = [Statistic<"numUnrolled", "num-unrolled", "Loops that were unrolled">,
                    Statistic<"numRolled", "num-rolled", "Loops that became net loops">];
  let dependentDialects = ["::meshwright::net::NetDialect"];
}

def ConditionalsPass : Pass<"dist-import-conditionals", "::mlir::ModuleOp"> {
  let summary = "Compute all branches of a conditional and select among their results";
  let description = [{
    A constant predicate selects its branch at compile time. Otherwise the operations of all branches are
    computed and the results are selected, so that the operations that ranks do together never depend on data.
    A branch that is not taken computes with 1 in place of the floats from outside: gradients through it are
    zero, as in JAX, even where its values are not finite.

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

def ManualRegionsPass : Pass<"dist-import-manual-regions", "::mlir::ModuleOp"> {
  let summary = "Put what a graph computes per rank into its block, between conversions";
  let description = [{
    A `sdy.manual_computation`, which JAX prints for `shard_map`, becomes its operations, with a `dist.to_local` for every
    operand and a `dist.to_global` for every result; so do the custom calls @SPMDFullToShardShape and
    @SPMDShardToFullShape of older texts. The module gets a `dist.mesh`: that of the graph, or `mesh`, with which the
    graph's has to agree. Constraints of sharding outside, which compute nothing, are left out.

    ```mlir
    sdy.mesh @mesh = <["dp"=2]>
    func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"dp"} ]>] out_shardings=[<@mesh, [{"dp"} ]>] manual_axes={"dp"} (%arg1: tensor<4xf32>) {
        %1 = stablehlo.tanh %arg1 : tensor<4xf32>
        sdy.return %1 : tensor<4xf32>
      } : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    dist.mesh @mesh <["dp" = 2]>
    func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = dist.to_local %arg0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
      %1 = "stablehlo.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = dist.to_global %1 over ["dp"] in <dims = [["dp"]]> : tensor<4xf32> -> tensor<8xf32>
      return %2 : tensor<8xf32>
    }
    ```
  }];
  let options = [Option<"mesh", "mesh", "std::string", "", "The axes of the mesh and their sizes, as dp=2,tp=4">];
  let statistics = [Statistic<"numFlattened", "num-flattened", "Computations per rank that were put into the block">];
  let dependentDialects = ["::meshwright::net::NetDialect", "::meshwright::dist::DistDialect"];
}

def ConvertStableHLOPass : Pass<"dist-import-convert-stablehlo", "::mlir::ModuleOp"> {
  let summary = "Turn operations of StableHLO and CHLO into operations of net";
  let description = [{
    Converts operations one by one, in order; an unknown operation is an error at its line. Joins reshapes of
    reshapes and broadcasts of broadcasts, and leaves out operations without uses. In a module with a `dist.mesh`,
    collectives become those of `dist`, over the axes along which their groups stand.

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
  let dependentDialects = ["::meshwright::net::NetDialect", "::meshwright::dist::DistDialect"];
}

#endif
