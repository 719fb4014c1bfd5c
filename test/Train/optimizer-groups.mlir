// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={adamw {lr {constant: 0.5}} ema {decay: 0.75} group {match: '*.bias' sgd {}} group {match: 'fc.*' lr_scale: 4 weight_decay: 0.125}}" --dist-train-fetch=values=lr --dist-train-simplify --dist-train-verify | FileCheck %s
// RUN: not dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={sgd {} group {match: '*.bias'} group {match: '*.none'}}" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={group {rate: 2}}" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={group {l2: 2}}" 2>&1 | FileCheck %s --check-prefix=L2
// RUN: dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={adafactor {lr {constant: 0.25}} group {match: '*' sgd {}}}" --dist-train-fetch=values=lr | FileCheck %s --check-prefix=EMPTY

// Tests groups of parameters, of which the first that matches counts and the last names the learning rate, and moving averages.

// CHECK-DAG: net.variable parameter @fc.kernel : tensor<4xf32>
// CHECK-DAG: net.variable buffer @"ema/fc.kernel" : tensor<4xf32> = <constant, 0.000000e+00, 0.000000e+00> like @fc.kernel
// CHECK-DAG: net.variable optimizer_state @"adamw.m/fc.kernel"
// CHECK-DAG: net.variable optimizer_state @"adamw.m/out"
// CHECK-NOT: adamw.m/fc.bias
net.variable parameter @fc.kernel : tensor<4xf32>
net.variable parameter @fc.bias : tensor<f32>
net.variable parameter @out : tensor<4xf32>
// CHECK: func.func @train_step
func.func @step(%x: tensor<4xf32>) -> tensor<f32> {
  %w = net.read @fc.kernel : tensor<4xf32>
  %b = net.read @fc.bias : tensor<f32>
  %o = net.read @out : tensor<4xf32>
  %y = net.multiply %w, %x : tensor<4xf32>
  %z = net.multiply %y, %o : tensor<4xf32>
  %s = net.reduce sum %z dims = [0] : tensor<4xf32> -> tensor<f32>
  %loss = net.multiply %s, %b : tensor<f32>
  return %loss : tensor<f32>
}
// CHECK-DAG: %[[W:.*]] = net.read @fc.kernel
// CHECK-DAG: %[[EMA:.*]] = net.read @"ema/fc.kernel"
// CHECK-DAG: %[[RATE:.*]] = net.constant {net.name = "lr", {{.*}}dense<5.000000e-01> : tensor<f32>
// The rate of the group is four times as much, and its weight decay its own.
// CHECK: dense<1.250000e-01> : tensor<4xf32>
// CHECK: net.constant {{.*}}dense<2.000000e+00> : tensor<4xf32>
// CHECK: net.assign @fc.kernel, %[[NEXT:.*]] {
// CHECK: %[[FIRST:.*]] = net.broadcast
// CHECK: %[[OLD:.*]] = net.select %[[FIRST]], %[[W]], %[[EMA]]
// CHECK: %[[QUARTER:.*]] = net.constant {{.*}}dense<2.500000e-01>
// CHECK: %[[NEW_PART:.*]] = net.multiply %[[QUARTER]], %[[NEXT]]
// CHECK: %[[KEPT:.*]] = net.constant {{.*}}dense<7.500000e-01>
// CHECK: %[[OLD_PART:.*]] = net.multiply %[[KEPT]], %[[OLD]]
// CHECK: %[[SUM:.*]] = net.add %[[NEW_PART]], %[[OLD_PART]]
// CHECK: net.assign @"ema/fc.kernel", %[[SUM]]
// CHECK: return {{.*}}, %[[RATE]]

// The group of the remaining parameters, which are none, names the rate.
// EMPTY: %[[LR:.*]] = net.constant {net.name = "lr", {{.*}}dense<2.500000e-01>
// EMPTY: return {{.*}}, %[[LR]]
// NONE: error: match glob "*.none" matches none of the parameters
// OPTION: error: option train, line 1, column {{[0-9]+}}: Message type "meshwright.strategy.ParameterGroup" has no field named "rate".
// L2: error: a group overrides l2, which AdamW does not take
