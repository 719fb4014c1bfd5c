// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

dist.mesh @mesh <["dp" = 2]>
func.func @coordinate_c1() -> tensor<i32> {
  // expected-error @below {{names axis "tp", which the module's mesh does not have}}
  %0 = dist.coordinate "tp" : tensor<i32>
  return %0 : tensor<i32>
}

// -----

func.func @coordinate_c1_without_mesh() -> tensor<i32> {
  // expected-error @below {{names axis "tp", which the module's mesh does not have}}
  %0 = dist.coordinate "tp" : tensor<i32>
  return %0 : tensor<i32>
}
