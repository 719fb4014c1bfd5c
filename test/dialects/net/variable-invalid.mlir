// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests variable_c1: a type that is no tensor of static shape.
// expected-error @below {{failed to satisfy constraint: type attribute of statically shaped tensor}}
net.variable parameter @variable_c1 : tensor<?xf32>

// -----

// Tests variable_c2: `like` names a variable of the same sizes, or of other ones where its own is 1.
// expected-error @below {{is placed like @missing, which is no variable}}
net.variable optimizer_state @variable_c2 : tensor<4xf32> like @missing

// -----

net.variable parameter @w : tensor<4xf32>
// expected-error @below {{of 'tensor<5xf32>' is placed like @w of 'tensor<4xf32>'}}
net.variable optimizer_state @variable_c2_shape : tensor<5xf32> like @w

// -----

net.variable parameter @w : tensor<4x6xf32>
net.variable optimizer_state @rows : tensor<4x1xf32> like @w
// expected-error @below {{of 'tensor<4xf32>' is placed like @w of 'tensor<4x6xf32>'}}
net.variable optimizer_state @variable_c2_rank : tensor<4xf32> like @w
