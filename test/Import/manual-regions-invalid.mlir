// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-manual-regions="mesh=dp=2,tp=2" -split-input-file -verify-diagnostics

// expected-error @below {{the graph has the mesh tp=2,dp=2, which is not dp=2,tp=2}}
sdy.mesh @mesh = <["tp"=2, "dp"=2]>

// -----

// expected-error @below {{the mesh puts ranks in an order of its own; export the graph with a mesh that counts them}}
sdy.mesh @mesh = <["dp"=2, "tp"=2], device_ids=[0, 2, 1, 3]>

// -----

// expected-error @below {{the mesh does not name every axis, or does not have 1 to 65536 ranks}}
sdy.mesh @mesh = <["dp"=65536, "tp"=2]>

// -----

func.func @axis(%arg0: tensor<8xf32>) {
  // expected-error @below {{sdy.manual_computation splits a value over "pp", which is no axis of the mesh dp=2,tp=2 or stands twice}}
  sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"pp"}]>] out_shardings=[] manual_axes={"pp"} (%arg1: tensor<4xf32>) {
    sdy.return
  } : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @shape(%arg0: tensor<8xf32>) {
  // expected-error @below {{has a part of 'tensor<2xf32>', but its mapping makes it 'tensor<4xf32>'}}
  sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"dp"}]>] out_shardings=[] manual_axes={"dp"} (%arg1: tensor<2xf32>) {
    sdy.return
  } : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @numbers(%arg0: tensor<8xf32>) {
  // expected-error @below {{sdy.manual_computation has no sharding and no argument for each of its 1 operands and 0 results; the form that JAX prints has them}}
  sdy.manual_computation(%arg0) in_shardings=[] out_shardings=[] manual_axes={"dp"} (%arg1: tensor<4xf32>) {
    sdy.return
  } : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @end(%arg0: tensor<8xf32>) {
  // expected-error @below {{sdy.manual_computation does not end in sdy.return of its results}}
  sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"dp"}]>] out_shardings=[] manual_axes={"dp"} (%arg1: tensor<4xf32>) {
    sdy.return %arg1 : tensor<4xf32>
  } : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @sharding(%arg0: tensor<8xf32>) {
  // expected-error @below {{sdy.manual_computation has "text" as a sharding}}
  "sdy.manual_computation"(%arg0) <{in_shardings = ["text"], out_shardings = [], manual_axes = ["dp"]}> ({
  ^bb0(%arg1: tensor<8xf32>):
    "sdy.return"() : () -> ()
  }) : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @no_sharding(%arg0: tensor<8xf32>) {
  // expected-error @below {{stablehlo.custom_call of @SPMDFullToShardShape has no sharding of the whole value}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%arg0) : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @grid(%arg0: tensor<4xf32>) {
  // expected-error @below {{sharding "{devices=[3]<=[3]}" is no grid of the 4 ranks of the mesh dp=2,tp=2 for a value of 1 dimensions}}
  %0 = stablehlo.custom_call @SPMDShardToFullShape(%arg0) {mhlo.sharding = "{devices=[3]<=[3]}"} : (tensor<4xf32>) -> tensor<12xf32>
  return
}

// -----

func.func @text(%arg0: tensor<4xf32>) {
  // expected-error @below {{sharding "devices" is not of the form {devices=[2,1]<=[2]}}}
  %0 = stablehlo.custom_call @SPMDShardToFullShape(%arg0) {mhlo.sharding = "devices"} : (tensor<4xf32>) -> tensor<12xf32>
  return
}

// -----

func.func @no_axes(%arg0: tensor<4xf32>) {
  // expected-error @below {{sharding "{devices=[2,2]0,3,1,2 last_tile_dim_replicate}" is no grid of the 4 ranks of the mesh dp=2,tp=2 for a value of 1 dimensions}}
  %0 = stablehlo.custom_call @SPMDShardToFullShape(%arg0) {mhlo.sharding = "{devices=[2,2]0,3,1,2 last_tile_dim_replicate}"} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @operands(%arg0: tensor<4xf32>) {
  // expected-error @below {{stablehlo.custom_call of @SPMDShardToFullShape has no single operand and result}}
  stablehlo.custom_call @SPMDShardToFullShape(%arg0) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> ()
  return
}
