// RUN: dist-opt %s --dist-import-loops | FileCheck %s --implicit-check-not=stablehlo.while

// Tests that loops which compute with floats stay loops.

// The example of the pass.
// CHECK-LABEL: func @three_iterations
// CHECK: %[[I:.*]] = net.loop count = 3
// CHECK: %[[X:.*]] = net.carry %arg0 in %[[I]]
// CHECK: %[[Y:.*]] = "stablehlo.tanh"(%[[X]])
// CHECK: %[[LAST:.*]] = net.next %[[Y]] for %[[X]]
// CHECK: net.end_loop %[[I]]
// CHECK: return %[[LAST]]
func.func @three_iterations(%0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<4xf32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.tanh %x : tensor<4xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// Inputs of a scan are taken, its outputs stacked. The index is JAX's form of a counter that could be negative; another value's
// slice, whose first dimension is not the loop's, stays a dynamic slice.
// CHECK-LABEL: func @scan
// CHECK: %[[I:.*]] = net.loop count = 3
// CHECK-NOT: reverse
// CHECK: net.take %arg0 in %[[I]] : tensor<3x4xf32> -> tensor<4xf32>
// CHECK: stablehlo.dynamic_slice
// CHECK: net.stack %{{.*}} in %[[I]] : tensor<4xf32> -> tensor<3x4xf32>
// CHECK-NOT: stablehlo.dynamic_update_slice
// CHECK: net.end_loop
func.func @scan(%stack: tensor<3x4xf32>, %other: tensor<5x4xf32>) -> tensor<3x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %made = stablehlo.constant dense<0.0> : tensor<3x4xf32>
  %1:3 = stablehlo.while(%i = %zero, %s = %stack, %m = %made) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %is_negative = stablehlo.compare LT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %from_end = stablehlo.add %i, %three : tensor<i32>
    %index = stablehlo.select %is_negative, %from_end, %i : tensor<i1>, tensor<i32>
    %x = "stablehlo.dynamic_slice"(%s, %index, %zero) {slice_sizes = array<i64: 1, 4>} : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %y = "stablehlo.dynamic_slice"(%other, %index, %zero) {slice_sizes = array<i64: 1, 4>} : (tensor<5x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %z = stablehlo.add %x, %y : tensor<1x4xf32>
    %n = "stablehlo.dynamic_update_slice"(%m, %z, %index, %zero) : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    stablehlo.return %2, %s, %n : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
  }
  return %1#2 : tensor<3x4xf32>
}

// Backward goes from the last element to the first, by an index that is 3 - i - 1. The counter is made of the index; after the loop it is 3.
// CHECK-LABEL: func @backward
// CHECK: %[[I:.*]] = net.loop count = 3 reverse
// CHECK: %[[MINUS:.*]] = net.constant dense<-1> : tensor<i32>
// CHECK: %[[DOWN:.*]] = net.multiply %[[I]], %[[MINUS]]
// CHECK: %[[LAST:.*]] = net.constant dense<2> : tensor<i32>
// CHECK: %[[COUNT:.*]] = net.add %[[DOWN]], %[[LAST]]
// CHECK: net.take %arg0 in %[[I]]
// CHECK: "stablehlo.convert"(%[[COUNT]])
// CHECK: net.end_loop
// CHECK: return %{{.*}}, %[[BEHIND:.*]] :
func.func @backward(%stack: tensor<3xf32>) -> (tensor<f32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<f32>
  %1:2 = stablehlo.while(%i = %zero, %x = %start) : tensor<i32>, tensor<f32>
  cond {
    %2 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.add %i, %one : tensor<i32>
    %left = stablehlo.subtract %three, %i : tensor<i32>
    %index = stablehlo.subtract %left, %one : tensor<i32>
    %3 = "stablehlo.dynamic_slice"(%stack, %index) {slice_sizes = array<i64: 1>} : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>
    %4 = stablehlo.reshape %3 : (tensor<1xf32>) -> tensor<f32>
    %count = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %5 = stablehlo.multiply %4, %count : tensor<f32>
    %6 = stablehlo.add %x, %5 : tensor<f32>
    stablehlo.return %2, %6 : tensor<i32>, tensor<f32>
  }
  return %1#1, %1#0 : tensor<f32>, tensor<i32>
}

// A loop of integers alone is written out.
// CHECK-LABEL: func @integers
// CHECK-NOT: net.loop
// CHECK-COUNT-3: stablehlo.xor
func.func @integers(%0: tensor<4xui32>) -> tensor<4xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<4xui32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.xor %x, %0 : tensor<4xui32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<4xui32>
  }
  return %1#1 : tensor<4xui32>
}
