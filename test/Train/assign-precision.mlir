// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-assign-precision="compute=bf16 keep=*.ln_1,kept" | FileCheck %s
// RUN: dist-opt %s --dist-train-assign-precision="compute=f16" | FileCheck %s --check-prefix=F16
// RUN: dist-opt %s --dist-train-assign-precision="compute=f16 keep=*.ln_1,exponential,h.*,kept,k*" 2>&1 | FileCheck %s --check-prefix=WITHOUT --implicit-check-not=warning:
// RUN: not dist-opt %s --dist-train-assign-precision="compute=f16 keep=dots" 2>&1 | FileCheck %s --check-prefix=NONE

// Tests which operations compute in 16 bit, that a parameter is converted after its read, and that nothing is converted twice.

net.variable parameter @w : tensor<4x4xf32>
net.variable parameter @kept : tensor<4xf32>
func.func @step(%x: tensor<2x4xf32>) -> tensor<f32> {
  %w = net.read @w : tensor<4x4xf32>
  %k = net.read @kept : tensor<4xf32>
  %half = net.constant dense<0.5> : tensor<2x4xf32>
  %lowest = net.constant dense<-1.0e+30> : tensor<2x4xf32>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %z = net.dot %x, %w batch = [] x [] contract = [1] x [1] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %s = net.multiply %half, %y : tensor<2x4xf32>
  %t = net.tanh %s : tensor<2x4xf32>
  %n = net.tanh %t {net.scope = "h.ln_1"} : tensor<2x4xf32>
  %m = net.maximum %lowest, %z : tensor<2x4xf32>
  %b = net.broadcast %k dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
  %p = net.add %m, %b : tensor<2x4xf32>
  %e = net.exponential %t : tensor<2x4xf32>
  %q = net.add %n, %p : tensor<2x4xf32>
  %r = net.add %q, %e : tensor<2x4xf32>
  %loss = net.reduce sum %r dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK: %[[X:.*]] = net.convert %arg0 : tensor<2x4xf32> -> tensor<2x4xbf16>
// CHECK: %[[READ:.*]] = net.read @w
// CHECK-NEXT: %[[W:.*]] = net.convert %[[READ]] : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK-NEXT: %[[KEPT:.*]] = net.read @kept
// CHECK-NEXT: net.constant dense<5.000000e-01>
// CHECK: %[[Y:.*]] = net.dot %[[X]], %[[W]] {{.*}} -> tensor<2x4xbf16>
// CHECK: %[[Z:.*]] = net.dot %[[X]], %[[W]] {{.*}} -> tensor<2x4xbf16>
// CHECK: net.multiply {{.*}}, %[[Y]] : tensor<2x4xbf16>
// CHECK: %[[T:.*]] = net.tanh {{.*}} : tensor<2x4xbf16>
// CHECK-NEXT: %[[T32:.*]] = net.convert %[[T]] : tensor<2x4xbf16> -> tensor<2x4xf32>
// CHECK-NEXT: net.tanh %[[T32]] {{.*}} : tensor<2x4xf32>
// CHECK: net.maximum {{.*}}, %[[Z]] : tensor<2x4xbf16>
// CHECK: net.broadcast %[[KEPT]]
// CHECK: net.add {{.*}} : tensor<2x4xf32>
// CHECK: net.exponential %[[T32]] : tensor<2x4xf32>
// CHECK-NOT: net.convert
// CHECK: return

// Constants that overflow in the narrow type keep their own.
// F16: net.maximum {{.*}} : tensor<2x4xf32>

// NONE: error: keep glob "dots" matches none of the operations, scopes and parameters
// WITHOUT: warning: keep glob "exponential" has no effect: all that it matches keeps its type without it
// WITHOUT: warning: keep glob "h.*" has no effect: all that it matches keeps its type without it
// WITHOUT: warning: keep glob "k*" has no effect: all that it matches keeps its type without it
