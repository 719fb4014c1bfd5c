// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-form-kernels -verify-diagnostics

// Tests that kernels are not formed once something is in flight.

dist.mesh @mesh <["tp" = 2]>
func.func @flight(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{value is of '!dist.handle<tensor<4xf32>>'; kernels are formed of tensors, before collectives are started}}
  %0 = dist.collective c_allreduce sum(%x) axes ["tp"] : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  %1 = dist.wait %0 : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
