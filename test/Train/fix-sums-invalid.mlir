// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-fix-sums --verify-diagnostics

func.func @convolution(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) -> tensor<8x32x6xf32> {
  // expected-error @below {{a convolution adds in an order that depends on the size of the batch, which reproducible does not fix; leave it out for this network}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return %0 : tensor<8x32x6xf32>
}
