// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-widen-sums --split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-complete-widen-sums --dist-complete-propagate --split-input-file | FileCheck %s --check-prefix=PLACED

// Tests that ranks add up parts of 16-bit sums in f32 and round afterwards; that maxima, wide sums and gradients stay; and
// that nothing happens without a mesh.

dist.mesh @mesh <["dp" = 2]>

// CHECK-LABEL: @sums
// PLACED-LABEL: @sums
func.func @sums(%x: tensor<1024x2xf16> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}, %y: tensor<1024x2xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>})
    -> (tensor<2xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf32>) {
  // CHECK: %[[WIDE:.*]] = net.convert %arg0 {net.role = #net.role<forward>} : tensor<1024x2xf16> -> tensor<1024x2xf32>
  // CHECK: %[[SUM:.*]] = net.reduce sum %[[WIDE]] dims = [0] {net.role = #net.role<forward>} : tensor<1024x2xf32> -> tensor<2xf32>
  // CHECK: net.convert %[[SUM]] {net.name = "total", net.role = #net.role<forward>} : tensor<2xf32> -> tensor<2xf16>
  // PLACED: net.reduce sum {{.*}}dist.computes = [#dist.mapping<dims = {{\[}}[]], partial = sum ["dp"]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[]]>]{{.*}}tensor<2xf32>
  // PLACED: net.convert {{.*}}dist.operands = [#dist.mapping<dims = {{\[}}[]]>]{{.*}}tensor<2xf32> -> tensor<2xf16>
  %0 = net.reduce sum %x dims = [0] {net.name = "total", net.role = #net.role<forward>} : tensor<1024x2xf16> -> tensor<2xf16>
  // CHECK: net.reduce product %{{.*}} : tensor<1024x2xf32> -> tensor<2xf32>
  %1 = net.reduce product %x dims = [0] : tensor<1024x2xf16> -> tensor<2xf16>
  // CHECK: net.reduce max %arg0 dims = [0] : tensor<1024x2xf16> -> tensor<2xf16>
  %2 = net.reduce max %x dims = [0] : tensor<1024x2xf16> -> tensor<2xf16>
  // CHECK: net.reduce sum %arg1 dims = [0] : tensor<1024x2xf32> -> tensor<2xf32>
  %3 = net.reduce sum %y dims = [0] : tensor<1024x2xf32> -> tensor<2xf32>
  return %0, %1, %2, %3 : tensor<2xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>

// CHECK-LABEL: @gradients
func.func @gradients(%x: tensor<1024x2xbf16> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK: net.reduce sum %arg0 dims = [0] : tensor<1024x2xbf16> -> tensor<2xbf16>
  %0 = net.reduce sum %x dims = [0] : tensor<1024x2xbf16> -> tensor<2xbf16>
  %1 = net.convert %0 {net.name = "grad/b"} : tensor<2xbf16> -> tensor<2xf32>
  // CHECK: net.reduce sum %arg0 dims = [0] : tensor<1024x2xbf16> -> tensor<2xbf16>
  %2 = net.reduce sum %x dims = [0] : tensor<1024x2xbf16> -> tensor<2xbf16>
  %3 = net.convert %2 {dist.defer_reduction} : tensor<2xbf16> -> tensor<2xf32>
  return %1, %3 : tensor<2xf32>, tensor<2xf32>
}

// -----

// CHECK-LABEL: @serial
func.func @serial(%x: tensor<1024x2xf16>) -> tensor<2xf16> {
  // CHECK: net.reduce sum %arg0 dims = [0] : tensor<1024x2xf16> -> tensor<2xf16>
  %0 = net.reduce sum %x dims = [0] : tensor<1024x2xf16> -> tensor<2xf16>
  return %0 : tensor<2xf16>
}
