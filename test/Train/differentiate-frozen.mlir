// RUN: dist-opt %s --dist-train-differentiate="loss=loss frozen=p.e*" --dist-train-fetch=values=grad/* --dist-train-simplify | FileCheck %s

// Tests that a frozen parameter gets no gradient, and that the loss is found by its name.

net.variable parameter @p.embedding : tensor<4xf64>
net.variable parameter @p.head : tensor<4xf64>

// CHECK: func.func @step
// CHECK-NOT: grad/p.embedding
// CHECK: grad/p.head
// CHECK-NOT: grad/p.embedding
// CHECK: return
func.func @step() -> (tensor<f64> {net.name = "accuracy"}, tensor<f64> {net.name = "loss"}) {
  %e = net.read @p.embedding : tensor<4xf64>
  %h = net.read @p.head : tensor<4xf64>
  %y = net.multiply %e, %h : tensor<4xf64>
  %loss = net.reduce sum %y dims = [0] : tensor<4xf64> -> tensor<f64>
  %other = net.reduce max %h dims = [0] : tensor<4xf64> -> tensor<f64>
  return %other, %loss : tensor<f64>, tensor<f64>
}
