// RUN: dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={sgd {lr {constant: 0.5}}}" --dist-train-fetch=values=lr --dist-train-simplify --dist-train-verify | FileCheck %s --check-prefixes=CHECK,SGD
// RUN: dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={momentum {lr {constant: 0.5} momentum: 0.25}}" --dist-train-simplify --dist-train-verify | FileCheck %s --check-prefixes=CHECK,MOMENTUM
// RUN: dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={momentum {lr {constant: 0.5} momentum: 0.25 nesterov: true}}" --dist-train-simplify --dist-train-verify | FileCheck %s --check-prefixes=CHECK,NESTEROV
// RUN: dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={adamw {weight_decay: 0.125 decay: '*.kernel'}}" --dist-train-simplify --dist-train-verify | FileCheck %s --check-prefixes=CHECK,ADAMW

// Tests the updates of the optimizers, the state they make, and that the function makes way for the counter.

// CHECK: net.variable parameter @fc.kernel : tensor<4xf32>
net.variable parameter @fc.kernel : tensor<4xf32>
// CHECK: net.variable parameter @fc.bias : tensor<f32>
net.variable parameter @fc.bias : tensor<f32>
// SGD-NOT: net.variable
// MOMENTUM: net.variable optimizer_state @"momentum.m/fc.kernel" : tensor<4xf32> = <constant, 0.000000e+00, 0.000000e+00> like @fc.kernel
// MOMENTUM: net.variable optimizer_state @"momentum.m/fc.bias" : tensor<f32>
// ADAMW: net.variable counter @step : tensor<i32>
// ADAMW: net.variable optimizer_state @"adamw.m/fc.kernel" : tensor<4xf32> = <constant, 0.000000e+00, 0.000000e+00> like @fc.kernel
// ADAMW: net.variable optimizer_state @"adamw.v/fc.kernel"
// ADAMW: func.func @train_step
// SGD: func.func @step
func.func @step(%x: tensor<4xf32>) -> tensor<f32> {
  %w = net.read @fc.kernel : tensor<4xf32>
  %b = net.read @fc.bias : tensor<f32>
  %y = net.multiply %w, %x : tensor<4xf32>
  %s = net.reduce sum %y dims = [0] : tensor<4xf32> -> tensor<f32>
  %z = net.add %s, %b : tensor<f32>
  %loss = net.multiply %z, %z : tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-DAG: %[[W:.*]] = net.read @fc.kernel
// CHECK: %[[G:.*]] = net.multiply {{.*}}"grad/fc.kernel"
// SGD: %[[LR:.*]] = net.constant {net.name = "lr", net.role = #net.role<optimize>} dense<5.000000e-01> : tensor<f32>
// SGD: %[[RATE:.*]] = net.constant {{.*}}dense<5.000000e-01> : tensor<4xf32>
// SGD-NEXT: %[[STEP:.*]] = net.multiply %[[RATE]], %[[G]]
// SGD-NEXT: %[[NEXT:.*]] = net.subtract %[[W]], %[[STEP]]
// SGD-NEXT: net.assign @fc.kernel, %[[NEXT]]
// SGD: return {{.*}}, %[[LR]]

// MOMENTUM: %[[T:.*]] = net.multiply {{.*}}, %[[OLD:.*]] {net.role
// MOMENTUM-NEXT: %[[NEW:.*]] = net.add %[[G]], %[[T]]
// MOMENTUM-NEXT: net.assign @"momentum.m/fc.kernel", %[[NEW]]
// MOMENTUM-NEXT: %[[RATE:.*]] = net.constant
// MOMENTUM-NEXT: net.multiply %[[RATE]], %[[NEW]]

// NESTEROV: net.assign @"momentum.m/fc.kernel", %[[NEW:.*]] {
// NESTEROV-NEXT: %[[T:.*]] = net.multiply {{.*}}, %[[NEW]]
// NESTEROV-NEXT: net.add %[[G]], %[[T]]

// The kernel decays, the bias does not.
// ADAMW: net.assign @"adamw.v/fc.kernel"
// ADAMW: %[[DECAY:.*]] = net.constant {{.*}}dense<1.250000e-01>
// ADAMW-NEXT: net.multiply %[[DECAY]], %[[W]]
// ADAMW: net.assign @"adamw.v/fc.bias"
// ADAMW-NOT: dense<1.250000e-01>
// ADAMW: net.assign @fc.bias
