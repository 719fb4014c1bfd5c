// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DEFINE: %{train} = dist-opt %s --dist-train-differentiate=seed=2
// DEFINE: %{distribute} = --dist-train-optimizer="train={momentum {}}" --dist-train-simplify --dist-train-verify --dist-complete-propagate --dist-complete-verify --dist-partition-materialize-reshards --dist-partition-localize-shapes --dist-partition-verify
// RUN: %{train} --dist-train-reduce-gradients="scale=loss replicas=2" %{distribute} | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: %{train} --dist-train-reduce-gradients="scale=before replicas=1" %{distribute} | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: %{train} --dist-train-reduce-gradients="scale=before replicas=2" %{distribute} | FileCheck %s --check-prefixes=CHECK,BEFORE
// RUN: %{train} --dist-train-reduce-gradients="scale=after replicas=2" %{distribute} | FileCheck %s --check-prefixes=CHECK,AFTER
// RUN: %{train} --dist-train-reduce-gradients="communicate=f32" %{distribute} | FileCheck %s --check-prefixes=CHECK,F32
// RUN: %{train} --dist-train-reduce-gradients="communicate=bf16" %{distribute} | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: %{train} --dist-train-reduce-gradients="communicate=f16" %{distribute} | FileCheck %s --check-prefixes=CHECK,F16
// RUN: %{train} --dist-train-reduce-gradients="scale=before replicas=2 communicate=f32" %{distribute} | FileCheck %s --check-prefixes=CHECK,BEFORE-F32
// RUN: %{train} --dist-train-reduce-gradients="scale=before replicas=2 communicate=bf16" %{distribute} | FileCheck %s --check-prefixes=CHECK,BEFORE-BF16
// RUN: %{train} --dist-train-reduce-gradients="scale=before replicas=2 communicate=f16" %{distribute} | FileCheck %s --check-prefixes=CHECK,BEFORE-F16
// RUN: %{train} --dist-train-reduce-gradients="scale=after replicas=2 communicate=f32" %{distribute} | FileCheck %s --check-prefixes=CHECK,AFTER-F32
// RUN: %{train} --dist-train-reduce-gradients="scale=after replicas=2 communicate=bf16" %{distribute} | FileCheck %s --check-prefixes=CHECK,AFTER-BF16
// RUN: %{train} --dist-train-reduce-gradients="scale=after replicas=2 communicate=f16" %{distribute} | FileCheck %s --check-prefixes=CHECK,AFTER-F16
// RUN: not dist-opt %s --dist-train-differentiate --dist-train-reduce-gradients="replicas=0" 2>&1 | FileCheck %s --check-prefix=ERROR

// Tests where the sum over the batch is reduced, and in which type, for every place of the factor 1/2 and every type: of a parameter in
// f32, whose gradient is partial over the batch's axis, and of one in bf16, which is partial over both axes.

// ERROR: error: the batch is split over 0 ranks; there is at least 1

dist.mesh @mesh <["dp" = 2, "tp" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @w : tensor<4xf32>
net.variable parameter @b : tensor<6xbf16>
func.func @step(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>},
                %y: tensor<8x4x6xbf16> {dist.mapping = #dist.mapping<dims = [["dp"], ["tp"], []]>}) -> tensor<f32> {
  %w = net.read @w : tensor<4xf32>
  %ww = net.broadcast %w dims = [1] : tensor<4xf32> -> tensor<8x4xf32>
  %wx = net.multiply %ww, %x : tensor<8x4xf32>
  %b = net.read @b : tensor<6xbf16>
  %bb = net.broadcast %b dims = [2] : tensor<6xbf16> -> tensor<8x4x6xbf16>
  %by = net.multiply %bb, %y : tensor<8x4x6xbf16>
  %s = net.reduce sum %wx dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  %t = net.reduce sum %by dims = [0, 1, 2] : tensor<8x4x6xbf16> -> tensor<bf16>
  %tt = net.convert %t : tensor<bf16> -> tensor<f32>
  %st = net.add %s, %tt : tensor<f32>
  %c = net.constant dense<0.125> : tensor<f32>
  %loss = net.multiply %st, %c : tensor<f32>
  return %loss : tensor<f32>
}

// CHECK: net.constant {{.*}}role<backward>

// The gradient of the bf16 parameter is made first: partial over both axes, which are reduced at once.

// PLAIN: %[[B:.*]] = dist.c_allreduce %[[G:.*]] axes ["dp", "tp"] {{.*}} tensor<6xbf16> -> tensor<6xbf16>
// PLAIN: %[[W:.*]] = dist.c_allreduce %{{.*}} axes ["dp"] {{.*}} tensor<4xf32> -> tensor<4xf32>
// PLAIN-NOT: net.convert
// PLAIN: net.assign @"momentum.m/w"

// BEFORE: %[[B:.*]] = net.multiply {{.*}}dist.defer_reduction{{.*}}"grad/b"
// BEFORE-NEXT: dist.c_allreduce %[[B]] axes ["dp", "tp"] {{.*}} tensor<6xbf16> -> tensor<6xbf16>
// BEFORE: %[[W:.*]] = net.multiply {{.*}}dist.defer_reduction{{.*}}"grad/w"
// BEFORE-NEXT: dist.c_allreduce %[[W]] axes ["dp"] {{.*}} tensor<4xf32> -> tensor<4xf32>

// AFTER: %[[B:.*]] = dist.c_allreduce %{{.*}} axes ["dp", "tp"] {{.*}} tensor<6xbf16> -> tensor<6xbf16>
// AFTER: net.multiply {{.*}}, %[[B]] {{.*}}"grad/b"
// AFTER: %[[W:.*]] = dist.c_allreduce %{{.*}} axes ["dp"] {{.*}} tensor<4xf32> -> tensor<4xf32>
// AFTER: net.multiply {{.*}}, %[[W]] {{.*}}"grad/w"

// F32: %[[B:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<6xbf16> -> tensor<6xf32>
// F32-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[B]] axes ["dp", "tp"] {{.*}} tensor<6xf32> -> tensor<6xf32>
// F32-NEXT: net.convert %[[SUM]] {{.*}}"grad/b"{{.*}} tensor<6xf32> -> tensor<6xbf16>
// F32: dist.c_allreduce %{{.*}} axes ["dp"] {{.*}} tensor<4xf32> -> tensor<4xf32>
// F32-NOT: net.convert
// F32: net.assign @"momentum.m/w"

// BF16: dist.c_allreduce %{{.*}} axes ["dp", "tp"] {{.*}} tensor<6xbf16> -> tensor<6xbf16>
// BF16: %[[W:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<4xf32> -> tensor<4xbf16>
// BF16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[W]] axes ["dp"] {{.*}} tensor<4xbf16> -> tensor<4xbf16>
// BF16-NEXT: net.convert %[[SUM]] {{.*}}"grad/w"{{.*}} tensor<4xbf16> -> tensor<4xf32>

// F16: %[[B:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<6xbf16> -> tensor<6xf16>
// F16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[B]] axes ["dp", "tp"] {{.*}} tensor<6xf16> -> tensor<6xf16>
// F16-NEXT: net.convert %[[SUM]] {{.*}}"grad/b"{{.*}} tensor<6xf16> -> tensor<6xbf16>
// F16: %[[W:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<4xf32> -> tensor<4xf16>
// F16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[W]] axes ["dp"] {{.*}} tensor<4xf16> -> tensor<4xf16>
// F16-NEXT: net.convert %[[SUM]] {{.*}}"grad/w"{{.*}} tensor<4xf16> -> tensor<4xf32>

// BEFORE-F32: %[[B:.*]] = net.multiply {{.*}}dist.defer_reduction{{.*}} tensor<6xbf16>
// BEFORE-F32-NEXT: %[[WIDE:.*]] = net.convert %[[B]] {{.*}}dist.defer_reduction{{.*}} tensor<6xbf16> -> tensor<6xf32>
// BEFORE-F32-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[WIDE]] axes ["dp", "tp"] {{.*}} tensor<6xf32> -> tensor<6xf32>
// BEFORE-F32-NEXT: net.convert %[[SUM]] {{.*}}"grad/b"{{.*}} tensor<6xf32> -> tensor<6xbf16>
// BEFORE-F32: %[[W:.*]] = net.multiply {{.*}}dist.defer_reduction{{.*}}"grad/w"
// BEFORE-F32-NEXT: dist.c_allreduce %[[W]] axes ["dp"] {{.*}} tensor<4xf32> -> tensor<4xf32>

// BEFORE-BF16: %[[B:.*]] = net.multiply {{.*}}dist.defer_reduction{{.*}}"grad/b"
// BEFORE-BF16-NEXT: dist.c_allreduce %[[B]] axes ["dp", "tp"] {{.*}} tensor<6xbf16> -> tensor<6xbf16>
// BEFORE-BF16: %[[W:.*]] = net.multiply {{.*}}dist.defer_reduction{{.*}} tensor<4xf32>
// BEFORE-BF16-NEXT: %[[NARROW:.*]] = net.convert %[[W]] {{.*}}dist.defer_reduction{{.*}} tensor<4xf32> -> tensor<4xbf16>
// BEFORE-BF16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[NARROW]] axes ["dp"] {{.*}} tensor<4xbf16> -> tensor<4xbf16>
// BEFORE-BF16-NEXT: net.convert %[[SUM]] {{.*}}"grad/w"{{.*}} tensor<4xbf16> -> tensor<4xf32>

// BEFORE-F16: %[[B:.*]] = net.multiply {{.*}}dist.defer_reduction{{.*}} tensor<6xbf16>
// BEFORE-F16-NEXT: %[[NARROW:.*]] = net.convert %[[B]] {{.*}}dist.defer_reduction{{.*}} tensor<6xbf16> -> tensor<6xf16>
// BEFORE-F16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[NARROW]] axes ["dp", "tp"] {{.*}} tensor<6xf16> -> tensor<6xf16>
// BEFORE-F16-NEXT: net.convert %[[SUM]] {{.*}}"grad/b"{{.*}} tensor<6xf16> -> tensor<6xbf16>
// BEFORE-F16: %[[W:.*]] = net.multiply {{.*}}dist.defer_reduction{{.*}} tensor<4xf32>
// BEFORE-F16-NEXT: %[[NARROW:.*]] = net.convert %[[W]] {{.*}}dist.defer_reduction{{.*}} tensor<4xf32> -> tensor<4xf16>
// BEFORE-F16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[NARROW]] axes ["dp"] {{.*}} tensor<4xf16> -> tensor<4xf16>
// BEFORE-F16-NEXT: net.convert %[[SUM]] {{.*}}"grad/w"{{.*}} tensor<4xf16> -> tensor<4xf32>

// AFTER-F32: %[[B:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<6xbf16> -> tensor<6xf32>
// AFTER-F32-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[B]] axes ["dp", "tp"] {{.*}} tensor<6xf32> -> tensor<6xf32>
// AFTER-F32-NEXT: %[[BACK:.*]] = net.convert %[[SUM]] {{.*}} tensor<6xf32> -> tensor<6xbf16>
// AFTER-F32: net.multiply {{.*}}, %[[BACK]] {{.*}}"grad/b"
// AFTER-F32: %[[SUM:.*]] = dist.c_allreduce %{{.*}} axes ["dp"] {{.*}} tensor<4xf32> -> tensor<4xf32>
// AFTER-F32: net.multiply {{.*}}, %[[SUM]] {{.*}}"grad/w"

// AFTER-BF16: %[[SUM:.*]] = dist.c_allreduce %{{.*}} axes ["dp", "tp"] {{.*}} tensor<6xbf16> -> tensor<6xbf16>
// AFTER-BF16: net.multiply {{.*}}, %[[SUM]] {{.*}}"grad/b"
// AFTER-BF16: %[[W:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<4xf32> -> tensor<4xbf16>
// AFTER-BF16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[W]] axes ["dp"] {{.*}} tensor<4xbf16> -> tensor<4xbf16>
// AFTER-BF16-NEXT: %[[BACK:.*]] = net.convert %[[SUM]] {{.*}} tensor<4xbf16> -> tensor<4xf32>
// AFTER-BF16: net.multiply {{.*}}, %[[BACK]] {{.*}}"grad/w"

// AFTER-F16: %[[B:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<6xbf16> -> tensor<6xf16>
// AFTER-F16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[B]] axes ["dp", "tp"] {{.*}} tensor<6xf16> -> tensor<6xf16>
// AFTER-F16-NEXT: %[[BACK:.*]] = net.convert %[[SUM]] {{.*}} tensor<6xf16> -> tensor<6xbf16>
// AFTER-F16: net.multiply {{.*}}, %[[BACK]] {{.*}}"grad/b"
// AFTER-F16: %[[W:.*]] = net.convert {{.*}}dist.defer_reduction{{.*}} tensor<4xf32> -> tensor<4xf16>
// AFTER-F16-NEXT: %[[SUM:.*]] = dist.c_allreduce %[[W]] axes ["dp"] {{.*}} tensor<4xf16> -> tensor<4xf16>
// AFTER-F16-NEXT: %[[BACK:.*]] = net.convert %[[SUM]] {{.*}} tensor<4xf16> -> tensor<4xf32>
// AFTER-F16: net.multiply {{.*}}, %[[BACK]] {{.*}}"grad/w"
