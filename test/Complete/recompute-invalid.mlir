// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-recompute="policy=nothing" -verify-diagnostics

// Tests that without names there are no blocks of which nothing could be kept.
// expected-error @below {{no scope of the 1 operations of forward ends in a number, as those of repeated blocks do; blocks or anchors name what to recompute}}
func.func @finds_no_block(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = net.tanh %x {net.role = #net.role<forward>, net.scope = "net"} : tensor<4xf32>
  %r = net.negate %a {net.role = #net.role<backward>} : tensor<4xf32>
  return %r : tensor<4xf32>
}
