// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --from=optimize --no-optimize --emit-stablehlo=%t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: dist-opt %t.mlir --to=import | FileCheck %s --check-prefix=READ

// Tests that a slice of everything, which a part of a split dimension can be, is its operand: the short form of StableHLO has no type for
// it, and JAX does not parse such a text.

// CHECK-NOT: stablehlo.slice
// CHECK: stablehlo.negate
// READ: net.negate
func.func @step(%x: tensor<4x6xf32> {net.name = "x"}) -> (tensor<4x6xf32> {net.name = "y"}) {
  %0 = net.slice %x starts = [0, 0] limits = [4, 6] steps = [1, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %1 = net.negate %0 : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
