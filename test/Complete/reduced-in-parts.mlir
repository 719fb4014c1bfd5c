// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-propagate | FileCheck %s

// Tests that sums whose reduction may not pass an addition are added in parts, and only the result is gathered: the
// contributions to a tied embedding.

dist.mesh @mesh <["dp" = 2]>

// CHECK-LABEL: @tied
func.func @tied(%x: tensor<64x5xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}, %y: tensor<64x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> tensor<5x4xf32>
    attributes {net.sum_parts = 8 : i64} {
  // CHECK: net.dot {{.*}}partial = tree ["dp"]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["dp"]]>]
  %0 = net.dot %x, %y batch = [] x [] contract = [0] x [0] {net.sum_parts = 8 : i64} : tensor<64x5xf32>, tensor<64x4xf32> -> tensor<5x4xf32>
  %x2 = net.multiply %x, %x : tensor<64x5xf32>
  // CHECK: net.dot {{.*}}partial = tree ["dp"]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["dp"]]>]
  %1 = net.dot %x2, %y batch = [] x [] contract = [0] x [0] {net.sum_parts = 8 : i64} : tensor<64x5xf32>, tensor<64x4xf32> -> tensor<5x4xf32>
  // CHECK: net.add {{.*}}dist.computes = [#dist.mapping<dims = {{\[}}[], ["dp"]]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], []]>]
  %2 = net.add %0, %1 : tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}
