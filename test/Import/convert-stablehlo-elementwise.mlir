// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s

// Tests that elementwise operations become those of net, as JAX prints them and in the generic form.

// CHECK-LABEL: func @unary
func.func @unary(%arg0: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xi1>) {
  // CHECK: %[[EXP:.*]] = net.exponential %arg0 : tensor<4x8xf32>
  %0 = stablehlo.exponential %arg0 : tensor<4x8xf32>
  // CHECK: %[[ERF:.*]] = net.erf %[[EXP]]
  %1 = chlo.erf %0 : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: %[[SQUARE:.*]] = net.multiply %[[ERF]], %[[ERF]]
  %2 = chlo.square %1 : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: %[[LOG:.*]] = net.log_plus_one %[[SQUARE]]
  %3 = "stablehlo.log_plus_one"(%2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: %[[ROUND:.*]] = net.round_nearest_even %[[LOG]]
  %4 = stablehlo.round_nearest_even %3 : tensor<4x8xf32>
  // CHECK: %[[FINITE:.*]] = net.is_finite %[[ROUND]] : tensor<4x8xf32> -> tensor<4x8xi1>
  %5 = stablehlo.is_finite %4 : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: return %[[EXP]], %[[SQUARE]], %[[ROUND]], %[[FINITE]]
  return %0, %2, %4, %5 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xi1>
}

// CHECK-LABEL: func @every_unary
func.func @every_unary(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: net.abs
  %0 = stablehlo.abs %arg0 : tensor<4xf32>
  // CHECK-NEXT: net.cbrt
  %1 = stablehlo.cbrt %0 : tensor<4xf32>
  // CHECK-NEXT: net.ceil
  %2 = stablehlo.ceil %1 : tensor<4xf32>
  // CHECK-NEXT: net.cosine
  %3 = stablehlo.cosine %2 : tensor<4xf32>
  // CHECK-NEXT: net.exponential_minus_one
  %4 = stablehlo.exponential_minus_one %3 : tensor<4xf32>
  // CHECK-NEXT: net.floor
  %5 = stablehlo.floor %4 : tensor<4xf32>
  // CHECK-NEXT: net.log
  %6 = stablehlo.log %5 : tensor<4xf32>
  // CHECK-NEXT: net.logistic
  %7 = stablehlo.logistic %6 : tensor<4xf32>
  // CHECK-NEXT: net.negate
  %8 = stablehlo.negate %7 : tensor<4xf32>
  // CHECK-NEXT: net.rsqrt
  %9 = stablehlo.rsqrt %8 : tensor<4xf32>
  // CHECK-NEXT: net.sign
  %10 = stablehlo.sign %9 : tensor<4xf32>
  // CHECK-NEXT: net.sine
  %11 = stablehlo.sine %10 : tensor<4xf32>
  // CHECK-NEXT: net.sqrt
  %12 = stablehlo.sqrt %11 : tensor<4xf32>
  // CHECK-NEXT: net.tan
  %13 = stablehlo.tan %12 : tensor<4xf32>
  // CHECK-NEXT: net.tanh
  %14 = stablehlo.tanh %13 : tensor<4xf32>
  // CHECK-NEXT: net.erfc
  %15 = chlo.erfc %14 : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: net.tan
  %16 = chlo.tan %15 : tensor<4xf32> -> tensor<4xf32>
  return %16 : tensor<4xf32>
}

// CHECK-LABEL: func @every_binary
func.func @every_binary(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[ADD:.*]] = net.add %arg0, %arg1 : tensor<4xf32>
  %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
  // CHECK-NEXT: net.atan2 %[[ADD]], %arg1
  %1 = stablehlo.atan2 %0, %arg1 : tensor<4xf32>
  // CHECK-NEXT: net.divide
  %2 = stablehlo.divide %1, %arg1 : tensor<4xf32>
  // CHECK-NEXT: net.maximum
  %3 = stablehlo.maximum %2, %arg1 : tensor<4xf32>
  // CHECK-NEXT: net.minimum
  %4 = stablehlo.minimum %3, %arg1 : tensor<4xf32>
  // CHECK-NEXT: net.multiply
  %5 = stablehlo.multiply %4, %arg1 : tensor<4xf32>
  // CHECK-NEXT: net.power
  %6 = stablehlo.power %5, %arg1 : tensor<4xf32>
  // CHECK-NEXT: net.remainder
  %7 = stablehlo.remainder %6, %arg1 : tensor<4xf32>
  // CHECK-NEXT: net.subtract
  %8 = "stablehlo.subtract"(%7, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}

// CHECK-LABEL: func @bits
func.func @bits(%arg0: tensor<4xui32>, %arg1: tensor<4xui32>) -> tensor<4xui32> {
  // CHECK-NEXT: net.shift_left %arg0, %arg1 : tensor<4xui32>
  %0 = stablehlo.shift_left %arg0, %arg1 : tensor<4xui32>
  // CHECK-NEXT: net.shift_right_logical
  %1 = stablehlo.shift_right_logical %0, %arg1 : tensor<4xui32>
  // CHECK-NEXT: net.shift_right_arithmetic
  %2 = stablehlo.shift_right_arithmetic %1, %arg1 : tensor<4xui32>
  // CHECK-NEXT: net.xor
  %3 = stablehlo.xor %2, %arg1 : tensor<4xui32>
  // CHECK-NEXT: net.not
  %4 = stablehlo.not %3 : tensor<4xui32>
  // CHECK-NEXT: net.and
  %5 = stablehlo.and %4, %arg1 : tensor<4xui32>
  // CHECK-NEXT: net.or
  %6 = stablehlo.or %5, %arg1 : tensor<4xui32>
  return %6 : tensor<4xui32>
}

// Tests that arithmetic of booleans is logical.

// CHECK-LABEL: func @booleans
func.func @booleans(%arg0: tensor<4xi1>, %arg1: tensor<4xi1>) -> tensor<4xi1> {
  // CHECK-NEXT: net.or %arg0, %arg1 : tensor<4xi1>
  %0 = stablehlo.add %arg0, %arg1 : tensor<4xi1>
  // CHECK-NEXT: net.and
  %1 = stablehlo.multiply %0, %arg1 : tensor<4xi1>
  // CHECK-NEXT: net.or
  %2 = stablehlo.maximum %1, %arg1 : tensor<4xi1>
  // CHECK-NEXT: net.and
  %3 = stablehlo.minimum %2, %arg1 : tensor<4xi1>
  return %3 : tensor<4xi1>
}

// CHECK-LABEL: func @compare
func.func @compare(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>, %arg2: tensor<4xui8>, %arg3: tensor<4xi1>)
    -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  // CHECK-NEXT: net.compare gt, %arg0, %arg0 : tensor<4xf32> -> tensor<4xi1>
  %0 = stablehlo.compare GT, %arg0, %arg0, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: net.compare le, %arg0, %arg0 total_order
  %1 = stablehlo.compare LE, %arg0, %arg0, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: net.compare lt, %arg1, %arg1 : tensor<4xi32>
  %2 = stablehlo.compare LT, %arg1, %arg1, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK-NEXT: net.compare ge, %arg2, %arg2 : tensor<4xui8>
  %3 = stablehlo.compare GE, %arg2, %arg2, UNSIGNED : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  // CHECK-NEXT: net.compare ne, %arg3, %arg3 : tensor<4xi1>
  %4 = stablehlo.compare NE, %arg3, %arg3, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK-NEXT: net.compare eq, %arg1, %arg1 : tensor<4xi32>
  %5 = "stablehlo.compare"(%arg1, %arg1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}>
      : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0, %1, %2, %3, %4, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func @convert
func.func @convert(%arg0: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xi1>, tensor<4xf32>) {
  // CHECK-NEXT: %[[NARROW:.*]] = net.convert %arg0 : tensor<4xf32> -> tensor<4xbf16>
  %0 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK-NEXT: %[[BOOL:.*]] = net.convert %arg0 : tensor<4xf32> -> tensor<4xi1>
  %1 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xi1>
  // A conversion to the same type is none.
  %2 = stablehlo.convert %arg0 : tensor<4xf32>
  // CHECK-NEXT: return %[[NARROW]], %[[BOOL]], %arg0
  return %0, %1, %2 : tensor<4xbf16>, tensor<4xi1>, tensor<4xf32>
}

// Tests that one predicate for all is repeated.

// CHECK-LABEL: func @select
func.func @select(%arg0: tensor<i1>, %arg1: tensor<3xf32>, %arg2: tensor<3xi1>, %arg3: tensor<f32>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<f32>) {
  // CHECK-NEXT: %[[ALL:.*]] = net.broadcast %arg0 dims = [] : tensor<i1> -> tensor<3xi1>
  // CHECK-NEXT: net.select %[[ALL]], %arg1, %arg1 : tensor<3xi1>, tensor<3xf32>
  %0 = stablehlo.select %arg0, %arg1, %arg1 : tensor<i1>, tensor<3xf32>
  // CHECK-NEXT: net.select %arg2, %arg1, %arg1 : tensor<3xi1>, tensor<3xf32>
  %1 = "stablehlo.select"(%arg2, %arg1, %arg1) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK-NEXT: net.select %arg0, %arg3, %arg3 : tensor<i1>, tensor<f32>
  %2 = stablehlo.select %arg0, %arg3, %arg3 : tensor<i1>, tensor<f32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<f32>
}

// Tests that new operations keep scope and role, and that unused ones are removed.

// CHECK-LABEL: func @keeps_scope
func.func @keeps_scope(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: net.add %arg0, %arg0 {net.role = #net.role<backward>, net.scope = "h.0"}
  %0 = stablehlo.add %arg0, %arg0 {net.scope = "h.0", net.role = #net.role<backward>} : tensor<4xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  // CHECK-NEXT: return
  return %0 : tensor<4xf32>
}
