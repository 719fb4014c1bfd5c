// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-differentiate="loss-scale=128 dynamic-scale=true" --dist-train-unscale-gradients --dist-train-optimizer="train={momentum {}}" --dist-train-skip-updates="dynamic=true window=10 hysteresis=2" --dist-train-simplify --dist-train-verify | FileCheck %s

// Tests a loss with a dynamic scale from end to end: the search for infinite gradients, the skipped update and the state.

net.variable parameter @a : tensor<4xf32>
net.variable parameter @b : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %a = net.read @a : tensor<4xf32>
  %b = net.read @b : tensor<4xf32>
  %y = net.multiply %a, %b : tensor<4xf32>
  %loss = net.reduce sum %y dims = [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK-DAG: net.variable optimizer_state @loss_scale : tensor<f32> = <constant, 1.280000e+02, 0.000000e+00>
// CHECK-DAG: net.variable counter @loss_scale.hysteresis : tensor<i32> = <constant, 2.000000e+00, 0.000000e+00>
// CHECK-DAG: net.variable counter @skipped_steps : tensor<i32>
// CHECK-DAG: %[[SCALE:.*]] = net.read @loss_scale {net.name = "loss_scale"
// CHECK-DAG: %[[OLD:.*]] = net.read @a
// CHECK: net.broadcast %[[SCALE]]
// CHECK: net.multiply {{.*}}net.name = "grad/
// CHECK: %[[FINITE:.*]] = net.is_finite
// CHECK: %[[FIRST:.*]] = net.reduce max
// CHECK: %[[SECOND:.*]] = net.reduce max
// CHECK: %[[FOUND:.*]] = net.maximum %[[FIRST]], %[[SECOND]] {dist.defer_reduction, net.name = "found_inf"
// CHECK: net.compare gt, %[[FOUND]],
// CHECK: %[[NEXT:.*]] = net.select {{.*}}, %[[OLD]],
// CHECK: net.assign @a, %[[NEXT]]
// CHECK: net.assign @skipped_steps
// CHECK: net.assign @loss_scale
