// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: rm -rf %t && mkdir %t && split-file %s %t
// RUN: dist-opt %t/no-folder.mlir --dist-emit -verify-diagnostics -o /dev/null
// RUN: dist-opt %t/no-lowering.mlir --dist-emit=path=%t/package -verify-diagnostics -o /dev/null
// RUN: dist-opt %t/no-instruction.mlir --dist-emit=path=%t/package -verify-diagnostics -o /dev/null
// RUN: not test -e %t/package

//--- no-folder.mlir
// expected-error @below {{no folder was named for the package}}
module {
}

//--- no-lowering.mlir
dist.mesh @mesh <["dp" = 2]>
func.func @step(%x: tensor<i32> {dist.offset = 0 : i64, net.name = "x"}) attributes {dist.arena_bytes = 128 : i64, dist.persistent_bytes = 0 : i64, dist.variables = {}} {
  %0 = dist.kernel(%x) {
  ^bb0(%a: tensor<i32>):
    // expected-error @below {{operation dist.coordinate has no kernel lowering}}
    %1 = dist.coordinate "dp" : tensor<i32>
    dist.yield %1 : tensor<i32>
  } {dist.offsets = array<i64: 64>} : (tensor<i32>) -> tensor<i32>
  return
}

//--- no-instruction.mlir
func.func @step(%x: tensor<4xf32> {dist.offset = 0 : i64, net.name = "x"}) attributes {dist.arena_bytes = 128 : i64, dist.persistent_bytes = 0 : i64, dist.variables = {}} {
  // expected-error @below {{operation net.exponential is not one that a package can hold}}
  %0 = net.exponential %x {dist.offsets = array<i64: 64>} : tensor<4xf32>
  return
}
