// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -verify-diagnostics --dist-complete-segment="max-live-megabytes=0.00005"
// RUN: not dist-opt %s --dist-complete-segment="anchors=a" 2>&1 | FileCheck %s
// CHECK: error: anchor "a" ends in neither ".in" nor ".out"

dist.mesh @mesh <["dp" = 2]>
net.variable parameter @w : tensor<8x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}
// expected-error @below {{segment 0 (forward) uses 256 B of parameters by itself but at most 50 B may be alive}}
func.func @too_large(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<8x8xf32>
  // expected-note @below {{the segment begins here}}
  %0 = net.multiply %x, %w {net.role = #net.role<forward>} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
