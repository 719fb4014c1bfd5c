// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-manual-regions -split-input-file -verify-diagnostics

// Tests texts that name no mesh, where none is given.

func.func @undeclared(%arg0: tensor<8xf32>) {
  // expected-error @below {{sdy.manual_computation names a mesh that the graph does not declare}}
  sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"dp"}]>] out_shardings=[] manual_axes={"dp"} (%arg1: tensor<4xf32>) {
    sdy.return
  } : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @older(%arg0: tensor<4xf32>) {
  // expected-error @below {{stablehlo.custom_call of @SPMDShardToFullShape computes per rank, but the graph names no mesh; state one, as dp=2,tp=4}}
  %0 = stablehlo.custom_call @SPMDShardToFullShape(%arg0) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @constraint(%arg0: tensor<4xf32>) {
  // expected-error @below {{sdy.sharding_constraint turns its operand into another type}}
  %0 = "sdy.sharding_constraint"(%arg0) <{sharding = #sdy.sharding<@mesh, [{}]>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["dp"=4]>
func.func @within_an_axis(%arg0: tensor<4xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{sharding "{devices=[2,2]<=[4] last_tile_dim_replicate}" does not split dimension 0 along axes of the mesh dp=4}}
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
