// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s | dist-opt - | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt - | FileCheck %s

// Tests that every operation and attribute of the dialect prints as it is written.

// CHECK: dist.mesh @mesh <["pp" = 1, "dp" = 2, "tp" = 4]>
dist.mesh @mesh <["pp" = 1, "dp" = 2, "tp" = 4]>

// CHECK-LABEL: @coordinate
func.func @coordinate() -> tensor<i32> {
  // CHECK: dist.coordinate "tp" : tensor<i32>
  %0 = dist.coordinate "tp" : tensor<i32>
  return %0 : tensor<i32>
}

// CHECK-LABEL: @reshard
func.func @reshard(%arg0: tensor<8x24xf32>) -> tensor<8x24xf32> {
  // CHECK: dist.reshard %{{.*}} from <dims = {{\[}}["dp"], []], partial = sum ["tp"]> to <dims = {{\[}}["dp"], [3, "tp"]]> : tensor<8x24xf32>
  %0 = dist.reshard %arg0 from <dims = [["dp"], []], partial = sum ["tp"]> to <dims = [["dp"], [3, "tp"]]> : tensor<8x24xf32>
  return %0 : tensor<8x24xf32>
}

// Tests the attribute on its own: digits, parts of a given size, partial kinds, support.
// CHECK-LABEL: @mappings
func.func private @mappings() attributes {
  // CHECK-SAME: digits = #dist.mapping<dims = {{\[}}["dp", "tp"], [3, "pp"]]>
  digits = #dist.mapping<dims = [["dp", "tp"], [3, "pp"]]>,
  // CHECK-SAME: partial = #dist.mapping<dims = {{\[}}[]], partial = max ["dp", "tp"]>
  partial = #dist.mapping<dims = [[]], partial = max ["dp", "tp"]>,
  // CHECK-SAME: parts = #dist.mapping<dims = {{\[}}["tp" by 12, 2, "dp"]]>
  parts = #dist.mapping<dims = [["tp" by 12, 2, "dp"]]>,
  // CHECK-SAME: scalar = #dist.mapping<dims = []>
  scalar = #dist.mapping<dims = []>,
  // CHECK-SAME: support = #dist.mapping<dims = {{\[}}[]], partial = sum ["pp"], on {"pp" = [0, 3], "tp" = [1]}>
  support = #dist.mapping<dims = [[]], partial = sum ["pp"], on {"pp" = [0, 3], "tp" = [1]}>
}
