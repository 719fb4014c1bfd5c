// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-annotate-epilogues | FileCheck %s

// Tests which kernels a library may compute with the GEMM before them, and which it may not.

// CHECK-LABEL: func @bias
// CHECK: dist.matmul {{.*}}{dist.epilogue}
func.func @bias(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %1 = dist.kernel(%0, %b) {
  ^bb0(%p: tensor<2x8xf32>, %c: tensor<8xf32>):
    %2 = net.broadcast %c dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
    %3 = net.add %2, %p : tensor<2x8xf32>
    dist.yield %3 : tensor<2x8xf32>
  } : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// Layout operations are nothing that is done, and the bias comes in a shape of its own.
// CHECK-LABEL: func @bias_through_layouts
// CHECK: dist.matmul {{.*}}{dist.epilogue}
func.func @bias_through_layouts(%x: tensor<2x3x4xf16>, %w: tensor<4x8xf16>, %b: tensor<2x4xf16>) -> tensor<2x3x8xf16> {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 6 n 8 k 4 : tensor<2x3x4xf16>, tensor<4x8xf16> -> tensor<2x3x8xf16>
  %1 = dist.kernel(%b, %0) {
  ^bb0(%c: tensor<2x4xf16>, %p: tensor<2x3x8xf16>):
    %2 = net.broadcast %c dims = [1, 2] : tensor<2x4xf16> -> tensor<6x2x4xf16>
    %3 = net.reshape %p : tensor<2x3x8xf16> -> tensor<6x2x4xf16>
    %4 = net.add %3, %2 : tensor<6x2x4xf16>
    %5 = net.reshape %4 : tensor<6x2x4xf16> -> tensor<2x3x8xf16>
    dist.yield %5 : tensor<2x3x8xf16>
  } : (tensor<2x4xf16>, tensor<2x3x8xf16>) -> tensor<2x3x8xf16>
  return %1 : tensor<2x3x8xf16>
}

// As JAX writes it, in bf16, whose constants are far from those of the formula.
// CHECK-LABEL: func @gelu_of_bias
// CHECK: dist.matmul {{.*}}{dist.epilogue}
func.func @gelu_of_bias(%x: tensor<2x4xbf16>, %w: tensor<4x8xbf16>, %b: tensor<8xbf16>) -> (tensor<2x8xbf16>, tensor<2x8xbf16>) {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 : tensor<2x4xbf16>, tensor<4x8xbf16> -> tensor<2x8xbf16>
  %1:2 = dist.kernel(%0, %b) {
  ^bb0(%p: tensor<2x8xbf16>, %c: tensor<8xbf16>):
    %half = net.constant dense<5.000000e-01> : tensor<2x8xbf16>
    %one = net.constant dense<1.000000e+00> : tensor<2x8xbf16>
    %slope = net.constant dense<7.968750e-01> : tensor<2x8xbf16>
    %cubic = net.constant dense<4.467770e-02> : tensor<2x8xbf16>
    %2 = net.broadcast %c dims = [1] : tensor<8xbf16> -> tensor<2x8xbf16>
    %3 = net.add %p, %2 : tensor<2x8xbf16>
    %4 = net.multiply %3, %3 : tensor<2x8xbf16>
    %5 = net.multiply %4, %3 : tensor<2x8xbf16>
    %6 = net.multiply %cubic, %5 : tensor<2x8xbf16>
    %7 = net.add %3, %6 : tensor<2x8xbf16>
    %8 = net.multiply %slope, %7 : tensor<2x8xbf16>
    %9 = net.tanh %8 : tensor<2x8xbf16>
    %10 = net.add %one, %9 : tensor<2x8xbf16>
    %11 = net.multiply %half, %10 : tensor<2x8xbf16>
    %12 = net.multiply %3, %11 : tensor<2x8xbf16>
    dist.yield %3, %12 : tensor<2x8xbf16>, tensor<2x8xbf16>
  } : (tensor<2x8xbf16>, tensor<8xbf16>) -> (tensor<2x8xbf16>, tensor<2x8xbf16>)
  return %1#0, %1#1 : tensor<2x8xbf16>, tensor<2x8xbf16>
}

// Written in another way, in f32, of what is read again later.
// CHECK-LABEL: func @gelu_of_product
// CHECK: dist.matmul {{.*}}{dist.epilogue}
func.func @gelu_of_product(%x: tensor<2x4xbf16>, %w: tensor<4x8xbf16>) -> (tensor<2x8xbf16>, tensor<2x8xbf16>) {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 : tensor<2x4xbf16>, tensor<4x8xbf16> -> tensor<2x8xbf16>
  %1 = dist.kernel(%0) {
  ^bb0(%p: tensor<2x8xbf16>):
    %two = net.constant dense<2.000000e+00> : tensor<2x8xf32>
    %three = net.constant dense<3.000000e+00> : tensor<2x8xf32>
    %slope = net.constant dense<0.797884583> : tensor<2x8xf32>
    %both = net.constant dense<0.0356774069> : tensor<2x8xf32>
    %2 = net.convert %p : tensor<2x8xbf16> -> tensor<2x8xf32>
    %3 = net.power %2, %three : tensor<2x8xf32>
    %4 = net.multiply %3, %both : tensor<2x8xf32>
    %5 = net.multiply %2, %slope : tensor<2x8xf32>
    %6 = net.subtract %5, %4 : tensor<2x8xf32>
    %7 = net.add %4, %4 : tensor<2x8xf32>
    %8 = net.add %6, %7 : tensor<2x8xf32>
    %9 = net.tanh %8 : tensor<2x8xf32>
    %10 = net.divide %2, %two : tensor<2x8xf32>
    %11 = net.multiply %9, %10 : tensor<2x8xf32>
    %12 = net.negate %11 : tensor<2x8xf32>
    %13 = net.subtract %10, %12 : tensor<2x8xf32>
    %14 = net.convert %13 : tensor<2x8xf32> -> tensor<2x8xbf16>
    dist.yield %14 : tensor<2x8xbf16>
  } : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %0, %1 : tensor<2x8xbf16>, tensor<2x8xbf16>
}

// In column-major matrices the bias is added along the rows.
// CHECK-LABEL: func @bias_of_columns
// CHECK: dist.matmul {{.*}}{dist.epilogue}
func.func @bias_of_columns(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [2, 1] to [1, 8] batch [] m 8 n 2 k 4 : tensor<8x4xf32>, tensor<4x2xf32> -> tensor<2x8xf32>
  %1 = dist.kernel(%0, %b) {
  ^bb0(%p: tensor<2x8xf32>, %c: tensor<8xf32>):
    %2 = net.broadcast %c dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
    %3 = net.add %p, %2 : tensor<2x8xf32>
    dist.yield %3 : tensor<2x8xf32>
  } : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// CHECK-LABEL: func @f64
// CHECK-NOT: dist.epilogue
func.func @f64(%x: tensor<2x4xf64>, %w: tensor<4x8xf64>, %b: tensor<8xf64>) -> tensor<2x8xf64> {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 : tensor<2x4xf64>, tensor<4x8xf64> -> tensor<2x8xf64>
  %1 = dist.kernel(%0, %b) {
  ^bb0(%p: tensor<2x8xf64>, %c: tensor<8xf64>):
    %2 = net.broadcast %c dims = [1] : tensor<8xf64> -> tensor<2x8xf64>
    %3 = net.add %p, %2 : tensor<2x8xf64>
    dist.yield %3 : tensor<2x8xf64>
  } : (tensor<2x8xf64>, tensor<8xf64>) -> tensor<2x8xf64>
  return %1 : tensor<2x8xf64>
}

// The matrices are square, so that nothing but the index tells which way the vector goes.
// CHECK-LABEL: func @bias_of_rows
// CHECK-NOT: dist.epilogue
func.func @bias_of_rows(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 8 n 8 k 4 : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %1 = dist.kernel(%0, %b) {
  ^bb0(%p: tensor<8x8xf32>, %c: tensor<8xf32>):
    %2 = net.broadcast %c dims = [0] : tensor<8xf32> -> tensor<8x8xf32>
    %3 = net.add %p, %2 : tensor<8x8xf32>
    dist.yield %3 : tensor<8x8xf32>
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// A row of the result is two rows of the product's matrices.
// CHECK-LABEL: func @bias_of_longer_rows
// CHECK-NOT: dist.epilogue
func.func @bias_of_longer_rows(%x: tensor<4x4xf32>, %w: tensor<4x8xf32>, %b: tensor<16xf32>) -> tensor<2x16xf32> {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 4 n 8 k 4 : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<2x16xf32>
  %1 = dist.kernel(%0, %b) {
  ^bb0(%p: tensor<2x16xf32>, %c: tensor<16xf32>):
    %2 = net.broadcast %c dims = [1] : tensor<16xf32> -> tensor<2x16xf32>
    %3 = net.add %p, %2 : tensor<2x16xf32>
    dist.yield %3 : tensor<2x16xf32>
  } : (tensor<2x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
  return %1 : tensor<2x16xf32>
}

// CHECK-LABEL: func @product_is_read_again
// CHECK-NOT: dist.epilogue
func.func @product_is_read_again(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %1 = dist.kernel(%0, %b) {
  ^bb0(%p: tensor<2x8xf32>, %c: tensor<8xf32>):
    %2 = net.broadcast %c dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
    %3 = net.add %p, %2 : tensor<2x8xf32>
    dist.yield %3 : tensor<2x8xf32>
  } : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %0, %1 : tensor<2x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: func @twice
// CHECK-NOT: dist.epilogue
func.func @twice(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %1 = dist.kernel(%0, %b) {
  ^bb0(%p: tensor<2x8xf32>, %c: tensor<8xf32>):
    %2 = net.broadcast %c dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
    %3 = net.add %p, %2 : tensor<2x8xf32>
    %4 = net.add %3, %2 : tensor<2x8xf32>
    dist.yield %4 : tensor<2x8xf32>
  } : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// CHECK-LABEL: func @gelu_by_erf
// CHECK-NOT: dist.epilogue
func.func @gelu_by_erf(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %1 = dist.kernel(%0) {
  ^bb0(%p: tensor<2x8xf32>):
    %half = net.constant dense<5.000000e-01> : tensor<2x8xf32>
    %one = net.constant dense<1.000000e+00> : tensor<2x8xf32>
    %root = net.constant dense<0.707106769> : tensor<2x8xf32>
    %2 = net.multiply %p, %root : tensor<2x8xf32>
    %3 = net.erf %2 : tensor<2x8xf32>
    %4 = net.add %3, %one : tensor<2x8xf32>
    %5 = net.multiply %p, %half : tensor<2x8xf32>
    %6 = net.multiply %4, %5 : tensor<2x8xf32>
    dist.yield %6 : tensor<2x8xf32>
  } : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// Something else is done between the two.
// CHECK-LABEL: func @not_right_behind
// CHECK-NOT: dist.epilogue
func.func @not_right_behind(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>) {
  %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %1 = dist.kernel(%b) {
  ^bb0(%c: tensor<8xf32>):
    %2 = net.negate %c : tensor<8xf32>
    dist.yield %2 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %3 = dist.kernel(%0, %b) {
  ^bb0(%p: tensor<2x8xf32>, %c: tensor<8xf32>):
    %4 = net.broadcast %c dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
    %5 = net.add %p, %4 : tensor<2x8xf32>
    dist.yield %5 : tensor<2x8xf32>
  } : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %3, %1 : tensor<2x8xf32>, tensor<8xf32>
}
