// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --split-input-file --dist-optimize-keep-fetches | FileCheck %s

dist.mesh @mesh <["pp" = 2, "dp" = 2, slices "micro" = 4]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\0A1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\0A"}
net.variable parameter @w : tensor<4xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [["dp"]], on {"pp" = [0]}>}
net.variable parameter @v : tensor<4xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [["dp"]], on {"pp" = [0]}>}

// Tests that forward and backward share what they fetch, in whatever type it travels, and that it is fetched once. Another variable is another
// fetch; what depends on the micro-batch is gathered for each.
// CHECK-LABEL: @fetches
// CHECK: %[[W:.*]] = dist.c_allgather %{{.*}} {dist.on = {pp = array<i64: 0>}, dist.once, net.role = #net.role<forward>}
// CHECK: %[[V:.*]] = dist.c_allgather %{{.*}} {dist.on = {pp = array<i64: 0>}, dist.once, net.role = #net.role<forward>}
// CHECK: net.multiply %[[W]], %[[V]]
// CHECK: dist.c_allgather %{{.*}} {dist.on = {pp = array<i64: 0>}, net.role = #net.role<forward>} : tensor<4xf32> -> tensor<8xf32>
// CHECK: net.convert
// CHECK-NOT: dist.c_allgather
// CHECK: net.negate %[[W]]
func.func @fetches(%x: tensor<4xf32>) -> (tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>) {
  %0 = net.read @w {dist.on = {pp = array<i64: 0>}, net.role = #net.role<forward>} : tensor<4xf32>
  %1 = net.convert %0 {dist.on = {pp = array<i64: 0>}, net.role = #net.role<forward>} : tensor<4xf32> -> tensor<4xbf16>
  %2 = dist.c_allgather %1 axes ["dp"] from <dims = [["dp"]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [0]}> shape [8] {dist.on = {pp = array<i64: 0>}, net.role = #net.role<forward>} : tensor<4xbf16> -> tensor<8xbf16>
  %3 = net.read @v {dist.on = {pp = array<i64: 0>}, net.role = #net.role<forward>} : tensor<4xf32>
  %4 = net.convert %3 {dist.on = {pp = array<i64: 0>}, net.role = #net.role<forward>} : tensor<4xf32> -> tensor<4xbf16>
  %5 = dist.c_allgather %4 axes ["dp"] from <dims = [["dp"]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [0]}> shape [8] {dist.on = {pp = array<i64: 0>}, net.role = #net.role<forward>} : tensor<4xbf16> -> tensor<8xbf16>
  %6 = net.multiply %2, %5 {dist.on = {pp = array<i64: 0>}, net.role = #net.role<forward>} : tensor<8xbf16>
  %7 = dist.c_allgather %x axes ["dp"] from <dims = [["dp"]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [0]}> shape [8] {dist.on = {pp = array<i64: 0>}, net.role = #net.role<forward>} : tensor<4xf32> -> tensor<8xf32>
  %8 = net.read @w {dist.on = {pp = array<i64: 0>}, net.role = #net.role<backward>} : tensor<4xf32>
  %9 = net.convert %8 {dist.on = {pp = array<i64: 0>}, net.role = #net.role<backward>} : tensor<4xf32> -> tensor<4xbf16>
  %10 = dist.c_allgather %9 axes ["dp"] from <dims = [["dp"]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [0]}> shape [8] {dist.on = {pp = array<i64: 0>}, net.role = #net.role<backward>} : tensor<4xbf16> -> tensor<8xbf16>
  %11 = net.negate %10 {dist.on = {pp = array<i64: 0>}, net.role = #net.role<backward>} : tensor<8xbf16>
  return %6, %7, %11 : tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>
}

// -----

// Tests that slices without a pipeline share fetches too; the fetch of a value that the slice makes stays.
dist.mesh @mesh <["dp" = 2, slices "micro" = 4]>
net.variable parameter @w : tensor<4xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [["dp"]]>}

// CHECK-LABEL: @slices
// CHECK: %[[W:.*]] = dist.c_allgather %{{.*}} {dist.once, net.role = #net.role<forward>}
// CHECK: dist.c_allgather %arg0 {{.*}} shape [8] {net.role = #net.role<forward>}
// CHECK-NOT: dist.c_allgather
// CHECK: net.negate %[[W]]
func.func @slices(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = net.read @w {net.role = #net.role<forward>} : tensor<4xf32>
  %1 = dist.c_allgather %0 axes ["dp"] from <dims = [["dp"]]> to <dims = [[]]> shape [8] {net.role = #net.role<forward>} : tensor<4xf32> -> tensor<8xf32>
  %2 = dist.c_allgather %x axes ["dp"] from <dims = [["dp"]]> to <dims = [[]]> shape [8] {net.role = #net.role<forward>} : tensor<4xf32> -> tensor<8xf32>
  %3 = net.multiply %1, %2 {net.role = #net.role<forward>} : tensor<8xf32>
  %4 = net.read @w {net.role = #net.role<backward>} : tensor<4xf32>
  %5 = dist.c_allgather %4 axes ["dp"] from <dims = [["dp"]]> to <dims = [[]]> shape [8] {net.role = #net.role<backward>} : tensor<4xf32> -> tensor<8xf32>
  %6 = net.negate %5 {net.role = #net.role<backward>} : tensor<8xf32>
  return %3, %6 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Tests that a fetch in a loop stays what it is: all of a loop takes place in every slice.
dist.mesh @mesh <["dp" = 2, slices "micro" = 4]>
net.variable parameter @w : tensor<4xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [["dp"]]>}

// CHECK-LABEL: @loop
// CHECK-NOT: dist.once
func.func @loop(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = net.read @w : tensor<4xf32>
  %i = net.loop count = 3
  %c = net.carry %x in %i : tensor<8xf32>
  %1 = dist.c_allgather %0 axes ["dp"] from <dims = [["dp"]]> to <dims = [[]]> shape [8] : tensor<4xf32> -> tensor<8xf32>
  %2 = net.add %c, %1 : tensor<8xf32>
  %3 = net.next %2 for %c : tensor<8xf32>
  net.end_loop %i
  return %3 : tensor<8xf32>
}
