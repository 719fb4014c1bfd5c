// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-partition-verify -verify-diagnostics

// expected-error @below {{has no mesh to be partitioned over}}
module {
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @reshard_is_left(%arg0: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{is left, though every conversion should be a collective or local by now}}
  %0 = dist.reshard %arg0 from <dims = [[]]> to <dims = [["tp"]]> : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @placements_are_left(%arg0: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{still has the placements of global values in dist.results}}
  %0 = net.negate %arg0 {dist.results = [#dist.mapping<dims = [[]]>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{has argument 0 without the type of its whole value}}
func.func @global_argument(%arg0: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["tp"]]>}) {
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{has argument 0 of 'tensor<8xf32>' but its placement makes it 'tensor<4xf32>'}}
func.func @argument_of_another_size(%arg0: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [["tp"]]>}) {
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{has a value of 'tensor<8xf32>' but its placement makes it 'tensor<4xf32>'}}
net.variable parameter @w : tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [["tp"]]>}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-note @below {{the value is made here}}
func.func @conversion_from_elsewhere(%arg0: tensor<4xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [["tp"]]>}) {
  // expected-error @below {{takes a value in #dist.mapping<dims = [[2, "tp"]]> but it is in #dist.mapping<dims = [["tp"]]>}}
  %0 = dist.c_allgather %arg0 axes ["tp"] from <dims = [[2, "tp"]]> to <dims = [[]]> shape [8] : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-note @below {{the value is made here}}
func.func @doubled_reduction(%arg0: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{takes a value in #dist.mapping<dims = [[]], partial = sum ["tp"]> but it is in #dist.mapping<dims = [[]]>}}
  %0 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
net.variable parameter @w : tensor<4xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [["tp"]]>}
// expected-note @below {{the value is made here}}
func.func @assigned_from_elsewhere(%arg0: tensor<4xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[2, "tp"]]>}) {
  // expected-error @below {{takes a value in #dist.mapping<dims = [["tp"]]> but it is in #dist.mapping<dims = [[2, "tp"]]>}}
  net.assign @w, %arg0 : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["zero" = 2]>
net.variable parameter @w : tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]], on {"zero" = [1]}>}
func.func @reads_what_it_does_not_have() {
  // expected-note @below {{the value is made here}}
  %0 = net.read @w {dist.on = {zero = array<i64: 1>}} : tensor<8xf32>
  // expected-error @below {{reads on {} a value that only {zero = array<i64: 1>} has}}
  %1 = net.tanh %0 : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["zero" = 2]>
net.variable parameter @w : tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]], on {"zero" = [1]}>}
func.func @everybody_assigns(%x: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{runs on {}, not on {zero = array<i64: 1>}}}
  net.assign @w, %x : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "zero" = 2]>
func.func @collective_of_some(%x: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]], partial = sum ["dp"]>}) {
  // expected-error @below {{runs on {zero = array<i64: 1>}, not on {}}}
  %0 = dist.c_allreduce %x axes ["dp"] from <dims = [[]], partial = sum ["dp"]> to <dims = [[]]> shape [8] {dist.on = {zero = array<i64: 1>}} : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["zero" = 2]>
func.func @returns_what_others_have(%x: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) -> (tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) {
  %0 = net.tanh %x {dist.on = {zero = array<i64: 1>}} : tensor<8xf32>
  // expected-error @below {{returns for #dist.mapping<dims = [[]]> what only {zero = array<i64: 1>} has}}
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["pp" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0B0\0A1F0,1B0\0A"}
func.func @other_ranks_than_its_stages(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>, net.global_type = tensor<8xf32>}) {
  // expected-error @below {{is of stage 1, which coordinate 1 of axis "pp" computes, but runs on {pp = array<i64: 0>}}}
  %0 = net.tanh %x {dist.on = {pp = array<i64: 0>}, dist.stage = 1 : i64} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0B0\0A1F0,1B0\0A"}
func.func @all_ranks_with_a_stage(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>, net.global_type = tensor<8xf32>}) {
  // expected-error @below {{is of stage 0, which coordinate 0 of axis "pp" computes, but runs on {}}}
  %0 = net.tanh %x {dist.stage = 0 : i64} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 3]> {dist.stage_axis = "pp", dist.task_order = "0F0,0B0\0A1F0,1B0\0A2F0,2B0\0A"}
func.func @sent_by_others(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>, net.global_type = tensor<8xf32>}) {
  // expected-error @below {{is of stage 2, which coordinate 2 of axis "pp" computes, but runs on {pp = array<i64: 0, 1>}}}
  %0 = dist.c_send %x axes ["pp"] from <dims = [[]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [1]}> shape [8] {dist.on = {pp = array<i64: 0, 1>}, dist.stage = 2 : i64} : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @bytes_of_a_rank(%arg0: tensor<268435456x134217728xf32> {net.global_type = tensor<268435456x134217728xf32>, dist.mapping = #dist.mapping<dims = [[], []]>}) {
  // expected-error @below {{the values of a step up to this one have more than 288230376151711744 bytes}}
  %0 = net.negate %arg0 : tensor<268435456x134217728xf32>
  return
}
