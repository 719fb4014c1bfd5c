// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-communicate --dist-schedule-assign-buffers --dist-schedule-verify | FileCheck %s

// Tests that collectives which are started already, or have several parts, or an end elsewhere, stay as they are.

dist.mesh @mesh <["dp" = 2]>

// CHECK-LABEL: @started
// CHECK: %[[F:.*]]:2 = dist.collective c_allreduce sum(%{{.*}}, %{{.*}}) axes ["dp"] {{.*}} -> (!dist.handle<tensor<16xf32>>, !dist.handle<tensor<16xf32>>)
// CHECK: %[[W:.*]]:2 = dist.wait %[[F]]#0, %[[F]]#1
// CHECK: return %[[W]]#0, %[[W]]#1
func.func @started(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0:2 = dist.collective c_allreduce sum(%x, %y) axes ["dp"] : (tensor<16xf32>, tensor<16xf32>) -> (!dist.handle<tensor<16xf32>>, !dist.handle<tensor<16xf32>>)
  %1:2 = dist.wait %0#0, %0#1 : (!dist.handle<tensor<16xf32>>, !dist.handle<tensor<16xf32>>) -> (tensor<16xf32>, tensor<16xf32>)
  return %1#0, %1#1 : tensor<16xf32>, tensor<16xf32>
}

// CHECK-LABEL: @several_parts
// CHECK: %[[R:.*]]:2 = dist.collective c_allreduce sum(%{{.*}}, %{{.*}}) axes ["dp"] {{.*}} -> (tensor<16xf32>, tensor<16xf32>)
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @several_parts(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0:2 = dist.collective c_allreduce sum(%x, %y) axes ["dp"] : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xf32>
}

// CHECK-LABEL: @one_end
// CHECK: dist.collective c_send(%{{.*}}) roots [0] to 1 axes ["dp"] {{.*}} -> ()
// CHECK: %[[R:.*]] = dist.collective c_send() roots [1] to 0 axes ["dp"] {{.*}} -> tensor<16xf32>
// CHECK: return %[[R]]
func.func @one_end(%x: tensor<16xf32>) -> tensor<16xf32> {
  dist.collective c_send(%x) roots [0] to 1 axes ["dp"] : (tensor<16xf32>) -> ()
  %0 = dist.collective c_send() roots [1] to 0 axes ["dp"] : () -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
