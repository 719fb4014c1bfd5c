// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DEFINE: %{train} = dist-opt %s --dist-train-differentiate="loss-scale=128 dynamic-scale=true" --dist-train-accumulate-gradients=steps=3 --dist-train-unscale-gradients
// DEFINE: %{update} = --dist-train-optimizer="train={adam {} ema {decay: 0.9} clip {global_norm: 1}}" --dist-train-skip-updates="dynamic=true" --dist-train-fetch="values=grad/*,lr,loss_scale,grad_norm,found_inf" --dist-train-simplify
// RUN: %{train} %{update} --dist-train-put-off-updates --dist-train-verify | FileCheck %s

// Tests what the last step of an accumulation has: everything that an update assigns, its counts and the scale of the loss included, and the
// results that depend on accumulated gradients. What forward assigns, every step does, whether the gradients will be finite or not.

// CHECK: func.func @main
// CHECK-SAME: -> (tensor<f32>, tensor<f32> {net.name = "loss_scale"},
// CHECK-SAME: tensor<4xf32> {dist.during = {accumulation = array<i64: 2>}, net.name = "grad/w"},
// CHECK-SAME: tensor<f32> {dist.during = {accumulation = array<i64: 2>}, net.name = "found_inf"},
// CHECK-SAME: tensor<f32> {dist.during = {accumulation = array<i64: 2>}, net.name = "grad_norm"},
// CHECK-SAME: tensor<f32> {net.name = "lr"})
// CHECK: %[[SEEN:.*]] = net.add
// CHECK: net.assign @seen, %[[SEEN]] {net.role = #net.role<forward>}
// CHECK: %[[SUM:.*]] = dist.accumulate
// CHECK: net.assign @"accumulator/w", %[[SUM]] {dist.during = {accumulation = array<i64: 0, 1>}
// CHECK-DAG: net.assign @w, %{{.*}} {dist.during = {accumulation = array<i64: 2>}
// CHECK-DAG: net.assign @"ema/w", %{{.*}} {dist.during = {accumulation = array<i64: 2>}
// CHECK-DAG: net.assign @"adam.m/w", %{{.*}} {dist.during = {accumulation = array<i64: 2>}
// CHECK-DAG: net.assign @"adam.v/w", %{{.*}} {dist.during = {accumulation = array<i64: 2>}
// CHECK-DAG: net.assign @step, %{{.*}} {dist.during = {accumulation = array<i64: 2>}
// CHECK-DAG: net.assign @skipped_steps, %{{.*}} {dist.during = {accumulation = array<i64: 2>}
// CHECK-DAG: net.assign @loss_scale, %{{.*}} {dist.during = {accumulation = array<i64: 2>}
// CHECK-DAG: net.assign @loss_scale.good_steps, %{{.*}} {dist.during = {accumulation = array<i64: 2>}
// CHECK-DAG: net.assign @loss_scale.hysteresis, %{{.*}} {dist.during = {accumulation = array<i64: 2>}
net.variable parameter @w : tensor<4xf32>
net.variable buffer @seen : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %w = net.read @w : tensor<4xf32>
  %s = net.read @seen : tensor<4xf32>
  %a = net.add %s, %x {net.role = #net.role<forward>} : tensor<4xf32>
  net.assign @seen, %a {net.role = #net.role<forward>} : tensor<4xf32>
  %y = net.multiply %w, %x {net.role = #net.role<forward>} : tensor<4xf32>
  %loss = net.reduce sum %y dims = [0] {net.role = #net.role<forward>} : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
