// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-batch-parts -split-input-file -verify-diagnostics

dist.mesh @mesh <["dp" = 2]>
func.func @twice(%arg0: tensor<8xf32>) -> tensor<4xf32> {
  %0 = dist.to_local %arg0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
  // expected-error @below {{a computation per rank takes parts along axis "dp" of a value that is a part along this axis already; an inner computation has axes that the outer one has not}}
  %1 = dist.to_local %0 in <dims = [["dp"]]> : tensor<4xf32> -> tensor<2xf32>
  %2 = dist.to_global %1 over ["dp"] in <dims = [["dp"]]> : tensor<2xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @alternating(%arg0: tensor<12xf32>) {
  // expected-error @below {{dist.to_local has the mapping #dist.mapping<dims = [[3, "dp"]]>, but only dimensions that axes divide evenly have a form for all ranks}}
  %0 = dist.to_local %arg0 in <dims = [[3, "dp"]]> : tensor<12xf32> -> tensor<6xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @unknown_operation(%arg0: tensor<8xf32>) {
  %0 = dist.to_local %arg0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
  // expected-error @below {{tensor.cast stands in a computation per rank, and has no form for many ranks; the interface BatchOpInterface gives it one}}
  %1 = "tensor.cast"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
