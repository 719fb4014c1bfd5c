// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-lower-conversions --split-input-file | FileCheck %s

// Tests that collectives act on contiguous memory, and that local conversions become operations of net.

dist.mesh @mesh <["dp" = 2, "tp" = 2]>

// CHECK-LABEL: @reduce_takes_the_value_as_it_is
// CHECK-NEXT: dist.collective c_allreduce max(%arg0) axes ["tp"] : (tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: return
func.func @reduce_takes_the_value_as_it_is(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = dist.c_allreduce %x axes ["tp"] from <dims = [[], []], partial = max ["tp"]> to <dims = [[], []]> shape [4, 6]
     : tensor<4x6xf32> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Parts along the outermost dimension are contiguous.
// CHECK-LABEL: @gather_of_the_outer_dimension
// CHECK-NEXT: %[[PARTS:.*]] = dist.collective c_allgather(%arg0) axes ["tp"] : (tensor<2x6xf32>) -> tensor<2x2x6xf32>
// CHECK-NOT: net.transpose
// CHECK: return
func.func @gather_of_the_outer_dimension(%x: tensor<2x6xf32>) -> tensor<4x6xf32> {
  %0 = dist.c_allgather %x axes ["tp"] from <dims = [["tp"], []]> to <dims = [[], []]> shape [4, 6] : tensor<2x6xf32> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// CHECK-LABEL: @gather_of_an_inner_dimension
// CHECK-NEXT: %[[PARTS:.*]] = dist.collective c_allgather(%arg0) axes ["tp"] : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
// CHECK: net.transpose
// CHECK: -> tensor<4x6xf32>
// CHECK: return
func.func @gather_of_an_inner_dimension(%x: tensor<4x3xf32>) -> tensor<4x6xf32> {
  %0 = dist.c_allgather %x axes ["tp"] from <dims = [[], ["tp"]]> to <dims = [[], []]> shape [4, 6] : tensor<4x3xf32> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Five indices in parts of three: the last part is padded, and the sixth index is cut off.
// CHECK-LABEL: @gather_of_uneven_parts
// CHECK: dist.collective c_allgather(%arg0) axes ["tp"] : (tensor<3xf32>) -> tensor<2x3xf32>
// CHECK: net.slice {{.*}} limits = [1, 5]
func.func @gather_of_uneven_parts(%x: tensor<3xf32>) -> tensor<5xf32> {
  %0 = dist.c_allgather %x axes ["tp"] from <dims = [["tp"]]> to <dims = [[]]> shape [5] : tensor<3xf32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// CHECK-LABEL: @scatter_of_uneven_parts
// CHECK: net.pad {{.*}} high = [0, 1]
// CHECK: dist.collective c_reducescatter sum({{.*}}) axes ["tp"] : (tensor<2x3xf32>) -> tensor<3xf32>
func.func @scatter_of_uneven_parts(%x: tensor<5xf32>) -> tensor<3xf32> {
  %0 = dist.c_reducescatter %x axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [["tp"]]> shape [5] : tensor<5xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @exchange_of_rows_for_columns
// CHECK: net.transpose
// CHECK: dist.collective c_alltoall({{.*}}) axes ["tp"] : (tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
// CHECK: return %{{.*}} : tensor<4x3xf32>
func.func @exchange_of_rows_for_columns(%x: tensor<2x6xf32>) -> tensor<4x3xf32> {
  %0 = dist.c_alltoall %x axes ["tp"] from <dims = [["tp"], []]> to <dims = [[], ["tp"]]> shape [4, 6] : tensor<2x6xf32> -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// Of six columns each rank keeps two and sends one: the rows of two tables say which, and where those that are there
// afterwards come from.
// CHECK-LABEL: @exchange_of_columns
// CHECK: %[[TP:.*]] = dist.coordinate "tp"
// CHECK: net.constant dense<{{\[\[}}0, 1], [1, 0]]> : tensor<2x2xi32>
// CHECK: %[[SENT:.*]] = net.gather {{.*}} -> tensor<2x4x1xf32>
// CHECK: dist.collective c_alltoall({{.*}}) axes ["tp"] : (tensor<2x1x4x1xf32>) -> tensor<2x1x4x1xf32>
// CHECK: net.concatenate {{.*}} -> tensor<5x4x1xf32>
// CHECK: net.constant dense<{{\[\[}}0, 2, 4], [3, 0, 2]]> : tensor<2x3xi32>
// CHECK: return %{{.*}} : tensor<4x3xf32>
func.func @exchange_of_columns(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = dist.c_alltoall %x axes ["tp"] from <dims = [[], ["tp"]]> to <dims = [[], [3, "tp"]]> shape [4, 6] : tensor<4x3xf32> -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: @own_part
// CHECK-NOT: dist.collective
// CHECK: net.gather
// CHECK: return %{{.*}} : tensor<3xf32>
func.func @own_part(%x: tensor<6xf32>) -> tensor<3xf32> {
  %tp = dist.coordinate "tp" : tensor<i32>
  %0 = dist.shard %x at (%tp) axes ["tp"] from <dims = [[]]> to <dims = [["tp"]]> shape [6] : tensor<6xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Each part of a splat is a splat, which no kernel has to read.
// CHECK-LABEL: @own_part_of_a_splat
// CHECK: %[[PART:.*]] = net.constant dense<1.500000e+00> : tensor<3xf32>
// CHECK-NOT: net.gather
// CHECK: return %[[PART]]
func.func @own_part_of_a_splat() -> tensor<3xf32> {
  %x = net.constant dense<1.5> : tensor<6xf32>
  %tp = dist.coordinate "tp" : tensor<i32>
  %0 = dist.shard %x at (%tp) axes ["tp"] from <dims = [[]]> to <dims = [["tp"]]> shape [6] : tensor<6xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @one_holder_keeps_its_value
// CHECK: net.compare eq
// CHECK: net.constant dense<-0.000000e+00>
// CHECK: net.select
func.func @one_holder_keeps_its_value(%x: tensor<6xf32>) -> tensor<6xf32> {
  %tp = dist.coordinate "tp" : tensor<i32>
  %0 = dist.to_partial %x at (%tp) axes ["tp"] from <dims = [[]]> to <dims = [[]], partial = sum ["tp"]> shape [6] : tensor<6xf32> -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: @rest_is_filled
// CHECK: net.iota
// CHECK: net.compare lt
// CHECK: net.select
func.func @rest_is_filled(%x: tensor<3xf32>) -> tensor<3xf32> {
  %tp = dist.coordinate "tp" : tensor<i32>
  %0 = dist.mask %x at (%tp) dims [0] placement <dims = [["tp"]]> shape [5] fill 1.0 : f32 : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// The root of a group of several axes is counted as its members are; what was made for some runs there.
// CHECK-LABEL: @to_and_from_one_holder
// CHECK-NEXT: %[[OWNED:.*]] = dist.collective c_reduce sum(%arg0) roots [3] axes ["dp", "tp"] : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[ALL:.*]] = dist.collective c_broadcast(%[[OWNED]]) roots [1] axes ["tp"] {dist.on = {dp = array<i64: 1>}} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[ZERO:.*]] = net.constant dense<-0.000000e+00>
// CHECK-NEXT: dist.either %[[ALL]] on {dp = array<i64: 1>} else %[[ZERO]] : tensor<8xf32>
func.func @to_and_from_one_holder(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.c_reduce %x axes ["dp", "tp"] from <dims = [[]], partial = sum ["dp", "tp"]> to <dims = [[]], on {"dp" = [1], "tp" = [1]}> shape [8] : tensor<8xf32> -> tensor<8xf32>
  %1 = dist.c_broadcast %0 axes ["tp"] from <dims = [[]], on {"dp" = [1], "tp" = [1]}> to <dims = [[]], on {"dp" = [1]}> shape [8] {dist.on = {dp = array<i64: 1>}} : tensor<8xf32> -> tensor<8xf32>
  %2 = dist.to_partial %1 at () axes ["dp"] from <dims = [[]], on {"dp" = [1]}> to <dims = [[]], partial = sum ["dp"]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
