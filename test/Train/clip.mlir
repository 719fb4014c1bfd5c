// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={sgd {lr {constant: 0.5}} clip {global_norm: 2}}" --dist-train-fetch=values=grad_norm --dist-train-simplify --dist-train-verify | FileCheck %s

// Tests the clipping by the norm of all gradients: squares and their sum are of f32, the sum is one marked chain, and each gradient is
// scaled in its own type.

net.variable parameter @kernel : tensor<4x2xf32>
net.variable parameter @bias : tensor<2xbf16>
net.variable parameter @scale : tensor<f32>
func.func @step(%x: tensor<4x2xf32>, %y: tensor<2xbf16>) -> tensor<f32> {
  %w = net.read @kernel : tensor<4x2xf32>
  %b = net.read @bias : tensor<2xbf16>
  %s = net.read @scale : tensor<f32>
  %wx = net.multiply %w, %x : tensor<4x2xf32>
  %by = net.multiply %b, %y : tensor<2xbf16>
  %r = net.reduce sum %wx dims = [0, 1] : tensor<4x2xf32> -> tensor<f32>
  %q = net.reduce sum %by dims = [0] : tensor<2xbf16> -> tensor<bf16>
  %qf = net.convert %q : tensor<bf16> -> tensor<f32>
  %rq = net.add %r, %qf : tensor<f32>
  %loss = net.multiply %rq, %s : tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @step
// CHECK: %[[SCALE:.*]] = net.{{.*}}"grad/scale"
// CHECK: %[[BIAS:.*]] = net.multiply {{.*}}"grad/bias"
// CHECK: %[[KERNEL:.*]] = net.multiply {{.*}}"grad/kernel"
// CHECK: %[[KERNEL2:.*]] = net.multiply %[[KERNEL]], %[[KERNEL]]
// CHECK-NEXT: %[[KERNEL_SUM:.*]] = net.reduce sum %[[KERNEL2]] dims = [0, 1]
// CHECK-NEXT: %[[WIDE:.*]] = net.convert %[[BIAS]] {{.*}} tensor<2xbf16> -> tensor<2xf32>
// CHECK-NEXT: %[[BIAS2:.*]] = net.multiply %[[WIDE]], %[[WIDE]]
// CHECK-NEXT: %[[BIAS_SUM:.*]] = net.reduce sum %[[BIAS2]] dims = [0]
// CHECK-NEXT: %[[TWO:.*]] = net.add %[[KERNEL_SUM]], %[[BIAS_SUM]] {dist.defer_reduction
// CHECK-NEXT: %[[SCALE2:.*]] = net.multiply %[[SCALE]], %[[SCALE]]
// CHECK-NEXT: %[[ALL:.*]] = net.add %[[TWO]], %[[SCALE2]] {dist.defer_reduction
// CHECK-NEXT: %[[NORM:.*]] = net.sqrt %[[ALL]] {net.name = "grad_norm"
// CHECK-NEXT: %[[BOUND:.*]] = net.constant {{.*}}dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[BELOW:.*]] = net.compare lt, %[[NORM]], %[[BOUND]]
// CHECK: %[[DIRECTION:.*]] = net.divide %[[KERNEL]],
// CHECK: %[[STAYS:.*]] = net.broadcast %[[BELOW]]
// CHECK: %[[SCALED:.*]] = net.multiply {{.*}}, %[[DIRECTION]]
// CHECK: net.select %[[STAYS]], %[[KERNEL]], %[[SCALED]]
// CHECK: net.assign @kernel
// CHECK: net.divide %[[BIAS]], {{.*}} tensor<2xbf16>
// CHECK: net.assign @bias
// CHECK: return {{.*}}, %[[NORM]]
