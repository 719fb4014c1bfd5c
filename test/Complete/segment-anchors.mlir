// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-segment="anchors=a.out" | FileCheck %s --check-prefixes=CHECK,OUT
// RUN: dist-opt %s --dist-complete-segment="anchors=b.in" | FileCheck %s --check-prefixes=CHECK,IN

// Tests that anchors cut: `.out` after the block in forward and before it in backward, `.in` the other way round. Operations without scope and
// constants neither enter nor leave a block; the scope a.x lies in a.

dist.mesh @mesh <["dp" = 2]>
net.variable parameter @w : tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["dp"]]>}
// CHECK-LABEL: @anchors
func.func @anchors(%x: tensor<8xf32>) -> tensor<8xf32> {
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[]]>]} : tensor<8xf32>
  // CHECK: net.multiply {{.*}}dist.segment = 0
  // CHECK: net.sine {{.*}}dist.segment = 0
  %0 = net.multiply %x, %w {net.role = #net.role<forward>, net.scope = "a"} : tensor<8xf32>
  %1 = net.sine %0 {net.role = #net.role<forward>, net.scope = "a.x"} : tensor<8xf32>
  // OUT: net.cosine {{.*}}dist.segment = 1
  // IN: net.cosine {{.*}}dist.segment = 0
  // CHECK: net.negate {{.*}}dist.segment = 1
  %2 = net.cosine %1 {net.role = #net.role<forward>} : tensor<8xf32>
  %3 = net.negate %2 {net.role = #net.role<forward>, net.scope = "b"} : tensor<8xf32>
  // A dot after a backslash belongs to its component: this is not in b.
  // CHECK: net.abs {{.*}}dist.segment = 1
  %4 = net.abs %3 {net.role = #net.role<forward>, net.scope = "b\\.c"} : tensor<8xf32>
  // CHECK: net.multiply {{.*}}dist.segment = 2
  %5 = net.multiply %4, %w {net.role = #net.role<backward>, net.scope = "b"} : tensor<8xf32>
  // CHECK: net.constant {{.*}}dist.segment = [[BETWEEN:[23]]]
  // OUT: net.sine {{.*}}dist.segment = 2
  // IN: net.sine {{.*}}dist.segment = 3
  %c = net.constant {net.role = #net.role<backward>, net.scope = "a"} dense<1.0> : tensor<8xf32>
  %6 = net.sine %5 {net.role = #net.role<backward>} : tensor<8xf32>
  // CHECK: net.add {{.*}}dist.segment = 3
  %7 = net.add %6, %c {net.role = #net.role<backward>, net.scope = "a"} : tensor<8xf32>
  return %7 : tensor<8xf32>
}
