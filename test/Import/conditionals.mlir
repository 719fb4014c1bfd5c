// RUN: dist-opt %s --dist-import-conditionals | FileCheck %s --implicit-check-not=stablehlo.if --implicit-check-not=stablehlo.case

// Tests that all branches are computed, and that one is taken.

// The example of the pass.
// CHECK-LABEL: func @either
// CHECK: %[[ONE:.*]] = "stablehlo.constant"() {value = dense<1.000000e+00> : tensor<4xf32>}
// CHECK: %[[X:.*]] = "stablehlo.select"(%arg0, %arg1, %[[ONE]])
// CHECK: %[[TANH:.*]] = "stablehlo.tanh"(%[[X]])
// CHECK: "stablehlo.select"(%arg0, %[[TANH]], %arg1)
func.func @either(%p: tensor<i1>, %0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = "stablehlo.if"(%p) ({
    %2 = stablehlo.tanh %0 : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }, {
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Values other than floats, and constants, are unchanged.
// CHECK-LABEL: func @unguarded
// CHECK-COUNT-1: "stablehlo.select"
// CHECK-NOT: "stablehlo.select"
func.func @unguarded(%p: tensor<i1>, %0: tensor<4xi32>) -> tensor<4xi32> {
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %1 = "stablehlo.if"(%p) ({
    %2 = stablehlo.convert %zero : (tensor<4xf32>) -> tensor<4xi32>
    stablehlo.return %2 : tensor<4xi32>
  }, {
    stablehlo.return %0 : tensor<4xi32>
  }) : (tensor<i1>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}

// The last of three branches is taken for all other numbers.
// CHECK-LABEL: func @one_of_three
// CHECK: %[[OTHER:.*]] = "stablehlo.or"
// CHECK: %[[IS_LAST:.*]] = "stablehlo.not"(%[[OTHER]])
// CHECK: %[[X:.*]] = "stablehlo.select"(%[[IS_LAST]], %arg1, %{{.*}})
// CHECK: %[[LAST:.*]] = "stablehlo.sine"(%[[X]])
// CHECK: %[[MIDDLE:.*]] = "stablehlo.cosine"
// CHECK: %[[ONE:.*]] = "stablehlo.constant"() {value = dense<1> : tensor<i32>}
// CHECK: %[[IS_ONE:.*]] = "stablehlo.compare"(%arg0, %[[ONE]]) {comparison_direction = "EQ"}
// CHECK: %[[BEHIND:.*]] = "stablehlo.select"(%[[IS_ONE]], %[[MIDDLE]], %[[LAST]])
// CHECK: %[[FIRST:.*]] = "stablehlo.tanh"
// CHECK: %[[IS_ZERO:.*]] = "stablehlo.compare"
// CHECK: "stablehlo.select"(%[[IS_ZERO]], %[[FIRST]], %[[BEHIND]])
func.func @one_of_three(%index: tensor<i32>, %0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = "stablehlo.case"(%index) ({
    %2 = stablehlo.tanh %0 : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }, {
    %2 = stablehlo.cosine %0 : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }, {
    %2 = stablehlo.sine %0 : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A constant predicate leaves only its branch.
// CHECK-LABEL: func @known
// CHECK-NOT: stablehlo.tanh
// CHECK: stablehlo.sine
// CHECK-NOT: stablehlo.select
func.func @known(%0: tensor<4xf32>) -> tensor<4xf32> {
  %index = stablehlo.constant dense<-1> : tensor<i32>
  %1 = "stablehlo.case"(%index) ({
    %2 = stablehlo.tanh %0 : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }, {
    %2 = stablehlo.sine %0 : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
