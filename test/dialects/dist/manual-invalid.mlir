// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @to_local_c1_without_mesh(%arg0: tensor<8xf32>) {
  // expected-error @below {{stands in a module without mesh}}
  %0 = dist.to_local %arg0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @to_local_c1_rank(%arg0: tensor<8xf32>) {
  // expected-error @below {{the dims mapping has 2 dimensions but the value has 1}}
  %0 = dist.to_local %arg0 in <dims = [["dp"], []]> : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @to_local_c2_partial(%arg0: tensor<8xf32>) {
  // expected-error @below {{which does more than split dimensions}}
  %0 = dist.to_local %arg0 in <dims = [[]], partial = sum ["dp"]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @to_local_c2_uneven(%arg0: tensor<7xf32>) {
  // expected-error @below {{splits dimension 0 of size 7 into parts of unequal size}}
  %0 = dist.to_local %arg0 in <dims = [["dp"]]> : tensor<7xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @to_local_c3(%arg0: tensor<8xf32>) {
  // expected-error @below {{has a part of 'tensor<8xf32>', but its mapping makes it 'tensor<4xf32>'}}
  %0 = dist.to_local %arg0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @to_global_c3(%arg0: tensor<8xf32>) {
  // expected-error @below {{has a part of 'tensor<8xf32>', but its mapping makes it 'tensor<4xf32>'}}
  %0 = dist.to_global %arg0 over ["dp"] in <dims = [["dp"]]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @to_global_c4_unknown(%arg0: tensor<4xf32>) {
  // expected-error @below {{ends a computation over "tp", which is no axis of the mesh or stands twice}}
  %0 = dist.to_global %arg0 over ["dp", "tp"] in <dims = [["dp"]]> : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @to_global_c4_mapping(%arg0: tensor<4xf32>) {
  // expected-error @below {{joins parts along "dp", which is none of the axes [] of the computation}}
  %0 = dist.to_global %arg0 over [] in <dims = [["dp"]]> : tensor<4xf32> -> tensor<8xf32>
  return
}
