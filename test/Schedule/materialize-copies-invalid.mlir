// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s -verify-diagnostics --dist-schedule-materialize-copies="max-live-megabytes=0.000016"

// Tests that an operation which reads more than may be on the device is an error: 16 bytes is the bound.

net.variable optimizer_state @m : tensor<4xf32> {dist.memory = #dist<memory host>}
net.variable optimizer_state @v : tensor<4xf32> {dist.memory = #dist<memory host>}

func.func @reads_too_much() -> tensor<4xf32> {
  %m = net.read @m : tensor<4xf32>
  %v = net.read @v : tensor<4xf32>
  // expected-error @below {{operation reads variables of the host with which 32 bytes of such are on the device, but at most 16 may be}}
  %0 = dist.kernel(%m, %v) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %y = net.add %a, %b : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
