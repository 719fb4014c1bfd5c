// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file | FileCheck %s --implicit-check-not=sdy.mesh

// Tests that a mesh in the text is left out with a warning.

// CHECK-LABEL: func.func @main
// expected-warning @below {{the graph's own sharding is ignored; state it in the strategy}}
sdy.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}]>}) {
  return
}

// -----

// Tests that a constraint inside the graph is an error; what it says would be lost.

func.func @constraint(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{sdy.sharding_constraint splits over axes of the graph's own mesh; say it in the strategy}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"dp"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Tests that the generic form of such a constraint is an error too.

func.func @generic_constraint(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{sdy.sharding_constraint splits over axes of the graph's own mesh; say it in the strategy}}
  %0 = "sdy.sharding_constraint"(%arg0) <{sharding = #sdy.sharding<@mesh, [{"dp", ?}, {}]>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// Tests that a constraint without axes, as JAX writes for keys, is left out, and so is a mesh without axes, without a word.

// CHECK-LABEL: func.func @key
// CHECK-NEXT: return %arg0
sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
func.func @key(%arg0: tensor<2xui32>) -> tensor<2xui32> {
  %0 = sdy.sharding_constraint %arg0 <@empty_mesh, [{}]> : tensor<2xui32>
  return %0 : tensor<2xui32>
}
