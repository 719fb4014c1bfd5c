// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-propagate --split-input-file | FileCheck %s

// Tests that partial values pass an operation only where the result is the same for all values, or for what is known of
// the other operand. Each is followed by a slice, so that it would save bytes to reduce after both.

dist.mesh @mesh <["dp" = 2]>

// A rank whose own maximum is negative, or that has no row, would contribute NaN.
// CHECK-LABEL: @log_of_max
func.func @log_of_max(%x: tensor<5x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> tensor<2xf32> {
  %0 = net.reduce max %x dims = [0] : tensor<5x4xf32> -> tensor<4xf32>
  // CHECK: net.log %{{.*}} {dist.operands = [#dist.mapping<dims = {{\[}}[]]>]
  %1 = net.log %0 : tensor<4xf32>
  %2 = net.slice %1 starts = [0] limits = [2] steps = [1] : tensor<4xf32> -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>

// 500 is NaN in floats of 8 bits without infinity, and hides a minimum of 300; in bf16 every number stays one.
// CHECK-LABEL: @narrow_min
func.func @narrow_min(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> (tensor<4xf8E4M3FN>, tensor<4xbf16>) {
  %0 = net.reduce min %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  // CHECK: net.convert %{{.*}} {dist.operands = [#dist.mapping<dims = {{\[}}[]]>]{{.*}}f8E4M3FN
  %1 = net.convert %0 : tensor<4xf32> -> tensor<4xf8E4M3FN>
  %2 = net.reduce min %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  // CHECK: net.convert %{{.*}} {dist.computes = [#dist.mapping<dims = {{\[}}[]], partial = min ["dp"]>]{{.*}}bf16
  %3 = net.convert %2 : tensor<4xf32> -> tensor<4xbf16>
  return %1, %3 : tensor<4xf8E4M3FN>, tensor<4xbf16>
}

// -----

dist.mesh @mesh <["dp" = 2]>

// CHECK-LABEL: @scaled_sums
func.func @scaled_sums(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}, %c: tensor<4xf32>, %m: tensor<4xi1>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %sum = net.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  // A divisor may be zero, a factor infinite.
  // CHECK: net.divide %{{.*}}, %arg1 {dist.operands = [#dist.mapping<dims = {{\[}}[]]>
  %0 = net.divide %sum, %c : tensor<4xf32>
  %first = net.slice %0 starts = [0] limits = [2] steps = [1] : tensor<4xf32> -> tensor<2xf32>
  %sum1 = net.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  // CHECK: net.multiply %{{.*}}, %arg1 {dist.operands = [#dist.mapping<dims = {{\[}}[]]>
  %1 = net.multiply %sum1, %c : tensor<4xf32>
  %second = net.slice %1 starts = [0] limits = [2] steps = [1] : tensor<4xf32> -> tensor<2xf32>
  // A mean.
  %sum2 = net.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %eight = net.constant dense<8.0> : tensor<4xf32>
  // CHECK: net.divide {{.*}}dist.operands = [#dist.mapping<dims = {{\[}}[]], partial = sum ["dp"]>
  %2 = net.divide %sum2, %eight : tensor<4xf32>
  %third = net.slice %2 starts = [0] limits = [2] steps = [1] : tensor<4xf32> -> tensor<2xf32>
  // A mask.
  %sum3 = net.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %mask = net.convert %m : tensor<4xi1> -> tensor<4xf32>
  // CHECK: net.multiply {{.*}}dist.operands = [#dist.mapping<dims = {{\[}}[]], partial = sum ["dp"]>
  %3 = net.multiply %sum3, %mask : tensor<4xf32>
  %fourth = net.slice %3 starts = [0] limits = [2] steps = [1] : tensor<4xf32> -> tensor<2xf32>
  // The inverse root of a variance, which is finite whatever the variance is: 1 / sqrt(c * c + 1e-5).
  %sum4 = net.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %square = net.multiply %c, %c : tensor<4xf32>
  %epsilon = net.constant dense<1.0e-5> : tensor<4xf32>
  %variance = net.add %square, %epsilon : tensor<4xf32>
  %inverse = net.rsqrt %variance : tensor<4xf32>
  // CHECK: net.rsqrt
  // CHECK: net.multiply {{.*}}dist.operands = [#dist.mapping<dims = {{\[}}[]], partial = sum ["dp"]>
  %4 = net.multiply %sum4, %inverse : tensor<4xf32>
  %fifth = net.slice %4 starts = [0] limits = [2] steps = [1] : tensor<4xf32> -> tensor<2xf32>
  // The square itself may be infinite.
  %sum5 = net.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  // CHECK: net.multiply {{.*}}dist.operands = [#dist.mapping<dims = {{\[}}[]]>
  %5 = net.multiply %sum5, %square : tensor<4xf32>
  %sixth = net.slice %5 starts = [0] limits = [2] steps = [1] : tensor<4xf32> -> tensor<2xf32>
  return %first, %second, %third, %fourth, %fifth, %sixth : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
