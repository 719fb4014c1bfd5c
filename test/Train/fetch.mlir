// RUN: dist-opt %s --dist-train-fetch="values=grad/*,lr" | FileCheck %s
// RUN: dist-opt %s --dist-train-fetch="values=forward/*,backward/h.1" | FileCheck %s --check-prefix=SCOPES
// RUN: dist-opt %s --dist-train-fetch="values=*" | FileCheck %s --check-prefix=ALL

// Tests that named values are returned in the order of their operations, after the existing results, whose names stay.

// Tests that globs of scopes return the last value of each in forward and in backward, under the role and the scope, unless it has a name or is a
// constant; and that a glob over all names is none of scopes.

// SCOPES: func.func @step(
// SCOPES-SAME: tensor<2xf32>, tensor<2xf32> {net.name = "forward/h.0"}, tensor<2xf32> {net.name = "backward/h.1"})
// ALL: func.func @step(
// ALL-SAME: {net.name = "grad/p.a"})
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
  %4 = net.sine %x {net.role = #net.role<forward>, net.scope = "h.0"} : tensor<2xf32>
  // SCOPES: %[[LAST:.*]] = net.cosine %{{.*}} {net.role = #net.role<forward>, net.scope = "h.0"}
  %5 = net.cosine %4 {net.role = #net.role<forward>, net.scope = "h.0"} : tensor<2xf32>
  %6 = net.constant {net.role = #net.role<forward>, net.scope = "h.0"} dense<1.0> : tensor<2xf32>
  // SCOPES: %[[BACK:.*]] = net.tanh %{{.*}} {net.role = #net.role<backward>, net.scope = "h.1"}
  %7 = net.tanh %5 {net.role = #net.role<backward>, net.scope = "h.1"} : tensor<2xf32>
  %8 = net.sine %7 {net.role = #net.role<backward>, net.scope = "h.0"} : tensor<2xf32>
  %9 = net.sine %7 {net.role = #net.role<optimize>, net.scope = "h.1"} : tensor<2xf32>
  // SCOPES: return %{{.*}}, %{{.*}}, %[[LAST]], %[[BACK]] :
  // CHECK: return %[[X]], %{{.*}}, %[[LR]], %[[B]], %[[A]]
  return %x, %2 : tensor<2xf32>, tensor<2xf32>
}
