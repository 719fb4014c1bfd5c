// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests gather_c1: dimension lists out of range, unsorted or twice.
func.func @gather_c1_range(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{list of window dimensions names dimension 3 of a tensor of rank 3}}
  %0 = net.gather %t, %i <offsetDims = [3], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  return
}

// -----

func.func @gather_c1_sorted(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{list of window dimensions does not increase}}
  %0 = net.gather %t, %i <offsetDims = [2, 1], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  return
}

// -----

// Tests gather_c1: an index vector of another size.
func.func @gather_c1_vector(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{has an index vector of size 1 for 2 dimensions}}
  %0 = net.gather %t, %i <offsetDims = [2], collapsedDims = [0], startIndexMap = [0, 1], indexVectorDim = 2> sizes = [1, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  return
}

// -----

func.func @gather_c1_vector_dim(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{has index vector dimension 4 but indices of rank 3}}
  %0 = net.gather %t, %i <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 4> sizes = [1, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  return
}

// -----

// Tests gather_c1: batching dimensions of unlike size.
func.func @gather_c1_batching(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{pairs batching dimension 0 of size 100 with dimension 0 of size 8}}
  %0 = net.gather %t, %i <offsetDims = [2], operandBatchingDims = [0], indicesBatchingDims = [0], startIndexMap = [1], indexVectorDim = 2> sizes = [1, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  return
}

// -----

// Tests gather_c1: window dimensions that are neither kept nor dropped.
func.func @gather_c1_window(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{has 1 window dimensions and drops 0 of 2}}
  %0 = net.gather %t, %i <offsetDims = [2], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  return
}

// -----

func.func @gather_c1_sizes(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{has 1 sizes for a tensor of rank 2}}
  %0 = net.gather %t, %i <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  return
}

// -----

// Tests gather_c2: boxes larger than the operand, or of several indices where a dimension is dropped.
func.func @gather_c2(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{reads boxes of size 65 from dimension 1 of size 64}}
  %0 = net.gather %t, %i <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 65] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  return
}

// -----

func.func @gather_c2_collapsed(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{reads boxes of size 2 from dimension 0 of size 100}}
  %0 = net.gather %t, %i <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [2, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  return
}

// -----

// Tests gather_c3: another shape than follows.
func.func @gather_c3(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{has result shape [8, 16, 63] but its operands and attributes make [8, 16, 64]}}
  %0 = net.gather %t, %i <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x63xf32>
  return
}

// -----

func.func @gather_type(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{reads 'tensor<100x64xf32>' into 'tensor<8x16x64xf64>'}}
  %0 = net.gather %t, %i <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf64>
  return
}

// -----

func.func @gather_c1_batching_count(%t: tensor<8x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{pairs 1 batching dimensions with 0}}
  %0 = net.gather %t, %i <operandBatchingDims = [0], startIndexMap = [1], indexVectorDim = 2> sizes = [1, 1] : tensor<8x64xf32>, tensor<8x16x1xi32> -> tensor<8x16xf32>
  return
}

// -----

// Tests gather_c3: a result of another rank than that of the windows and the batch together.
func.func @gather_c3_rank(%t: tensor<100x64xf32>, %i: tensor<8x16x1xi32>) {
  // expected-error @below {{has 1 window and 2 batch dimensions but windows of rank 4}}
  %0 = net.gather %t, %i <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 64] : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64x1xf32>
  return
}
