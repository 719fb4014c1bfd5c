// RUN: dist-opt %s --dist-import-read-shardings -split-input-file | FileCheck %s --implicit-check-not=sdy. --implicit-check-not=mhlo.sharding
// RUN: dist-opt %s --dist-import-read-shardings=ignore=true -split-input-file | FileCheck %s --check-prefix=IGNORED --implicit-check-not=sdy. --implicit-check-not=mhlo.sharding --implicit-check-not=given.

// Tests the forms of Shardy's shardings: open and closed dimensions, priorities, lists of axes.

// CHECK: module attributes {given.mesh = #given.mesh<["dp" = 2, "tp" = 4]>}
// CHECK-LABEL: func.func public @forms
// CHECK-SAME: %arg0: tensor<8x4xf32> {given.sharding = #given.sharding<[{"dp"}, {}]>}
// CHECK-SAME: %arg1: tensor<8x4xf32> {given.sharding = #given.sharding<[{"dp", "tp"}, {?}p2]>}
// CHECK-SAME: %arg2: tensor<8x4xf32> {given.sharding = #given.sharding<[{?}, {?}], replicated = ["dp", "tp"]>}
// CHECK-SAME: -> (tensor<8x4xf32> {given.sharding = #given.sharding<[{}, {"tp"}]>}, tensor<8x4xf32>)
// CHECK-NEXT: %[[SUM:.*]] = given.constrain %arg0 to <[{"tp", ?}p1, {}], unreduced = ["dp"]> : tensor<8x4xf32>
// CHECK-NEXT: return %[[SUM]], %arg1
// IGNORED-LABEL: func.func public @forms(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>, %arg2: tensor<8x4xf32>)
// IGNORED-NEXT: return %arg0, %arg1
sdy.mesh @mesh = <["dp"=2, "tp"=4]>
func.func public @forms(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>},
                       %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp", "tp"}p0, {?}p2]>},
                       %arg2: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<["dp"=2, "tp"=4]>, [{?}, {?}], replicated={"dp", "tp"}>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>}, tensor<8x4xf32>) {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"tp", ?}p1, {}], unreduced={"dp"}> : tensor<8x4xf32>
  return %0, %arg1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Tests that an axis of which parts are named is divided into the factors that occur, everywhere.

// CHECK: given.mesh = #given.mesh<["x:(1)2" = 2, "x:(2)4" = 4, "x:(8)2" = 2, "y" = 3]>
// CHECK-LABEL: func.func public @parts
// CHECK-SAME: %arg0: tensor<16x9xf32> {given.sharding = #given.sharding<[{"x:(1)2", "x:(2)4", "x:(8)2"}, {"y"}]>}
// CHECK: given.constrain %arg0 to <[{"x:(2)4"}, {"x:(1)2"}]>
// CHECK: given.constrain %arg0 to <[{"x:(1)2", "x:(2)4"}, {}], replicated = ["x:(8)2"]>
sdy.mesh @mesh = <["x"=16, "y"=3]>
func.func public @parts(%arg0: tensor<16x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<16x9xf32>, tensor<16x9xf32>) {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x":(2)4}, {"x":(1)2}]> : tensor<16x9xf32>
  %1 = "sdy.sharding_constraint"(%arg0) <{sharding = #sdy.sharding<@mesh, [{"x":(1)8}, {}], replicated={"x":(8)2}>}> : (tensor<16x9xf32>) -> tensor<16x9xf32>
  return %0, %1 : tensor<16x9xf32>, tensor<16x9xf32>
}

// -----

// Tests that shardings on operations and on private functions become constraints, and a group holds for its value from there on.

// CHECK-LABEL: func.func public @operations
// CHECK-NEXT: %[[SUM:.*]] = "stablehlo.add"
// CHECK-NEXT: %[[KEPT:.*]] = given.constrain %[[SUM]] to <[{"a"}]>
// CHECK-NEXT: %[[GROUP:.*]] = given.constrain %[[KEPT]] group 7
// CHECK-NEXT: call @f(%[[GROUP]])
// CHECK-LABEL: func.func private @f
// CHECK-NEXT: %[[ARGUMENT:.*]] = given.constrain %arg0 to <[{?}]>
// CHECK-NEXT: %[[RESULT:.*]] = given.constrain %[[ARGUMENT]] to <[{"a"}]>
// CHECK-NEXT: return %[[RESULT]]
"sdy.mesh"() <{mesh = #sdy.mesh<["a"=2], device_ids=[1, 0]>, sym_name = "mesh"}> : () -> ()
func.func public @operations(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} : tensor<4xf32>
  sdy.sharding_group %0 group_id=7 : tensor<4xf32>
  %1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<4xf32>
  %2 = call @f(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @f(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
  return %arg0 : tensor<4xf32>
}

// -----

// Tests that an argument which all users constrain alike takes their sharding.

// CHECK-LABEL: func.func public @inferred
// CHECK-SAME: %arg0: tensor<4xf32> {given.sharding = #given.sharding<[{"a"}]>}, %arg1: tensor<4xf32>)
sdy.mesh @mesh = <["a"=2]>
func.func public @inferred(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}]> : tensor<4xf32>
  %1 = sdy.sharding_constraint %arg1 <@mesh, [{"a"}]> : tensor<4xf32>
  %2 = stablehlo.add %arg1, %1 : tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that a mesh without axes, which JAX gives random keys, says nothing, and that a mesh with axes and nothing else is kept.

// CHECK: module attributes {given.mesh = #given.mesh<["a" = 2]>}
// CHECK-LABEL: func.func public @empty(%arg0: tensor<2xui32>) -> tensor<2xui32>
// CHECK-NEXT: return %arg0
sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
sdy.mesh @mesh = <["a"=2]>
func.func public @empty(%arg0: tensor<2xui32> {sdy.sharding = #sdy.sharding<@maximal_mesh_0, []>}) -> tensor<2xui32> {
  %0 = sdy.sharding_constraint %arg0 <@empty_mesh, [{}]> : tensor<2xui32>
  return %0 : tensor<2xui32>
}

// -----

// Tests XLA's older form: tiles in the order of devices, transposed, with a list of devices, with replicas; open dimensions.

// CHECK: given.mesh = #given.mesh<["devices:(1)2" = 2, "devices:(2)2" = 2]>
// CHECK-SAME: mhlo.num_partitions
// CHECK-LABEL: func.func public @older
// CHECK-SAME: %arg0: tensor<8x4xf32> {given.sharding = #given.sharding<[{"devices:(1)2"}, {"devices:(2)2"}]>}
// CHECK-SAME: %arg1: tensor<8x4xf32> {given.sharding = #given.sharding<[{"devices:(2)2"}, {"devices:(1)2"}]>}
// CHECK-SAME: %arg2: tensor<8x4xf32> {given.sharding = #given.sharding<[{"devices:(1)2", "devices:(2)2"}, {}]>}
// CHECK-SAME: %arg3: tensor<8x4xf32> {given.sharding = #given.sharding<[{}, {}]>}
// CHECK: given.constrain %arg0 to <[{"devices:(1)2"}, {}]>
// CHECK: given.constrain %arg1 to <[{"devices:(2)2"}, {?}]>
// CHECK: given.constrain %arg2 to <[{"devices:(2)2"}, {"devices:(1)2"}]>
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @older(%arg0: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"},
                         %arg1: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0)}"},
                         %arg2: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"},
                         %arg3: tensor<8x4xf32> {mhlo.sharding = "{replicated}"})
      -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32> {mhlo.sharding = "{maximal device=0}"}) {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "", mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.custom_call @Sharding(%arg1) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = stablehlo.custom_call @Sharding(%arg2) {mhlo.sharding = "{devices=[2,2]0,2,1,3}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0, %1, %2, %arg3 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
}

// -----

// Tests that shardings without any axis say nothing.

// CHECK-LABEL: func.func public @nothing(%arg0: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %arg0
func.func public @nothing(%arg0: tensor<2xf32> {mhlo.sharding = "{replicated}"}) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{maximal device=0}"} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
