// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-assign-buffers --dist-schedule-verify | FileCheck %s

// Tests where what collectives read and write is in the arena.

dist.mesh @mesh <["dp" = 2]>

// A sum takes the place of what nothing reads any more, in flight too; what is read later stays.
// CHECK-LABEL: @reduce_in_place
// CHECK: dist.matmul {{.*}}dist.offsets = array<i64: [[A:[0-9]+]]>
// CHECK: c_allreduce {{.*}}dist.offsets = array<i64: [[A]]>
// CHECK: dist.matmul {{.*}}dist.offsets = array<i64: [[B:[0-9]+]]>
// CHECK-NOT: c_allreduce {{.*}}dist.offsets = array<i64: [[B]]>
// CHECK: dist.wait {{.*}}dist.offsets = array<i64: [[A]]>
func.func @reduce_in_place(%x: tensor<16xf32>, %y: tensor<1x1xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = dist.matmul %x at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 : tensor<16xf32>, tensor<1x1xf32> -> tensor<16xf32>
  %1 = dist.collective c_allreduce sum(%0) axes ["dp"] : (tensor<16xf32>) -> !dist.handle<tensor<16xf32>>
  %2 = dist.matmul %x at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 : tensor<16xf32>, tensor<1x1xf32> -> tensor<16xf32>
  %3 = dist.collective c_allreduce sum(%2) axes ["dp"] : (tensor<16xf32>) -> tensor<16xf32>
  %4 = dist.wait %1 : (!dist.handle<tensor<16xf32>>) -> tensor<16xf32>
  return %2, %3, %4 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
