// RUN: dist-opt %s --dist-import-read-shardings -verify-diagnostics -split-input-file

// Tests that what no mesh can mean is refused where it stands.

sdy.mesh @mesh = <["x"=4]>
// expected-error @below {{dimension 0 of the sharding names axis "y", which the mesh lacks}}
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func public @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{the sharding names axis "x" twice}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {"x"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

sdy.mesh @mesh = <["x"=8]>
// expected-error @below {{the sharding names "x":(1)4 and "x":(2)4, which overlap}}
func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)4}, {"x":(2)4}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=8]>
// expected-error @below {{dimension 0 of the sharding names the part (3)2 of axis "x", but 3 times 2 does not divide its size 8}}
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(3)2}]>}) {
  return
}

// -----

// expected-error @below {{the shardings divide axis "x" of size 6 into parts that no factors of it have in common}}
sdy.mesh @mesh = <["x"=6]>
func.func public @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}]>}, %arg1: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)3}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
// expected-error @below {{the sharding has 1 dimensions, but the value is of 'tensor<8x8xf32>'}}
func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4, "y"=2]>
// expected-error @below {{the list "replicated" of the sharding names "y" before "x", which is out of the order of the mesh}}
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"y", "x"}>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
// expected-error @below {{dimension 0 of the sharding has priority 1, but it has no axes and is closed}}
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}p1]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
// expected-error @below {{the sharding is for mesh @other, which the module lacks}}
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{"x"}]>}) {
  return
}

// -----

// expected-note @below {{the mesh is first given here}}
sdy.mesh @mesh = <["x"=4]>
// expected-error @below {{the shardings of a graph are for one mesh, and this one has other axes}}
sdy.mesh @other = <["x"=2, "y"=2]>
func.func public @main() {
  return
}

// -----

// expected-error @below {{axis "x" is empty or given twice in the mesh}}
sdy.mesh @mesh = <["x"=4, "x"=2]>

// -----

// expected-error @below {{axis "x" has size 0; sizes are positive}}
sdy.mesh @mesh = <["x"=0]>

// -----

sdy.mesh @mesh = <["x"=2]>
func.func public @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @below {{stablehlo.optimization_barrier has 1 shardings for 2 results}}
  %0:2 = stablehlo.optimization_barrier %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>, tensor<8xf32>
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @below {{sdy.mesh has no name or no mesh}}
"sdy.mesh"() : () -> ()

// -----

// expected-error @below {{3 : i64 is no sharding}}
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = 3}) {
  return
}

// -----

func.func public @main(%arg0: tensor<8xf32>) {
  // expected-error @below {{sdy.sharding_group has one operand, no result and a group_id}}
  "sdy.sharding_group"(%arg0) : (tensor<8xf32>) -> ()
  return
}

// -----

// expected-error @below {{the question mark of an open dimension comes last}}
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?, "x"}]>}) {
  return
}

// -----

// expected-error @below {{a sharding has one list of "replicated" and one of "unreduced" axes, but this is "hidden"}}
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], hidden={"x"}>}) {
  return
}

// -----

// expected-error @below {{"q1" is no priority; an example is p1}}
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}q1]>}) {
  return
}

// -----

// Tests texts of XLA's older form that are not read, each with the reason.

// expected-error @below {{sharding "{devices=[2,2]<=[8]}" is not read: its tiles are 4 but the sizes after "<=" multiply to something else}}
func.func public @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]<=[8]}"}) {
  return
}

// -----

// expected-error @below {{sharding "{devices=[3]0,2,1}" is not read: no axes describe the order of its devices}}
func.func public @main(%arg0: tensor<8xf32> {mhlo.sharding = "{devices=[3]0,2,1}"}) {
  return
}

// -----

// expected-error @below {{sharding "{devices=[2,3]<=[3,2]}" is not read: a tile ends within a factor of the devices}}
func.func public @main(%arg0: tensor<8x9xf32> {mhlo.sharding = "{devices=[2,3]<=[3,2]}"}) {
  return
}

// -----

// expected-error @below {{sharding "{manual}" is not read: "manual" is of a program per device; export shard_map with Shardy (jax_use_shardy_partitioner)}}
func.func public @main(%arg0: tensor<8xf32> {mhlo.sharding = "{manual}"}) {
  return
}

// -----

// expected-error @below {{sharding "{unknown}" is not read: known are "devices=", "replicated" and "maximal"}}
func.func public @main(%arg0: tensor<8xf32> {mhlo.sharding = "{unknown}"}) {
  return
}

// -----

// expected-note @below {{this one is for 2}}
func.func public @main(%arg0: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"},
                       // expected-error @below {{sharding "{devices=[4]<=[4]}" is for 4 devices}}
                       %arg1: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) {
  return
}

// -----

// expected-error @below {{sharding "{devices=[2,2]<=[4] last_tile_dims={manual}}" is of a program per device; export shard_map with Shardy}}
func.func public @main(%arg0: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dims={manual}}"}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @manual_lists(%arg0: tensor<8xf32>) {
  // expected-error @below {{sdy.manual_computation has no list "in_shardings" of 1 shardings; the form that JAX prints has one}}
  "sdy.manual_computation"(%arg0) ({
  }) {in_shardings = [], out_shardings = []} : (tensor<8xf32>) -> ()
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @manual_sharding(%arg0: tensor<8xf32>) {
  // expected-error @below {{sdy.manual_computation has "odd" as a sharding}}
  "sdy.manual_computation"(%arg0) ({
  }) {in_shardings = ["odd"], out_shardings = []} : (tensor<8xf32>) -> ()
  return
}
