// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --split-input-file --verify-diagnostics

// Tests the constraints of the operations of a scheduled program.

func.func @kernel_c1_arguments(%x: tensor<4xf32>) {
  // expected-error @below {{has a body with 0 arguments for 1 inputs, or of other types}}
  %0 = dist.kernel(%x) {
    %c = net.constant dense<1.0> : tensor<4xf32>
    dist.yield %c : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @kernel_c1_results(%x: tensor<4xf32>) {
  // expected-error @below {{yields not the 2 results that it has}}
  %0:2 = dist.kernel(%x) {
  ^bb0(%a: tensor<4xf32>):
    dist.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @kernel_c2_count(%x: tensor<4xf32>) {
  // expected-error @below {{says of 2 results where they go but has 1}}
  %0 = dist.kernel(%x) in_place [0, 0] {
  ^bb0(%a: tensor<4xf32>):
    dist.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @kernel_c2_range(%x: tensor<4xf32>) {
  // expected-error @below {{writes result 0 to input 1 of 1}}
  %0 = dist.kernel(%x) in_place [1] {
  ^bb0(%a: tensor<4xf32>):
    dist.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @kernel_c2_type(%x: tensor<2x2xf32>) {
  // expected-error @below {{writes result 0 of 'tensor<4xf32>' to an input of 'tensor<2x2xf32>'}}
  %0 = dist.kernel(%x) in_place [0] {
  ^bb0(%a: tensor<2x2xf32>):
    %b = net.reshape %a : tensor<2x2xf32> -> tensor<4xf32>
    dist.yield %b : tensor<4xf32>
  } : (tensor<2x2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @kernel_c3_axes(%x: tensor<4xf32>) {
  // expected-error @below {{has scores with one dimension for both axes, or columns that are no pairs in order}}
  %0 = dist.kernel(%x) scores <rows = 0, columns = 0, visible = [0, 4]> {
  ^bb0(%a: tensor<4xf32>):
    dist.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @kernel_c3_order(%x: tensor<4xf32>) {
  // expected-error @below {{has scores with one dimension for both axes, or columns that are no pairs in order}}
  %0 = dist.kernel(%x) scores <rows = 0, columns = 1, visible = [0, 4, 3, 2]> {
  ^bb0(%a: tensor<4xf32>):
    dist.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @kernel_c3_pairs(%x: tensor<4xf32>) {
  // expected-error @below {{has scores with one dimension for both axes, or columns that are no pairs in order}}
  %0 = dist.kernel(%x) scores <rows = 0, columns = 1, visible = [0]> {
  ^bb0(%a: tensor<4xf32>):
    dist.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @view_c1_type(%x: tensor<4xf32>) {
  // expected-error @below {{shows 'tensor<4xf32>' as 'tensor<4xi32>'}}
  %0 = dist.view %x at 0 : tensor<4xf32> -> tensor<4xi32>
  return
}

// -----

func.func @view_c1_range(%x: tensor<4xf32>) {
  // expected-error @below {{shows elements 2 to 5 of 4}}
  %0 = dist.view %x at 2 : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @matmul_c1(%x: tensor<4x4xf32>) {
  // expected-error @below {{has 1 strides for the 2 dimensions of lhs}}
  %0 = dist.matmul %x at 0 [4], %x at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @matmul_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{reaches elements 1 to 16 of 16 in rhs}}
  %0 = dist.matmul %x at 0 [4, 1], %x at 1 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c1(%x: tensor<4xf32>) {
  // expected-error @below {{names axis "dp", which the module's mesh does not have}}
  %0 = dist.collective c_allreduce sum(%x) axes ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c2(%x: tensor<5xf32>) {
  // expected-error @below {{makes 3 elements of 5 in a group of 2}}
  %0 = dist.collective c_reducescatter sum(%x) axes ["tp"] : (tensor<5xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @collective_without_mesh(%x: tensor<5xf32>) {
  // expected-error @below {{stands in a module without mesh}}
  %0 = dist.collective c_allreduce sum(%x) axes ["tp"] : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c2_types(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @below {{moves elements of 'f32' and of 'i32'}}
  %0:2 = dist.collective c_allreduce sum(%x, %y) axes ["tp"] : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c3_kind(%x: tensor<4xf32>) {
  // expected-error @below {{has roots, which c_allreduce has not}}
  %0 = dist.collective c_allreduce sum(%x) roots [0] axes ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c3_count(%x: tensor<4xf32>) {
  // expected-error @below {{has 1 roots for 2 parts}}
  %0:2 = dist.collective c_broadcast(%x, %x) roots [0] axes ["tp"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c3_root(%x: tensor<4xf32>) {
  // expected-error @below {{has root 2 in a group of 2}}
  %0 = dist.collective c_broadcast(%x) roots [2] axes ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c3_elsewhere(%x: tensor<4xf32>) {
  // expected-error @below {{has part 1 elsewhere, of 1 parts, after part -1}}
  dist.collective c_broadcast() roots [0] elsewhere [1] axes ["tp"] : () -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c3_inputs(%x: tensor<4xf32>) {
  // expected-error @below {{has 2 inputs and 2 results, and 1 parts elsewhere}}
  %0:2 = dist.collective c_broadcast(%x, %x) roots [0, 0] elsewhere [1] axes ["tp"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c4(%x: tensor<4xf32>) {
  // expected-error @below {{starts some parts and finishes others}}
  %0:2 = dist.collective c_allreduce sum(%x, %x) axes ["tp"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !dist.handle<tensor<4xf32>>)
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @collective_c5(%x: tensor<4xf32>) {
  %0 = dist.collective c_allreduce sum(%x) axes ["tp"] : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  // expected-error @below {{takes a handle that something else takes too}}
  %1 = dist.collective c_allreduce sum(%0) axes ["tp"] : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
  %2 = dist.wait %0 : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

func.func @wait_c1_unstarted(%flight: !dist.handle<tensor<4xf32>>) {
  // expected-error @below {{waits for nothing that was started}}
  %0 = dist.wait %flight : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @wait_c1(%x: tensor<4xf32>) {
  %0 = dist.collective c_allreduce sum(%x) axes ["tp"] : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  %1 = dist.collective c_allreduce sum(%x) axes ["tp"] : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  // expected-error @below {{waits for several launches, or for what something else takes too}}
  %2:2 = dist.wait %0, %1 : (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<4xf32>>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @either_c1(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{names axis "dp", which the module's mesh does not have, or no coordinates of it}}
  %0 = dist.either %x on {dp = array<i64: 0>} else %y : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @either_c1_coordinate(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{names coordinate 2 of axis "tp" of size 2}}
  %0 = dist.either %x on {tp = array<i64: 2>} else %y : tensor<4xf32>
  return
}

// -----

func.func @copy_c1(%a: tensor<4xf32>) -> tensor<2x2xf32> {
  // expected-error @below {{makes 'tensor<2x2xf32>' of 'tensor<4xf32>'}}
  %0 = dist.copy %a to host : (tensor<4xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @wait_c1_two_copies(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = dist.copy %a to host : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  %1 = dist.copy %a to host : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  // expected-error @below {{waits for several launches, or for what something else takes too}}
  %2:2 = dist.wait %0, %1 : (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<4xf32>>) -> (tensor<4xf32>, tensor<4xf32>)
  return %2#0, %2#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests collective_c3: a send without a receiver.
dist.mesh @mesh <["pp" = 4]>
func.func @collective_c3_send(%x: tensor<4xf32>) {
  // expected-error @below {{sends nothing, not to anybody, or parts elsewhere}}
  %0 = dist.collective c_send(%x) roots [0] axes ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 4]>
func.func @collective_c3_send_itself(%x: tensor<4xf32>) {
  // expected-error @below {{sends from member 2 to member 2 of 4, and another part from member 2}}
  %0 = dist.collective c_send(%x) roots [2] to 2 axes ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 4]>
func.func @collective_c3_send_two(%x: tensor<4xf32>) {
  // expected-error @below {{sends from member 0 to member 2 of 4, and another part from member 1}}
  %0:2 = dist.collective c_send(%x, %x) roots [1, 0] to 2 axes ["pp"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

dist.mesh @mesh <["pp" = 4]>
func.func @collective_c3_send_counts(%x: tensor<4xf32>) {
  // expected-error @below {{has 1 inputs and 2 results for 2 parts}}
  %0:2 = dist.collective c_send(%x) roots [0, 0] to 2 axes ["pp"] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

dist.mesh @mesh <["pp" = 4]>
func.func @collective_c3_to(%x: tensor<4xf32>) {
  // expected-error @below {{goes to one member, which c_broadcast does not}}
  %0 = dist.collective c_broadcast(%x) roots [0] to 2 axes ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{has action "0F" twice}}
dist.schedule on {pp = array<i64: 0>} actions ["0F", "0F"] items [0, 0]

// -----

// expected-error @below {{has 3 numbers, which are no pairs of an action and a micro-batch}}
dist.schedule on {pp = array<i64: 0>} actions ["0F"] items [0, 0, 0]

// -----

// expected-error @below {{has action 1 of 1 in micro-batch 0}}
dist.schedule on {pp = array<i64: 0>} actions ["0F"] items [-2, 0]

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @collective_of_unknown_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{"c_allreduc" is not a kind of collective: c_allreduce, c_allgather, c_reducescatter, c_alltoall, c_broadcast, c_reduce, c_send}}
  %0 = dist.collective c_allreduc sum(%x) axes ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @reduction_of_a_gather(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{expected '('}}
  %0 = dist.collective c_allgather sum(%x) axes ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
