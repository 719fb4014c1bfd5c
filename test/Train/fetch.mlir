// RUN: dist-opt %s --dist-train-fetch="values=grad/*,lr" | FileCheck %s

// Tests that named values are returned in the order of their operations, after the existing results, whose names stay.

// CHECK: func.func @step(%[[X:.*]]: tensor<2xf32> {net.name = "x"})
// CHECK-SAME: -> (tensor<2xf32> {net.name = "y"}, tensor<2xf32>, tensor<2xf32> {net.name = "lr"}, tensor<2xf32> {net.name = "grad/p.b"}, tensor<2xf32> {net.name = "grad/p.a"})
func.func @step(%x: tensor<2xf32> {net.name = "x"}) -> (tensor<2xf32> {net.name = "y"}, tensor<2xf32>) {
  // CHECK: %[[LR:.*]] = net.sine
  // CHECK: %[[B:.*]] = net.cosine
  // CHECK: %[[A:.*]] = net.tanh
  %0 = net.sine %x {net.name = "lr"} : tensor<2xf32>
  %1 = net.cosine %x {net.name = "grad/p.b"} : tensor<2xf32>
  %2 = net.exponential %x {net.name = "other"} : tensor<2xf32>
  %3 = net.tanh %x {net.name = "grad/p.a"} : tensor<2xf32>
  // CHECK: return %[[X]], %{{.*}}, %[[LR]], %[[B]], %[[A]]
  return %x, %2 : tensor<2xf32>, tensor<2xf32>
}
