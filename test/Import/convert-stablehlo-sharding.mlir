// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file | FileCheck %s --implicit-check-not=sdy.mesh

// Tests that a mesh in the text is left out with a warning.

// CHECK-LABEL: func.func @main
// expected-warning @below {{the graph's own sharding is left out; say it in the strategy}}
sdy.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}]>}) {
  return
}

// -----

// Tests that a constraint inside the graph is an error; what it says would be lost.

func.func @constraint(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{custom op 'sdy.sharding_constraint' is not known; docs/design/import.md lists the operations that are}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"dp"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
