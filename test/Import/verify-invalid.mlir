// RUN: dist-opt %s --dist-import-verify -verify-diagnostics -split-input-file -allow-unregistered-dialect

func.func public @step(%arg0: tensor<4xf32> {net.name = "x"}) -> (tensor<4xf32> {net.name = "out"}) {
  // expected-error @below {{operation stablehlo.abs neither belongs to net nor has a sharding rule}}
  %0 = stablehlo.abs %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 is of 'tensor<?xf32>', whose dimension 0 has no size; export with static shapes}}
func.func public @step(%arg0: tensor<?xf32> {net.name = "x"}) {
  return
}

// -----

// expected-error @below {{argument 0 is of 'tensor<4xcomplex<f32>>', whose elements are not known; f64, f32, f16, bf16, floats of 8 bits with a mantissa, i1 and integers of 8, 16, 32 and 64 bits are}}
func.func public @step(%arg0: tensor<4xcomplex<f32>> {net.name = "x"}) {
  return
}

// -----

// expected-error @below {{input 0 has no name}}
func.func public @step(%arg0: tensor<4xf32>) {
  return
}

// -----

// expected-error @below {{result 0 has no name}}
func.func public @step(%arg0: tensor<4xf32> {net.name = "x"}) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}

// -----

// expected-error @below {{a variable of 'tensor<4xf32>' has no name}}
net.variable parameter @"" : tensor<4xf32>
func.func public @step() {
  return
}
