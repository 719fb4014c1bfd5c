// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-differentiate="loss-scale=128" --dist-train-unscale-gradients | FileCheck %s

// Tests that what is backward of the loss is scaled, that gradients are divided by the scale, and the search for ones that are not finite.

net.variable parameter @a : tensor<4xf32>
net.variable parameter @b : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %a = net.read @a : tensor<4xf32>
  %b = net.read @b : tensor<4xf32>
  %y = net.multiply %a, %b : tensor<4xf32>
  %loss = net.reduce sum %y dims = [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK-DAG: %[[SCALE:.*]] = net.{{.*}}net.name = "loss_scale"
// CHECK: net.divide {{.*}}, %[[SCALE]]
// CHECK: net.multiply {{.*}}net.name = "grad/
// CHECK: net.is_finite
// CHECK: %[[FIRST:.*]] = net.reduce max
// CHECK: net.multiply {{.*}}net.name = "grad/
// CHECK: net.is_finite
// CHECK: %[[SECOND:.*]] = net.reduce max
// CHECK: net.maximum %[[FIRST]], %[[SECOND]] {dist.defer_reduction, net.name = "found_inf"
