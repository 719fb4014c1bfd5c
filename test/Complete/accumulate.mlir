// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DEFINE: %{partition} = --dist-partition-materialize-reshards --dist-partition-localize-shapes --dist-partition-verify
// RUN: dist-opt %s --split-input-file --dist-complete-propagate --dist-complete-verify %{partition} | FileCheck %s

// Tests that an accumulator without a placement is kept like its addend: partial over the batch, split where the parameter is even if
// the gradient is not, whole where the gradient is. The sum is reduced after it, before any other reader than the accumulator.

// CHECK: net.variable accumulator @"accumulator/w" : tensor<2x8xf32> {{.*}}dist.mapping = #dist.mapping<dims = {{\[\["tp"\], \[\]\]}}, partial = sum ["dp"]>
// CHECK: net.variable accumulator @"accumulator/c" : tensor<8xf32> {{.*}}dist.mapping = #dist.mapping<dims = {{\[\[\]\]}}>
// CHECK-LABEL: @follows
// CHECK: net.dot
// CHECK: %[[GRADIENT:.*]] = net.dot
// CHECK-NEXT: %[[PART:.*]] = dist.c_reducescatter %[[GRADIENT]] axes ["tp"]
// CHECK-NEXT: %[[SUM:.*]] = dist.accumulate %{{.*}}, %[[PART]] over "accumulation" : tensor<2x8xf32>
// CHECK: %[[MEAN:.*]] = net.multiply %{{.*}}, %[[SUM]]
// CHECK-NEXT: %[[REDUCED:.*]] = dist.c_allreduce %[[MEAN]] axes ["dp"]
// CHECK: dist.accumulate
// CHECK: net.assign @"accumulator/w", %[[SUM]] {dist.during = {accumulation = array<i64: 0, 1, 2>}}
// CHECK: net.assign @w, %[[REDUCED]]
dist.mesh @mesh <["dp" = 2, "tp" = 2, steps "accumulation" = 4]> {dist.data_axes = ["dp"]}
net.variable parameter @w : tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}
net.variable parameter @c : tensor<8xf32>
net.variable accumulator @"accumulator/w" : tensor<4x8xf32> like @w
net.variable accumulator @"accumulator/c" : tensor<8xf32> like @c
func.func @follows(%x: tensor<6x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>},
                   %y: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  %a = net.read @"accumulator/w" : tensor<4x8xf32>
  %b = net.read @"accumulator/c" : tensor<8xf32>
  %w = net.read @w : tensor<4x8xf32>
  %c = net.read @c : tensor<8xf32>
  // Finite, so that the partial sum %q passes the product.
  %tx = net.tanh %x : tensor<6x4xf32>
  %p = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %q = net.add %p, %y : tensor<6x8xf32>
  %g = net.dot %tx, %q batch = [] x [] contract = [0] x [0] : tensor<6x4xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
  %s = dist.accumulate %a, %g over "accumulation" : tensor<4x8xf32>
  %quarter = net.constant dense<0.25> : tensor<4x8xf32>
  %m = net.multiply %quarter, %s {dist.defer_reduction} : tensor<4x8xf32>
  %t = dist.accumulate %b, %c over "accumulation" : tensor<8xf32>
  net.assign @"accumulator/w", %s {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<4x8xf32>
  net.assign @"accumulator/c", %t {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<8xf32>
  net.assign @w, %m {dist.during = {accumulation = array<i64: 3>}} : tensor<4x8xf32>
  return
}

// -----

// Tests that what is added goes where an accumulator is placed, and comes out of the sum as it is kept.

// CHECK: net.variable accumulator @"accumulator/w" : tensor<4xf32> {{.*}}dist.mapping = #dist.mapping<dims = {{\[\["dp"\]\]}}>
// CHECK-LABEL: @leads
// CHECK: %[[GRADIENT:.*]] = net.reduce sum
// CHECK-NEXT: %[[PART:.*]] = dist.c_reducescatter %[[GRADIENT]] axes ["dp"]
// CHECK-NEXT: %[[SUM:.*]] = dist.accumulate %{{.*}}, %[[PART]] over "accumulation" : tensor<4xf32>
// CHECK-NOT: dist.c_
// CHECK: net.assign @"accumulator/w", %[[SUM]]
dist.mesh @mesh <["dp" = 2, steps "accumulation" = 4]> {dist.data_axes = ["dp"]}
net.variable parameter @w : tensor<8xf32>
net.variable accumulator @"accumulator/w" : tensor<8xf32> like @w {dist.mapping = #dist.mapping<dims = [["dp"]]>}
func.func @leads(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  %a = net.read @"accumulator/w" : tensor<8xf32>
  %g = net.reduce sum %x dims = [0] : tensor<6x8xf32> -> tensor<8xf32>
  %s = dist.accumulate %a, %g over "accumulation" : tensor<8xf32>
  net.assign @"accumulator/w", %s {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<8xf32>
  return
}

// -----

// Tests that a partial accumulator may be given, and one that has owners.

// CHECK-LABEL: @given
// CHECK: %[[GRADIENT:.*]] = net.reduce sum
// CHECK-NEXT: dist.accumulate %{{.*}}, %[[GRADIENT]]
// CHECK: %[[OTHER:.*]] = net.reduce sum
// CHECK-NEXT: %[[OWNED:.*]] = dist.c_reduce %[[OTHER]] axes ["dp"]
// CHECK-NEXT: dist.accumulate %{{.*}}, %[[OWNED]] over "accumulation" {dist.on = {dp = array<i64: 1>}}
// CHECK-NOT: dist.c_
dist.mesh @mesh <["dp" = 2, steps "accumulation" = 4]> {dist.data_axes = ["dp"]}
net.variable accumulator @partial : tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]], partial = sum ["dp"]>}
net.variable accumulator @owned : tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"dp" = [1]}>}
func.func @given(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>},
                 %y: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  %a = net.read @partial : tensor<8xf32>
  %b = net.read @owned : tensor<8xf32>
  %g = net.reduce sum %x dims = [0] : tensor<6x8xf32> -> tensor<8xf32>
  %s = dist.accumulate %a, %g over "accumulation" : tensor<8xf32>
  %h = net.reduce sum %y dims = [0] : tensor<6x8xf32> -> tensor<8xf32>
  %t = dist.accumulate %b, %h over "accumulation" : tensor<8xf32>
  net.assign @partial, %s {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<8xf32>
  net.assign @owned, %t {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<8xf32>
  return
}
