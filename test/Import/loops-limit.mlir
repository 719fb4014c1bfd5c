// RUN: dist-opt %s --dist-import-loops="unroll max-operations=6" -verify-diagnostics

// Tests that all unrolled loops together have a limit: three operations in each of two iterations, twice.

func.func @twice(%0: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<i32>
  cond {
    %bound = stablehlo.constant dense<2> : tensor<i32>
    %2 = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.multiply %x, %x : tensor<i32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<i32>
  }
  // expected-error @below {{unrolling loops makes more than 6 operations}}
  %4:2 = stablehlo.while(%i = %zero, %x = %1#1) : tensor<i32>, tensor<i32>
  cond {
    %bound = stablehlo.constant dense<2> : tensor<i32>
    %2 = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.multiply %x, %x : tensor<i32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<i32>
  }
  return %4#1 : tensor<i32>
}
