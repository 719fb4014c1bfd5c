// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests scatter_c1: dimension lists that do not fit.
func.func @scatter_c1_vector(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>, %u: tensor<8x16x64xf32>) {
  // expected-error @below {{has an index vector of size 1 for 2 dimensions}}
  %0 = net.scatter add %t, %i, %u <updateWindowDims = [2], insertedDims = [0], scatterDimsToOperandDims = [0, 1], indexVectorDim = 2> : tensor<100x64xf32>, tensor<8x16x1xi32>, tensor<8x16x64xf32> -> tensor<100x64xf32>
  return
}

// -----

func.func @scatter_c1_twice(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>, %u: tensor<8x16x64xf32>) {
  // expected-error @below {{index map names dimension 2 of a tensor of rank 2}}
  %0 = net.scatter add %t, %i, %u <updateWindowDims = [2], insertedDims = [0], scatterDimsToOperandDims = [2], indexVectorDim = 2> : tensor<100x64xf32>, tensor<8x16x1xi32>, tensor<8x16x64xf32> -> tensor<100x64xf32>
  return
}

// -----

// Tests scatter_c2: updates of another shape.
func.func @scatter_c2_window(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>, %u: tensor<8x16x65xf32>) {
  // expected-error @below {{writes boxes of size 65 to dimension 1 of size 64}}
  %0 = net.scatter add %t, %i, %u <updateWindowDims = [2], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 2> : tensor<100x64xf32>, tensor<8x16x1xi32>, tensor<8x16x65xf32> -> tensor<100x64xf32>
  return
}

// -----

func.func @scatter_c2_batch(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>, %u: tensor<8x15x64xf32>) {
  // expected-error @below {{has result shape [8, 15, 64] but its operands and attributes make [8, 16, 64]}}
  %0 = net.scatter add %t, %i, %u <updateWindowDims = [2], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 2> : tensor<100x64xf32>, tensor<8x16x1xi32>, tensor<8x15x64xf32> -> tensor<100x64xf32>
  return
}

// -----

// Tests scatter_c3: types that differ.
func.func @scatter_c3(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>, %u: tensor<8x16x64xf64>) {
  // expected-error @below {{combines 'tensor<8x16x64xf64>' into 'tensor<100x64xf32>' to 'tensor<100x64xf32>'}}
  %0 = net.scatter add %t, %i, %u <updateWindowDims = [2], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 2> : tensor<100x64xf32>, tensor<8x16x1xi32>, tensor<8x16x64xf64> -> tensor<100x64xf32>
  return
}
