// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @undeclared(%x: tensor<4xf32>) {
  // expected-error @below {{has "dist.colour", which is not declared; docs/reference/attributes.md lists the attributes of dist}}
  %0 = net.negate %x {dist.colour = "red"} : tensor<4xf32>
  return
}

// -----

func.func @undeclared_in_net(%x: tensor<4xf32>) {
  // expected-error @below {{has "net.colour", which is not declared; docs/reference/attributes.md lists the attributes of net}}
  %0 = net.negate %x {net.colour = "red"} : tensor<4xf32>
  return
}

// -----

func.func @type(%x: tensor<4xf32>) {
  // expected-error @below {{has "dist.stage" = 1 : i32, but its type is 64-bit signless integer}}
  %0 = net.negate %x {dist.stage = 1 : i32} : tensor<4xf32>
  return
}

// -----

func.func @type_of_elements(%x: tensor<4xf32>) {
  // expected-error @below {{has "dist.results" = ["dp"], but its type is array of placements}}
  %0 = net.negate %x {dist.results = ["dp"]} : tensor<4xf32>
  return
}

// -----

func.func @type_of_coordinates(%x: tensor<4xf32>) {
  // expected-error @below {{has "dist.on" = {dp = 0 : i64}, but its type is dictionary of i64 arrays, the coordinates by axis}}
  %0 = net.negate %x {dist.on = {dp = 0}} : tensor<4xf32>
  return
}

// -----

func.func @operation(%x: tensor<4xf32>) {
  // expected-error @below {{has "dist.slots", which belongs on a variable}}
  %0 = net.negate %x {dist.slots = 2} : tensor<4xf32>
  return
}

// -----

// expected-error @below {{has "dist.stage", which belongs on an operation of a function}}
func.func @function(%x: tensor<4xf32>) attributes {dist.stage = 0} {
  return
}

// -----

// expected-error @below {{argument 1 has "dist.during", which belongs on an assignment, a function or a result of a function}}
func.func @argument(%x: tensor<4xf32>, %y: tensor<4xf32> {dist.during = {}}) {
  return
}

// -----

// expected-error @below {{argument 0 has "net.name" = unit, but its type is string}}
func.func @argument_type(%x: tensor<4xf32> {net.name}) {
  return
}

// -----

// expected-error @below {{result 0 has "net.batch_dim", which belongs on an argument of a function}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {net.batch_dim = 0}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 has "net.colour", which is not declared; docs/reference/attributes.md lists the attributes of net}}
func.func @result_undeclared(%x: tensor<4xf32>) -> (tensor<4xf32> {net.colour = 0}) {
  return %x : tensor<4xf32>
}
