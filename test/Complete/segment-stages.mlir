// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-propagate --dist-complete-segment --dist-complete-verify | FileCheck %s

// Tests that a parameter is fetched by the stage that reads it, where that has the same coordinate as the one that keeps it,
// and otherwise where it is kept.

dist.mesh @mesh <["dp" = 2, "pp" = 2]> {dist.data_axes = ["dp"], dist.stage_axis = "pp", dist.task_order = "0F0,2F0,2B0,0B0\0A1F0,1B0\0A"}
net.variable parameter @w : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [["dp"]], on {"pp" = [0]}>}
net.variable parameter @v : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [["dp"]], on {"pp" = [0]}>}

// CHECK-LABEL: @fetched
func.func @fetched(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> tensor<8x4xf32> {
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[]], on {"pp" = [0]}>], dist.stage = 0 : i64} : tensor<4xf32>
  %v = net.read @v {dist.results = [#dist.mapping<dims = [[]], on {"pp" = [0]}>], dist.stage = 0 : i64} : tensor<4xf32>
  // CHECK: net.read @w {{.*}}dist.stage = 2
  // CHECK: net.broadcast {{.*}}dist.stage = 2
  %0 = net.broadcast %w dims = [1] {dist.stage = 2 : i64} : tensor<4xf32> -> tensor<8x4xf32>
  %1 = net.multiply %x, %0 {dist.stage = 2 : i64} : tensor<8x4xf32>
  // CHECK: net.read @v {{.*}}dist.stage = 0
  // CHECK: net.broadcast {{.*}}dist.stage = 1
  %2 = net.broadcast %v dims = [1] {dist.stage = 1 : i64} : tensor<4xf32> -> tensor<8x4xf32>
  %3 = net.multiply %1, %2 {dist.stage = 1 : i64} : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}
