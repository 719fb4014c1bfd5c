// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s | dist-opt - | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt - | FileCheck %s

// Tests that the boundary of a computation per rank prints as it is written.

dist.mesh @mesh <["dp" = 2, "tp" = 2]>

// CHECK-LABEL: @boundary
func.func @boundary(%arg0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: %[[PART:.*]] = dist.to_local %arg0 in <dims = {{\[}}["dp", "tp"], []]> : tensor<8x64xf32> -> tensor<2x64xf32>
  %0 = dist.to_local %arg0 in <dims = [["dp", "tp"], []]> : tensor<8x64xf32> -> tensor<2x64xf32>
  // CHECK: dist.to_global %[[PART]] over ["dp", "tp"] in <dims = {{\[}}["tp", "dp"], []]> : tensor<2x64xf32> -> tensor<8x64xf32>
  %1 = dist.to_global %0 over ["dp", "tp"] in <dims = [["tp", "dp"], []]> : tensor<2x64xf32> -> tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}
