// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-partition-verify | FileCheck %s

// Tests that what is right or not known is accepted.

dist.mesh @mesh <["dp" = 2, "tp" = 2]>

// A sum passes what is linear, and is then reduced.
// CHECK-LABEL: @linear
func.func @linear(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}, %x: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> (tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %half = net.constant dense<0.5> : tensor<4x4xf32>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %0 = net.multiply %product, %half : tensor<4x4xf32>
  %1 = net.subtract %0, %product : tensor<4x4xf32>
  %2 = net.add %zero, %1 : tensor<4x4xf32>
  %3 = net.transpose %2 dims = [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %4 = net.transpose %3 dims = [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %5 = dist.c_allreduce %4 axes ["tp"] from <dims = [["dp"], []], partial = sum ["tp"]> to <dims = [["dp"], []]> shape [8, 4] : tensor<4x4xf32> -> tensor<4x4xf32>
  %6 = net.add %5, %x : tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}

// Heads come out of a dimension, and a sum over what each has of its own is whole.
// CHECK-LABEL: @heads
func.func @heads(%q: tensor<4x6x4xf32> {net.global_type = tensor<8x6x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], [], ["tp"]]>}) {
  %0 = net.reshape %q : tensor<4x6x4xf32> -> tensor<4x6x2x2xf32>
  %1 = net.reduce sum %0 dims = [1] : tensor<4x6x2x2xf32> -> tensor<4x2x2xf32>
  %2 = net.tanh %1 : tensor<4x2x2xf32>
  return
}

// What every rank has is partial of an idempotent reduction, and may be the same in every part.
// CHECK-LABEL: @whole_values
func.func @whole_values(%x: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  %0 = dist.c_allreduce %x axes ["tp"] from <dims = [["dp"], []], partial = max ["tp"]> to <dims = [["dp"], []]> shape [8, 4] : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = net.constant dense<1.0> : tensor<2xf32>
  %2 = dist.c_allgather %1 axes ["tp"] from <dims = [["tp"]]> to <dims = [[]]> shape [4] : tensor<2xf32> -> tensor<4xf32>
  return
}
