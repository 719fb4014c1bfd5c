// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @reshard_c1_without_mesh(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{stands in a module without mesh}}
  %0 = dist.reshard %arg0 from <dims = [[]]> to <dims = [[]]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @reshard_c1_rank(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{the dims mapping has 2 dimensions but the value has 1}}
  %0 = dist.reshard %arg0 from <dims = [[], []]> to <dims = [[]]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @reshard_c1_axis(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{the mesh has no axis "tp"}}
  %0 = dist.reshard %arg0 from <dims = [[]]> to <dims = [["tp"]]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @reshard_c1_partial_axis(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{the mesh has no axis "tp"}}
  %0 = dist.reshard %arg0 from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @reshard_c1_digit(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{digit 3 does not divide the 8 indices that are left of dimension 0 of size 8}}
  %0 = dist.reshard %arg0 from <dims = [[3, "dp"]]> to <dims = [[]]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @reshard_c1_part(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{2 parts of 3 indices over axis "dp" do not fit the 8 indices that are left of dimension 0 of size 8}}
  %0 = dist.reshard %arg0 from <dims = [["dp" by 3]]> to <dims = [[]]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @reshard_c1_support(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{axis "dp" of size 2 has no coordinate 2}}
  %0 = dist.reshard %arg0 from <dims = [[]], on {"dp" = [2]}> to <dims = [[]]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
