// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --split-input-file --dist-schedule-materialize-copies="prefetch=1" | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-schedule-materialize-copies="prefetch=0" | FileCheck %s --check-prefix=WAIT

// Tests that the state of one parameter after the other is fetched and written back beside the updates.

net.variable optimizer_state @m.a : tensor<4xf32> {dist.memory = #dist<memory host>}
net.variable optimizer_state @m.b : tensor<4xf32> {dist.memory = #dist<memory host>}

// CHECK-LABEL: @updates_pass_one_after_the_other
// CHECK: %[[A:.*]] = dist.copy %{{.*}} to device {net.name = "m.a"} : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
// CHECK: dist.kernel
// CHECK: %[[B:.*]] = dist.copy %{{.*}} to device {net.name = "m.b"}
// CHECK: %[[OLD:.*]] = dist.wait %[[A]]
// CHECK: %[[NEW:.*]] = dist.kernel(%[[OLD]])
// CHECK: %[[BACK:.*]] = dist.copy %[[NEW]] to host {net.name = "m.a"} : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
// CHECK: dist.wait %[[B]]
// CHECK: dist.kernel
// CHECK: %[[LAST:.*]] = dist.copy %{{.*}} to host {net.name = "m.b"} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[WRITTEN:.*]] = dist.wait %[[BACK]]
// CHECK: net.assign @m.a, %[[WRITTEN]]
// CHECK: net.assign @m.b, %[[LAST]]
// WAIT-LABEL: @updates_pass_one_after_the_other
// WAIT: dist.kernel
// WAIT: dist.copy %{{.*}} to device {net.name = "m.a"} : (tensor<4xf32>) -> tensor<4xf32>
// WAIT: dist.kernel
// WAIT-NEXT: ^bb0
// WAIT: dist.copy %{{.*}} to host {net.name = "m.a"} : (tensor<4xf32>) -> tensor<4xf32>
// WAIT: dist.copy %{{.*}} to device {net.name = "m.b"} : (tensor<4xf32>) -> tensor<4xf32>
// WAIT-NOT: dist.wait
// WAIT: return
func.func @updates_pass_one_after_the_other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = net.read @m.a : tensor<4xf32>
  %b = net.read @m.b : tensor<4xf32>
  %0 = dist.kernel(%x) {
  ^bb0(%arg: tensor<4xf32>):
    %y = net.exponential %arg : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.kernel(%a) {
  ^bb0(%arg: tensor<4xf32>):
    %y = net.negate %arg : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.kernel(%b) {
  ^bb0(%arg: tensor<4xf32>):
    %y = net.negate %arg : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  net.assign @m.a, %1 : tensor<4xf32>
  net.assign @m.b, %2 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Tests that a parameter which backward reads far from forward is fetched again, through the views of its readers.

net.variable parameter @w : tensor<2x2xf32> {dist.memory = #dist<memory host>}

// CHECK-LABEL: @fetches_again_for_backward
// CHECK: dist.copy %{{.*}} to device
// CHECK: dist.kernel
// CHECK: dist.kernel
// CHECK: %[[FLIGHT:.*]] = dist.copy %{{.*}} to device
// CHECK: dist.kernel
// CHECK: %[[FETCHED:.*]] = dist.wait %[[FLIGHT]]
// CHECK: %[[VIEW:.*]] = dist.view %[[FETCHED]]
// CHECK: dist.kernel(%[[VIEW]])
func.func @fetches_again_for_backward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %w = net.read @w : tensor<2x2xf32>
  %v = dist.view %w at 0 : tensor<2x2xf32> -> tensor<4xf32>
  %0 = dist.kernel(%v) {
  ^bb0(%arg: tensor<4xf32>):
    %y = net.exponential %arg : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.kernel(%0) {
  ^bb0(%arg: tensor<4xf32>):
    %y = net.negate %arg : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.kernel(%1) {
  ^bb0(%arg: tensor<4xf32>):
    %y = net.negate %arg : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %3 = dist.kernel(%v) {
  ^bb0(%arg: tensor<4xf32>):
    %y = net.negate %arg : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that a variable of the host which takes the value of another one gets it over the device.

net.variable buffer @from : tensor<4xf32> {dist.memory = #dist<memory host>}
net.variable buffer @to : tensor<4xf32> {dist.memory = #dist<memory host>}

// CHECK-LABEL: @copies_from_variable_to_variable
// CHECK: %[[OLD:.*]] = net.read @from
// CHECK: %[[FETCHED:.*]] = dist.copy %[[OLD]] to device
// CHECK: %[[NEW:.*]] = dist.copy %[[FETCHED]] to host
// CHECK: net.assign @to, %[[NEW]]
func.func @copies_from_variable_to_variable() {
  %0 = net.read @from : tensor<4xf32>
  net.assign @to, %0 : tensor<4xf32>
  return
}

// -----

// Tests that a variable of the device is left alone.

net.variable optimizer_state @m : tensor<4xf32>

// CHECK-LABEL: @leaves_variables_of_the_device
// CHECK-NOT: dist.copy
// CHECK: return
func.func @leaves_variables_of_the_device() -> tensor<4xf32> {
  %0 = net.read @m : tensor<4xf32>
  return %0 : tensor<4xf32>
}
