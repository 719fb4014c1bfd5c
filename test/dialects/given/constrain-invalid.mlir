// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -verify-diagnostics -split-input-file

func.func @constrain_c1(%x: tensor<8xf32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  %0 = "given.constrain"(%x) <{group = 1 : i64}> : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @constrain_c2_empty(%x: tensor<8xf32>) {
  // expected-error @below {{'given.constrain' op has neither a sharding nor a group}}
  %0 = given.constrain %x : tensor<8xf32>
  return
}

// -----

func.func @constrain_c2_rank(%x: tensor<8xf32>) {
  // expected-error @below {{'given.constrain' op has a sharding of 2 dimensions for 'tensor<8xf32>'}}
  %0 = given.constrain %x to <[{}, {}]> : tensor<8xf32>
  return
}

// -----

// Tests what shardings and meshes refuse by themselves.

// expected-error @below {{axis "a" is named twice in a sharding}}
func.func @sharding_c2(%x: tensor<8x8xf32> {given.sharding = #given.sharding<[{"a"}, {}], unreduced = ["a"]>}) {
  return
}

// -----

// expected-error @below {{an axis follows the question mark, which is last}}
func.func @open_first(%x: tensor<8xf32> {given.sharding = #given.sharding<[{?, "a"}]>}) {
  return
}

// -----

// expected-error @below {{"q1" is no priority; an example is p1}}
func.func @priority(%x: tensor<8xf32> {given.sharding = #given.sharding<[{"a"}q1]>}) {
  return
}

// -----

// expected-error @below {{axis "a" is empty or given twice in the mesh}}
module attributes {given.mesh = #given.mesh<["a" = 2, "a" = 2]>} {
}

// -----

// expected-error @below {{axis "a" has size 0; sizes are positive}}
module attributes {given.mesh = #given.mesh<["a" = 0]>} {
}
