// RUN: dist-opt %s --dist-import-conditionals -verify-diagnostics -split-input-file

// Tests what a conditional chooses by.

func.func @many(%p: tensor<4xi1>, %0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.if does not choose by one scalar of 1 bit}}
  %1 = "stablehlo.if"(%p) ({
    stablehlo.return %0 : tensor<4xf32>
  }, {
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<4xi1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Tests that every branch returns the results.

func.func @other(%index: tensor<i32>, %0: tensor<4xf32>, %1: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error @below {{branch 1 of stablehlo.case does not return the operation's 1 results}}
  %2 = "stablehlo.case"(%index) ({
    stablehlo.return %0 : tensor<4xf32>
  }, {
    stablehlo.return %1 : tensor<5xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Tests that an if has two branches.

func.func @alone(%p: tensor<i1>, %0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.if has 1 branches}}
  %1 = "stablehlo.if"(%p) ({
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
