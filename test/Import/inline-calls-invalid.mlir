// RUN: dist-opt %s --dist-import-inline-calls -verify-diagnostics -split-input-file

func.func public @main() {
  call @even() : () -> ()
  return
}
func.func private @even() {
  call @odd() : () -> ()
  return
}
func.func private @odd() {
  // expected-error @below {{@even calls itself; calls are inlined and have to end}}
  call @even() : () -> ()
  return
}

// -----

func.func public @main() {
  call @declared() : () -> ()
  return
}
// expected-error @below {{function @declared has 0 blocks, not one}}
func.func private @declared()

// -----

// Tests that functions that double with every call are found out before memory is.

func.func public @main() {
  call @f0() : () -> ()
  return
}
func.func private @f0() {
  call @f1() : () -> ()
  call @f1() : () -> ()
  return
}
func.func private @f1() {
  call @f2() : () -> ()
  call @f2() : () -> ()
  return
}
func.func private @f2() {
  call @f3() : () -> ()
  // expected-error @below {{inlining makes more than 10000000 operations}}
  call @f3() : () -> ()
  return
}
func.func private @f3() {
  call @f4() : () -> ()
  call @f4() : () -> ()
  return
}
func.func private @f4() {
  call @f5() : () -> ()
  call @f5() : () -> ()
  return
}
func.func private @f5() {
  call @f6() : () -> ()
  call @f6() : () -> ()
  return
}
func.func private @f6() {
  call @f7() : () -> ()
  call @f7() : () -> ()
  return
}
func.func private @f7() {
  call @f8() : () -> ()
  call @f8() : () -> ()
  return
}
func.func private @f8() {
  call @f9() : () -> ()
  call @f9() : () -> ()
  return
}
func.func private @f9() {
  call @f10() : () -> ()
  call @f10() : () -> ()
  return
}
func.func private @f10() {
  call @f11() : () -> ()
  call @f11() : () -> ()
  return
}
func.func private @f11() {
  call @f12() : () -> ()
  call @f12() : () -> ()
  return
}
func.func private @f12() {
  call @f13() : () -> ()
  call @f13() : () -> ()
  return
}
func.func private @f13() {
  call @f14() : () -> ()
  call @f14() : () -> ()
  return
}
func.func private @f14() {
  call @f15() : () -> ()
  call @f15() : () -> ()
  return
}
func.func private @f15() {
  call @f16() : () -> ()
  call @f16() : () -> ()
  return
}
func.func private @f16() {
  call @f17() : () -> ()
  call @f17() : () -> ()
  return
}
func.func private @f17() {
  call @f18() : () -> ()
  call @f18() : () -> ()
  return
}
func.func private @f18() {
  call @f19() : () -> ()
  call @f19() : () -> ()
  return
}
func.func private @f19() {
  call @f20() : () -> ()
  call @f20() : () -> ()
  return
}
func.func private @f20() {
  call @f21() : () -> ()
  call @f21() : () -> ()
  return
}
func.func private @f21() {
  call @f22() : () -> ()
  call @f22() : () -> ()
  return
}
func.func private @f22() {
  call @f23() : () -> ()
  call @f23() : () -> ()
  return
}
func.func private @f23() {
  call @f24() : () -> ()
  call @f24() : () -> ()
  return
}
func.func private @f24() {
  return
}

// -----

func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.composite has no function of its operands and results as "decomposition"}}
  %0 = stablehlo.composite "vendor.magnitude" %arg0 {decomposition = @magnitude} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @magnitude(%arg0: tensor<5xf32>) -> tensor<5xf32> {
  return %arg0 : tensor<5xf32>
}

// -----

// Tests that an operation of a dialect that is not linked is no end of a function, whatever the verifier takes it for.

func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// expected-error @below {{function @f does not end with its return}}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
}

// -----

func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.custom_call has called_computations [@greater], which are not one function that ends with stablehlo.return}}
  %0 = stablehlo.custom_call @ApproxTopK(%x) {called_computations = [@greater]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @greater(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
