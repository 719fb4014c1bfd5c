// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests assign_c1: a variable that is not there, or has another type.
func.func @assign_c1(%x: tensor<4xf32>) {
  // expected-error @below {{names @w, which is no variable}}
  net.assign @w, %x : tensor<4xf32>
  return
}

// -----

// expected-note @below {{the variable is here}}
net.variable parameter @w : tensor<4xf32>
func.func @assign_c1_type(%x: tensor<5xf32>) {
  // expected-error @below {{uses @w as 'tensor<5xf32>' but it is 'tensor<4xf32>'}}
  net.assign @w, %x : tensor<5xf32>
  return
}

// -----

// Tests assign_c2: a variable that is assigned twice.
net.variable parameter @w : tensor<4xf32>
func.func @assign_c2(%x: tensor<4xf32>) {
  // expected-note @below {{the first assignment is here}}
  net.assign @w, %x : tensor<4xf32>
  // expected-error @below {{assigns @w a second time}}
  net.assign @w, %x : tensor<4xf32>
  return
}

// -----

// Tests assign_c2 where other operations stand between.
net.variable parameter @w : tensor<4xf32>
func.func @assign_c2_apart(%x: tensor<4xf32>) {
  // expected-note @below {{the first assignment is here}}
  net.assign @w, %x : tensor<4xf32>
  %0 = net.abs %x : tensor<4xf32>
  // expected-error @below {{assigns @w a second time}}
  net.assign @w, %0 : tensor<4xf32>
  return
}
