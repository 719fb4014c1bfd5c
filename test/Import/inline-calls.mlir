// RUN: dist-opt %s --dist-import-inline-calls -split-input-file | FileCheck %s --implicit-check-not=call --implicit-check-not=private

// Tests that a function that is called many times is copied to every call, in the scope of the call.

// CHECK-LABEL: func.func public @main
func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[FIRST:.*]] = "stablehlo.abs"(%arg0) {net.scope = "h.0.inner"}
  %0 = call @f(%arg0) {net.scope = "h.0"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[SECOND:.*]] = "stablehlo.abs"(%[[FIRST]]) {net.scope = "h.1.inner"}
  %1 = call @f(%0) {net.scope = "h.1"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[THIRD:.*]] = "stablehlo.abs"(%[[SECOND]]) {net.scope = "inner"}
  %2 = call @f(%1) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: return %[[THIRD]]
  return %2 : tensor<4xf32>
}
func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.abs %arg0 {net.scope = "inner"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Tests that calls in functions that are called are inlined, with all scopes on the way, and several results in any order.

// CHECK-LABEL: func.func public @chain
func.func public @chain(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> (tensor<f32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[ABS:.*]] = "stablehlo.abs"(%arg0) {net.role = #net.role<backward>, net.scope = "a.b"}
  %0:2 = call @swap(%arg0, %arg1) {net.scope = "a", net.role = #net.role<backward>} : (tensor<4xf32>, tensor<f32>) -> (tensor<f32>, tensor<4xf32>)
  call @nothing() : () -> ()
  // CHECK-NEXT: return %arg1, %[[ABS]]
  return %0#0, %0#1 : tensor<f32>, tensor<4xf32>
}
func.func private @swap(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> (tensor<f32>, tensor<4xf32>) {
  %0 = call @f(%arg0) {net.scope = "b", net.role = #net.role<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %arg1, %0 : tensor<f32>, tensor<4xf32>
}
func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.abs %arg0 {net.role = #net.role<forward>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @nothing() {
  return
}
func.func private @unused() {
  return
}

// -----

// Tests that calls inside of regions are inlined there.

// CHECK-LABEL: func.func public @region
func.func public @region(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> tensor<f32> {
  // CHECK: ^bb0(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>):
  // CHECK-NEXT: %[[SUM:.*]] = "stablehlo.add"(%[[A]], %[[B]])
  // CHECK-NEXT: "stablehlo.return"(%[[SUM]])
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = func.call @plus(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @plus(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Tests that a composite operation is what its decomposition computes, in its own scope.
// CHECK-LABEL: func.func public @main
func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[ABS:.*]] = "stablehlo.abs"(%arg0) {net.scope = "h.0"}
  %0 = stablehlo.composite "vendor.magnitude" %arg0 {composite_attributes = {mode = 1 : i32}, decomposition = @magnitude, net.scope = "h.0", version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: return %[[ABS]]
  return %0 : tensor<4xf32>
}
func.func private @magnitude(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.abs %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
