// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @c_allreduce_c1_without_mesh(%arg0: tensor<8xf32>) {
  // expected-error @below {{stands in a module without mesh}}
  %0 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_allreduce_c1_axis(%arg0: tensor<8xf32>) {
  // expected-error @below {{names axis "dp", which the module's mesh does not have or which stands twice}}
  %0 = dist.c_allreduce %arg0 axes ["dp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_allreduce_c1_no_axis(%arg0: tensor<8xf32>) {
  // expected-error @below {{names no axis}}
  %0 = dist.c_allreduce %arg0 axes [] from <dims = [[]]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_allreduce_c2(%arg0: tensor<8xf32>) {
  // expected-error @below {{the dims mapping has 2 dimensions but the value has 1}}
  %0 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[], []], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_allreduce_c3_element(%arg0: tensor<8xf32>) {
  // expected-error @below {{turns elements of 'f32' into 'f64'}}
  %0 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf64>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_allreduce_c3_shape(%arg0: tensor<8xf32>) {
  // expected-error @below {{has a result of 'tensor<8xf32>' but its placement makes the local shape 'tensor<4xf32>'}}
  %0 = dist.c_reducescatter %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [["tp"]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_allreduce_c4(%arg0: tensor<8xf32>) {
  // expected-error @below {{takes axis "tp" from replicated to replicated, not from partial to replicated}}
  %0 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[]]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @c_allreduce_c4_beyond(%arg0: tensor<8xf32>) {
  // expected-error-re @below {{has placements {{.*}} that differ beyond its axes}}
  %0 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[]], partial = sum ["dp", "tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_reducescatter_c4(%arg0: tensor<8xf32>) {
  // expected-error @below {{takes axis "tp" from partial to replicated, not from partial to split}}
  %0 = dist.c_reducescatter %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_allgather_c4(%arg0: tensor<8xf32>) {
  // expected-error @below {{takes axis "tp" from partial to replicated, not from split to replicated}}
  %0 = dist.c_allgather %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// Index 3 of 4 is in the first part on "c" under ["a" by 3, "b", "c"], and in the second under [2, "c"].
dist.mesh @mesh <["a" = 2, "b" = 2, "c" = 2]>
func.func @c_allgather_c4_digits(%arg0: tensor<1xf32>) {
  // expected-error @below {{that differ beyond its axes}}
  %0 = dist.c_allgather %arg0 axes ["a", "b"] from <dims = [["a" by 3, "b", "c"]]> to <dims = [[2, "c"]]> shape [4] : tensor<1xf32> -> tensor<2xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_alltoall_c4_alike(%arg0: tensor<4xf32>) {
  // expected-error @below {{splits dimension 0 alike before and after}}
  %0 = dist.c_alltoall %arg0 axes ["tp"] from <dims = [["tp"]]> to <dims = [["tp"]]> shape [8] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 4]>
func.func @c_alltoall_c4_uneven(%arg0: tensor<2xf32>) {
  // expected-error @below {{splits dimension 0 before and after, into parts that are not exchanged evenly}}
  %0 = dist.c_alltoall %arg0 axes ["tp"] from <dims = [["tp"]]> to <dims = [[2, "tp"]]> shape [6] : tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @c_alltoall_c4_axes(%arg0: tensor<2x4xf32>) {
  // expected-error @below {{acts on 2 axes, not one}}
  %0 = dist.c_alltoall %arg0 axes ["dp", "tp"] from <dims = [["dp", "tp"], []]> to <dims = [[], ["dp", "tp"]]> shape [8, 4] : tensor<2x4xf32> -> tensor<8x1xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @shard_c4(%arg0: tensor<4xf32>, %tp: tensor<i32>) {
  // expected-error @below {{takes axis "tp" from split to replicated, not from replicated to split}}
  %0 = dist.shard %arg0 at (%tp) axes ["tp"] from <dims = [["tp"]]> to <dims = [[]]> shape [8] : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @shard_c5(%arg0: tensor<8xf32>, %tp: tensor<i32>) {
  // expected-error @below {{has 2 coordinates for 1 axes}}
  %0 = dist.shard %arg0 at (%tp, %tp) axes ["tp"] from <dims = [[]]> to <dims = [["tp"]]> shape [8] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @to_partial_c4(%arg0: tensor<8xf32>, %tp: tensor<i32>) {
  // expected-error @below {{is the identity for kind max}}
  %0 = dist.to_partial %arg0 at (%tp) axes ["tp"] from <dims = [[]]> to <dims = [[]], partial = max ["tp"]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @to_partial_c5(%arg0: tensor<8xf32>) {
  // expected-error @below {{has 0 coordinates for 1 axes}}
  %0 = dist.to_partial %arg0 at () axes ["tp"] from <dims = [[]]> to <dims = [[]], partial = sum ["tp"]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @to_partial_c5_held(%arg0: tensor<8xf32>, %tp: tensor<i32>) {
  // expected-error @below {{has 1 coordinates for 0 axes}}
  %0 = dist.to_partial %arg0 at (%tp) axes ["tp"] from <dims = [[]], on {"tp" = [1]}> to <dims = [[]], partial = sum ["tp"]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @to_partial_c4_mixed(%arg0: tensor<8xf32>) {
  // expected-error @below {{takes axis "tp" from replicated to partial, not from one holder to partial}}
  %0 = dist.to_partial %arg0 at () axes ["dp", "tp"] from <dims = [[]], on {"dp" = [1]}> to <dims = [[]], partial = sum ["dp", "tp"]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_broadcast_c4(%arg0: tensor<8xf32>) {
  // expected-error @below {{takes axis "tp" from replicated to replicated, not from one holder to replicated}}
  %0 = dist.c_broadcast %arg0 axes ["tp"] from <dims = [[]]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @c_broadcast_c4_beyond(%arg0: tensor<8xf32>) {
  // expected-error @below {{that differ beyond its axes}}
  %0 = dist.c_broadcast %arg0 axes ["tp"] from <dims = [[]], on {"dp" = [0], "tp" = [0]}> to <dims = [[]], on {"dp" = [1]}> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_reduce_c4(%arg0: tensor<8xf32>) {
  // expected-error @below {{takes axis "tp" from partial to replicated, not from partial to one holder}}
  %0 = dist.c_reduce %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 3]>
func.func @several_holders(%arg0: tensor<8xf32>) {
  // expected-error @below {{has a value on 2 of the 3 coordinates of axis "tp"; a value is held by one of them or by all}}
  %0 = dist.c_broadcast %arg0 axes ["tp"] from <dims = [[]], on {"tp" = [0, 2]}> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @held_and_split(%arg0: tensor<4xf32>) {
  // expected-error @below {{has a value that only coordinate 0 of axis "tp" holds and that is split over that axis}}
  %0 = dist.c_broadcast %arg0 axes ["tp"] from <dims = [["tp"]], on {"tp" = [0]}> to <dims = [["tp"]]> shape [8] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @mask_without_mesh(%arg0: tensor<4xf32>, %tp: tensor<i32>) {
  // expected-error @below {{stands in a module without mesh}}
  %0 = dist.mask %arg0 at (%tp) dims [0] placement <dims = [["tp"]]> shape [7] fill 0.0 : f32 : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @mask_c1(%arg0: tensor<4xf32>, %tp: tensor<i32>) {
  // expected-error @below {{has an operand of 'tensor<4xf32>' but its placement makes the local shape 'tensor<5xf32>'}}
  %0 = dist.mask %arg0 at (%tp) dims [0] placement <dims = [["tp"]]> shape [9] fill 0.0 : f32 : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @mask_c2(%arg0: tensor<4x3xf32>, %tp: tensor<i32>) {
  // expected-error @below {{masks dimension 1 of 2, which does not exist, is not split or stands twice}}
  %0 = dist.mask %arg0 at (%tp) dims [1] placement <dims = [["tp"], []]> shape [7, 3] fill 0.0 : f32 : tensor<4x3xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @mask_c3(%arg0: tensor<4xf32>) {
  // expected-error @below {{has 0 coordinates for 1 axes}}
  %0 = dist.mask %arg0 at () dims [0] placement <dims = [["tp"]]> shape [7] fill 0.0 : f32 : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @mask_c4(%arg0: tensor<4xf32>, %tp: tensor<i32>) {
  // expected-error @below {{fills elements of 'f32' with 0}}
  %0 = dist.mask %arg0 at (%tp) dims [0] placement <dims = [["tp"]]> shape [7] fill 0 : i32 : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 4]>
func.func @c_send_c4(%arg0: tensor<4xf32>) {
  // expected-error @below {{takes axis "pp" from one holder to replicated, not from one holder to one holder}}
  %0 = dist.c_send %arg0 axes ["pp"] from <dims = [[]], on {"pp" = [1]}> to <dims = [[]]> shape [4] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 4]>
func.func @c_send_c4_itself(%arg0: tensor<4xf32>) {
  // expected-error @below {{sends what coordinate 1 of axis "pp" has to itself}}
  %0 = dist.c_send %arg0 axes ["pp"] from <dims = [[]], on {"pp" = [1]}> to <dims = [[]], on {"pp" = [1]}> shape [4] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "pp" = 4]>
func.func @c_send_c4_axes(%arg0: tensor<4xf32>) {
  // expected-error @below {{acts on 2 axes, not one}}
  %0 = dist.c_send %arg0 axes ["dp", "pp"] from <dims = [[]], on {"dp" = [0], "pp" = [1]}> to <dims = [[]], on {"dp" = [1], "pp" = [2]}> shape [4] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @c_allreduce_c3_boolean(%arg0: tensor<4xi1>) {
  // expected-error @below {{reduces 'i1' by sum, which has no such reduction}}
  %0 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [4] : tensor<4xi1> -> tensor<4xi1>
  return
}
