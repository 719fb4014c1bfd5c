// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s | dist-opt - | FileCheck %s

// Tests that the operations of a scheduled program read as they are written.

dist.mesh @mesh <["tp" = 2]>

// CHECK-LABEL: @operations
func.func @operations(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2xf32> {
  // CHECK: dist.matmul %arg0 at 0 [3, 1], %arg1 at 0 [4, 1] to [4, 1] batch [] m 2 n 4 k 3 : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  %0 = dist.matmul %x at 0 [3, 1], %y at 0 [4, 1] to [4, 1] batch [] m 2 n 4 k 3 : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  // CHECK: %[[KERNEL:.*]]:2 = dist.kernel(%{{.*}}, %arg0) in_place [0, -1] {
  // CHECK: ^bb0(%[[A:.*]]: tensor<2x4xf32>, %{{.*}}: tensor<2x3xf32>):
  // CHECK: dist.yield %{{.*}}, %[[A]] : tensor<2x4xf32>, tensor<2x4xf32>
  // CHECK: } : (tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %1:2 = dist.kernel(%0, %x) in_place [0, -1] {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<2x3xf32>):
    %e = net.exponential %a : tensor<2x4xf32>
    dist.yield %e, %a : tensor<2x4xf32>, tensor<2x4xf32>
  } : (tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  // CHECK: dist.collective c_allgather(%[[KERNEL]]#0) axes ["tp"] : (tensor<2x4xf32>) -> tensor<2x2x4xf32>
  %2 = dist.collective c_allgather(%1#0) axes ["tp"] : (tensor<2x4xf32>) -> tensor<2x2x4xf32>
  // CHECK: dist.collective c_reducescatter max(%{{.*}}) axes ["tp"] : (tensor<2x2x4xf32>) -> tensor<2x4xf32>
  %3 = dist.collective c_reducescatter max(%2) axes ["tp"] : (tensor<2x2x4xf32>) -> tensor<2x4xf32>
  // CHECK: dist.view %{{.*}} at 6 : tensor<2x4xf32> -> tensor<2xf32>
  %4 = dist.view %3 at 6 : tensor<2x4xf32> -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// CHECK-LABEL: @launches
func.func @launches(%a: tensor<4xf32>, %b: tensor<1xf32>) -> (tensor<4xf32>, tensor<1xf32>, tensor<4xf32>) {
  // CHECK: %[[REDUCED:.*]]:2 = dist.collective c_reduce sum(%arg0, %arg1) roots [1, 0] axes ["tp"] : (tensor<4xf32>, tensor<1xf32>) -> (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<1xf32>>)
  %0:2 = dist.collective c_reduce sum(%a, %b) roots [1, 0] axes ["tp"] : (tensor<4xf32>, tensor<1xf32>) -> (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<1xf32>>)
  // CHECK: %[[SPREAD:.*]]:2 = dist.collective c_broadcast(%[[REDUCED]]#0, %[[REDUCED]]#1) roots [1, 0] axes ["tp"]
  %1:2 = dist.collective c_broadcast(%0#0, %0#1) roots [1, 0] axes ["tp"] : (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<1xf32>>) -> (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<1xf32>>)
  // CHECK: dist.wait %[[SPREAD]]#0, %[[SPREAD]]#1 : (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<1xf32>>) -> (tensor<4xf32>, tensor<1xf32>)
  %2:2 = dist.wait %1#0, %1#1 : (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<1xf32>>) -> (tensor<4xf32>, tensor<1xf32>)
  // CHECK: dist.collective c_send(%{{.*}}) roots [1] to 0 axes ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
  %5 = dist.collective c_send(%2#0) roots [1] to 0 axes ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: dist.collective c_send(%{{.*}}) roots [1] to 0 axes ["tp"] : (tensor<4xf32>) -> ()
  dist.collective c_send(%2#0) roots [1] to 0 axes ["tp"] : (tensor<4xf32>) -> ()
  // CHECK: dist.collective c_send() roots [1, 1] to 0 axes ["tp"] : () -> (tensor<4xf32>, tensor<1xf32>)
  %6:2 = dist.collective c_send() roots [1, 1] to 0 axes ["tp"] : () -> (tensor<4xf32>, tensor<1xf32>)
  // CHECK: dist.collective c_broadcast(%{{.*}}) roots [1, 0] elsewhere [0] axes ["tp"] : (tensor<1xf32>) -> (tensor<4xf32>, tensor<1xf32>)
  %3:2 = dist.collective c_broadcast(%2#1) roots [1, 0] elsewhere [0] axes ["tp"] : (tensor<1xf32>) -> (tensor<4xf32>, tensor<1xf32>)
  // CHECK: dist.collective c_reduce sum(%{{.*}}, %{{.*}}) roots [1, 0] elsewhere [0] axes ["tp"] : (tensor<4xf32>, tensor<1xf32>) -> tensor<1xf32>
  %4 = dist.collective c_reduce sum(%2#0, %2#1) roots [1, 0] elsewhere [0] axes ["tp"] : (tensor<4xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %2#0, %4, %3#0 : tensor<4xf32>, tensor<1xf32>, tensor<4xf32>
}

net.variable optimizer_state @m : tensor<4xf32> {dist.memory = #dist<memory host>}

// CHECK: net.variable optimizer_state @m {{.*}}dist.memory = #dist<memory host>
// CHECK-LABEL: @copies
func.func @copies() {
  %0 = net.read @m : tensor<4xf32>
  // CHECK: %[[FETCH:.*]] = dist.copy %{{.*}} to device : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  %1 = dist.copy %0 to device : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  // CHECK: dist.wait %[[FETCH]] : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
  %2 = dist.wait %1 : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
  // CHECK: dist.copy %{{.*}} to host : (tensor<4xf32>) -> tensor<4xf32>
  %3 = dist.copy %2 to host : (tensor<4xf32>) -> tensor<4xf32>
  net.assign @m, %3 : tensor<4xf32>
  return
}

// CHECK: dist.schedule on {pp = array<i64: 0>} actions ["0F", "send0"] items [0, 0, 1, 0, -2, 0]
dist.schedule on {pp = array<i64: 0>} actions ["0F", "send0"] items [0, 0, 1, 0, -2, 0]
