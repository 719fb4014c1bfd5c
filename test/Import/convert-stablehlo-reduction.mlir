// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s

// CHECK-LABEL: func @reduce
func.func @reduce(%arg0: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  // CHECK-NEXT: net.reduce sum %arg0 dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %0 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // Dimensions in another order are the same reduction.
  // CHECK-NEXT: net.reduce product %arg0 dims = [0, 1]
  %1 = stablehlo.reduce(%arg0 init: %one) applies stablehlo.multiply across dimensions = [1, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: net.reduce max %arg0 dims = [0]
  %2 = stablehlo.reduce(%arg0 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  // CHECK-NEXT: net.reduce min %arg0 dims = [0, 1]
  %3 = "stablehlo.reduce"(%arg0, %high) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = "stablehlo.minimum"(%b, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%4) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: return
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<f32>, tensor<8xf32>, tensor<f32>
}

// CHECK-LABEL: func @reduce_integers
func.func @reduce_integers(%arg0: tensor<4xi32>, %arg1: tensor<4xui8>, %arg2: tensor<4xi1>) -> (tensor<i32>, tensor<i32>, tensor<ui8>, tensor<i1>, tensor<i1>) {
  %low = stablehlo.constant dense<-2147483648> : tensor<i32>
  %ones = stablehlo.constant dense<-1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<ui8>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  // CHECK-NEXT: net.reduce max %arg0
  %0 = stablehlo.reduce(%arg0 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  // CHECK-NEXT: net.reduce and %arg0
  %1 = stablehlo.reduce(%arg0 init: %ones) applies stablehlo.and across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  // CHECK-NEXT: net.reduce max %arg1
  %2 = stablehlo.reduce(%arg1 init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<4xui8>, tensor<ui8>) -> tensor<ui8>
  // CHECK-NEXT: net.reduce and %arg2
  %3 = stablehlo.reduce(%arg2 init: %true) applies stablehlo.minimum across dimensions = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
  // CHECK-NEXT: net.reduce or %arg2
  %4 = stablehlo.reduce(%arg2 init: %false) applies stablehlo.add across dimensions = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
  // CHECK-NEXT: return
  return %0, %1, %2, %3, %4 : tensor<i32>, tensor<i32>, tensor<ui8>, tensor<i1>, tensor<i1>
}

// Tests that an initial value that changes something is combined with.

// CHECK-LABEL: func @reduce_from_value
func.func @reduce_from_value(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[TWO:.*]] = net.constant dense<2.000000e+00>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  // CHECK-NEXT: %[[SUM:.*]] = net.reduce sum %arg0 dims = [1]
  // CHECK-NEXT: %[[TWOS:.*]] = net.broadcast %[[TWO]] dims = [] : tensor<f32> -> tensor<4xf32>
  // CHECK-NEXT: net.add %[[TWOS]], %[[SUM]]
  %0 = stablehlo.reduce(%arg0 init: %two) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[MAX:.*]] = net.reduce max %arg0 dims = [1]
  // CHECK-NEXT: %[[FLOOR:.*]] = net.broadcast %arg1 dims = [] : tensor<f32> -> tensor<4xf32>
  // CHECK-NEXT: net.maximum %[[FLOOR]], %[[MAX]]
  %1 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @reduce_nothing
func.func @reduce_nothing(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: return %arg0
  return %0 : tensor<4xf32>
}

// Tests that independent reductions written as one are several.

// CHECK-LABEL: func @reduce_several
func.func @reduce_several(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %cst = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: %[[THREE:.*]] = net.constant dense<3>
  %c = stablehlo.constant dense<3> : tensor<i32>
  // CHECK-NEXT: %[[SUM:.*]] = net.reduce sum %arg0 dims = [1]
  // CHECK-NEXT: %[[MAX:.*]] = net.reduce max %arg1 dims = [1]
  // CHECK-NEXT: %[[THREES:.*]] = net.broadcast %[[THREE]]
  // CHECK-NEXT: %[[ATLEAST:.*]] = net.maximum %[[THREES]], %[[MAX]]
  %0:2 = stablehlo.reduce(%arg0 init: %cst), (%arg1 init: %c) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<i32>, %arg5: tensor<i32>)  {
    %1 = stablehlo.add %arg2, %arg4 : tensor<f32>
    %2 = stablehlo.maximum %arg3, %arg5 : tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }
  // CHECK-NEXT: return %[[SUM]], %[[ATLEAST]]
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
}

// CHECK-LABEL: func @argmax
func.func @argmax(%arg0: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  // CHECK-NEXT: %[[VALUE:.*]], %[[INDEX:.*]] = net.arg_reduce max %arg0 dim = 1 : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%arg1: tensor<f32> loc("argmax"), %arg3: tensor<f32> loc("argmax")) (%arg2: tensor<i32> loc("argmax"), %arg4: tensor<i32> loc("argmax"))  {
    %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.and %5, %6 : tensor<i1>
    %8 = stablehlo.or %4, %7 : tensor<i1>
    %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f32>
    %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i32>
    stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
  }
  // CHECK-NEXT: return %[[VALUE]], %[[INDEX]]
  return %1#0, %1#1 : tensor<4xf32>, tensor<4xi32>
}

// Tests that the index may be a repeated count, and that booleans have their own worst value.

// CHECK-LABEL: func @argmin_of_booleans
func.func @argmin_of_booleans(%arg0: tensor<4x8xi1>) -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %0 = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x8xi32>
  %cst = stablehlo.constant dense<true> : tensor<i1>
  %c = stablehlo.constant dense<0> : tensor<i32>
  // CHECK-NEXT: %{{.*}}, %[[INDEX:.*]] = net.arg_reduce min %arg0 dim = 0 : tensor<4x8xi1> -> tensor<8xi1>, tensor<8xi32>
  %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [0] : (tensor<4x8xi1>, tensor<4x8xi32>, tensor<i1>, tensor<i32>) -> (tensor<8xi1>, tensor<8xi32>)
   reducer(%arg1: tensor<i1>, %arg3: tensor<i1>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
    %2 = stablehlo.compare LT, %arg1, %arg3, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %3 = stablehlo.compare NE, %arg1, %arg1, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.compare EQ, %arg1, %arg3, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.and %5, %6 : tensor<i1>
    %8 = stablehlo.or %4, %7 : tensor<i1>
    %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<i1>
    %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i32>
    stablehlo.return %9, %10 : tensor<i1>, tensor<i32>
  }
  // CHECK-NEXT: return %[[INDEX]]
  return %1#1 : tensor<8xi32>
}
