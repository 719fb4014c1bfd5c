// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DEFINE: %{train} = dist-opt %s --dist-train-assign-precision="compute=bf16 keep=kept" --dist-train-differentiate
// DEFINE: %{distribute} = --dist-train-optimizer="train={momentum {}}" --dist-train-simplify --dist-train-verify --dist-complete-propagate --dist-complete-verify --dist-partition-materialize-reshards --dist-partition-localize-shapes --dist-partition-verify
// RUN: %{train} --dist-train-reduce-gradients="communicate=gradient" %{distribute} | FileCheck %s --check-prefixes=CHECK,GRADIENT
// RUN: %{train} --dist-train-reduce-gradients="communicate=bf16" %{distribute} | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: %{train} --dist-train-reduce-gradients="scale=before replicas=2" %{distribute} | FileCheck %s --check-prefixes=CHECK,BEFORE
// RUN: %{train} --dist-train-reduce-gradients="communicate=f32" %{distribute} | FileCheck %s --check-prefixes=CHECK,F32
// RUN: %{train} --dist-train-reduce-gradients="communicate=f16" %{distribute} | FileCheck %s --check-prefixes=CHECK,F16

// Tests the type that gradients are reduced in where forward computes in bf16: @w is used in it alone, @both in f32 too.

dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @w : tensor<4xf32>
net.variable parameter @both : tensor<4xf32>
func.func @step(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> tensor<f32> {
  %w = net.read @w : tensor<4xf32>
  %b = net.read @both : tensor<4xf32>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4xf32> -> tensor<8xf32>
  %z = net.dot %x, %b batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4xf32> -> tensor<8xf32>
  %yz = net.multiply %y, %z : tensor<8xf32>
  %bb = net.broadcast %b dims = [1] {net.scope = "kept"} : tensor<4xf32> -> tensor<8x4xf32>
  %xb = net.multiply %bb, %x {net.scope = "kept"} : tensor<8x4xf32>
  %s = net.reduce sum %xb dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  %t = net.reduce sum %yz dims = [0] : tensor<8xf32> -> tensor<f32>
  %loss = net.add %s, %t : tensor<f32>
  return %loss : tensor<f32>
}

// CHECK: net.dot {{.*}} tensor<4xbf16> -> tensor<4xbf16>

// Cotangents of two types are added before the reduction, in the wider type.
// GRADIENT: %[[SUM:.*]] = dist.c_allreduce {{.*}} tensor<4xbf16> -> tensor<4xbf16>
// GRADIENT: %[[BOTH:.*]] = net.add {{.*}}dist.defer_reduction{{.*}}"grad/both"{{.*}} tensor<4xf32>
// GRADIENT-NEXT: dist.c_allreduce %[[BOTH]] {{.*}} tensor<4xf32> -> tensor<4xf32>
// GRADIENT: net.convert %[[SUM]] {{.*}}"grad/w"{{.*}} tensor<4xbf16> -> tensor<4xf32>

// BF16: %[[SUM:.*]] = dist.c_allreduce {{.*}} tensor<4xbf16> -> tensor<4xbf16>
// BF16: net.add {{.*}}dist.defer_reduction{{.*}} tensor<4xf32>
// BF16: dist.c_allreduce {{.*}} tensor<4xbf16> -> tensor<4xbf16>
// BF16-NEXT: net.convert {{.*}}"grad/both"{{.*}} tensor<4xbf16> -> tensor<4xf32>
// BF16-NEXT: net.convert %[[SUM]] {{.*}}"grad/w"{{.*}} tensor<4xbf16> -> tensor<4xf32>

// The factor is multiplied in the gradient's own type.
// BEFORE: net.multiply {{.*}}"grad/both"
// BEFORE: %[[WIDE:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<4xbf16> -> tensor<4xf32>
// BEFORE-NEXT: %[[HALF:.*]] = net.multiply {{.*}}, %[[WIDE]] {{.*}}dist.defer_reduction{{.*}} tensor<4xf32>
// BEFORE-NEXT: %[[NARROW:.*]] = net.convert %[[HALF]] {{.*}}dist.defer_reduction{{.*}} tensor<4xf32> -> tensor<4xbf16>
// BEFORE-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[NARROW]] {{.*}} tensor<4xbf16> -> tensor<4xbf16>
// BEFORE-NEXT: net.convert %[[SUM]] {{.*}}"grad/w"{{.*}} tensor<4xbf16> -> tensor<4xf32>

// F32: net.add {{.*}}dist.defer_reduction{{.*}}"grad/both"{{.*}} tensor<4xf32>
// F32-NEXT: dist.c_allreduce {{.*}} tensor<4xf32> -> tensor<4xf32>
// F32: %[[WIDE:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}}"grad/w"{{.*}} tensor<4xbf16> -> tensor<4xf32>
// F32-NEXT: dist.c_allreduce %[[WIDE]] {{.*}} tensor<4xf32> -> tensor<4xf32>

// F16: net.convert {{.*}}"grad/both"{{.*}} tensor<4xf16> -> tensor<4xf32>
// F16-NEXT: %[[WIDE:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<4xbf16> -> tensor<4xf32>
// F16-NEXT: %[[NARROW:.*]] = net.convert %[[WIDE]] {{.*}}dist.defer_reduction{{.*}} tensor<4xf32> -> tensor<4xf16>
// F16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[NARROW]] {{.*}} tensor<4xf16> -> tensor<4xf16>
// F16-NEXT: net.convert %[[SUM]] {{.*}}"grad/w"{{.*}} tensor<4xf16> -> tensor<4xf32>
