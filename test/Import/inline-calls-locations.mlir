// RUN: dist-opt %s --dist-import-inline-calls -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s

// Tests that what is inlined knows its own place and that of the call.

// CHECK: "stablehlo.abs"(%arg0) : (tensor<4xf32>) -> tensor<4xf32> loc(callsite("callee" at "caller"))
func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%arg0) : (tensor<4xf32>) -> tensor<4xf32> loc("caller")
  return %0 : tensor<4xf32>
}
func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.abs %arg0 : tensor<4xf32> loc("callee")
  return %0 : tensor<4xf32>
}
