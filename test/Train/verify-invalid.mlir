// RUN: dist-opt %s -split-input-file --dist-train-verify -verify-diagnostics

func.func @gradient_without_consumer(%x: tensor<f32>) {
  // expected-error @below {{computes the gradient of p.w, which has no uses}}
  %0 = net.negate %x {net.name = "grad/p.w"} : tensor<f32>
  return
}

// -----

// expected-error @below {{has a gradient but is not assigned}}
net.variable parameter @p.w : tensor<f32>
func.func @parameter_not_assigned(%x: tensor<f32>) -> tensor<f32> {
  %0 = net.negate %x {net.name = "grad/p.w"} : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{is of kind optimizer_state but has no initializer}}
net.variable optimizer_state @m : tensor<f32>
func.func @state_without_initializer() { return }

// -----

// expected-error @below {{is of kind counter but is not assigned}}
net.variable counter @steps : tensor<i32> = <constant, 0.0, 0.0>
func.func @counter_not_assigned() {
  %0 = net.read @steps : tensor<i32>
  return
}

// -----

// expected-error @below {{is of kind accumulator but is not read}}
net.variable accumulator @sum : tensor<f32> = <constant, 0.0, 0.0>
func.func @accumulator_not_read(%x: tensor<f32>) {
  net.assign @sum, %x : tensor<f32>
  return
}
