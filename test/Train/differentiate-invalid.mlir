// RUN: dist-opt %s -split-input-file --dist-train-differentiate -verify-diagnostics -allow-unregistered-dialect

// expected-error @below {{has 2 scalar results of floats among 2; say which one is the loss}}
func.func @two_scalars(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  return %x, %y : tensor<f64>, tensor<f64>
}

// -----

// expected-error @below {{has 0 scalar results of floats among 1; say which one is the loss}}
func.func @no_scalar(%x: tensor<2xf64>) -> tensor<2xf64> {
  return %x : tensor<2xf64>
}

// -----

// expected-note @below {{the first is here}}
func.func @first() { return }

// expected-error @below {{a program has one public function, but this is the second}}
func.func @second() { return }

// -----

net.variable parameter @w : tensor<2xf64>

func.func @no_derivative(%i: tensor<1x1xi32>, %u: tensor<1xf64>) -> tensor<f64> {
  %w = net.read @w : tensor<2xf64>
  // expected-error @below {{combines by multiply, which has no derivative; only add, assign, max and min do}}
  %s = net.scatter multiply %w, %i, %u <insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> : tensor<2xf64>, tensor<1x1xi32>, tensor<1xf64> -> tensor<2xf64>
  %loss = net.reduce sum %s dims = [0] : tensor<2xf64> -> tensor<f64>
  return %loss : tensor<f64>
}

// -----

net.variable parameter @w : tensor<36xf64>

func.func @selected_in_large_windows(%x: tensor<100xf64>) -> tensor<f64> {
  %w = net.read @w : tensor<36xf64>
  // expected-error @below {{has windows of more than 64 elements, which its derivative does not go through}}
  %p = net.select_and_scatter max %x, %w sizes = [65] strides = [1] low = [0] high = [0] base_dilation = [1] window_dilation = [1] : tensor<100xf64>, tensor<36xf64> -> tensor<100xf64>
  %loss = net.reduce sum %p dims = [0] : tensor<100xf64> -> tensor<f64>
  return %loss : tensor<f64>
}

// -----

// expected-error @below {{a program has one public function with a body, but there is none}}
module {
  func.func private @declared()
}

// -----

net.variable parameter @w : tensor<4xf64>

func.func @logical_of_floats() -> tensor<f64> {
  %w = net.read @w : tensor<4xf64>
  // expected-error @below {{reduces floats by and, which has no derivative}}
  %loss = net.reduce and %w dims = [0] : tensor<4xf64> -> tensor<f64>
  return %loss : tensor<f64>
}

// -----

// expected-error @below {{function @two_blocks has 2 blocks, not one}}
func.func @two_blocks(%x: tensor<f64>) -> tensor<f64> {
  "foreign.jump"() [^next] : () -> ()
^next:
  return %x : tensor<f64>
}
