// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-emit=path=%t -verify-diagnostics -o /dev/null

// Tests that a variable which Schedule has given no place is an error, not a place at the beginning.

// expected-error @below {{variable has no place in the arena}}
net.variable parameter @w : tensor<4xf32>
func.func @step(%x: tensor<4xf32> {dist.offset = 0 : i64, net.name = "x"}) attributes {dist.arena_bytes = 64 : i64, dist.persistent_bytes = 0 : i64, dist.variables = {}} {
  return
}
