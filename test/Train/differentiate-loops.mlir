// RUN: dist-opt %s --dist-train-differentiate | FileCheck %s

// Tests that backward goes through a loop from its end, and what it reads of forward.

net.variable parameter @p.w : tensor<3x4xf64>
net.variable parameter @p.u : tensor<4xf64>

// CHECK-LABEL: func @step
// CHECK: %[[W:.*]] = net.read @p.w
// CHECK: %[[U:.*]] = net.read @p.u
// CHECK: %[[I:.*]] = net.loop count = 3
// CHECK: %[[C:.*]] = net.carry %arg0 in %[[I]]
// CHECK: %[[K:.*]] = net.add
// CHECK: %[[T:.*]] = net.multiply %[[C]], %[[K]]
// The operands of the derivative of the product: the carried value and the sum, of every iteration.
// CHECK-DAG: %[[CS:.*]] = net.stack %[[C]] in %[[I]]
// CHECK-DAG: %[[KS:.*]] = net.stack %[[K]] in %[[I]]
// CHECK: net.end_loop %[[I]]
// CHECK: %[[ONES:.*]] = net.broadcast
// CHECK: %[[J:.*]] = net.loop count = 3 reverse
// CHECK: %[[DC:.*]] = net.carry %[[ONES]] in %[[J]]
// CHECK-DAG: %[[TC:.*]] = net.take %[[CS]] in %[[J]]
// CHECK-DAG: %[[DK:.*]] = net.multiply %[[DC]], %[[TC]]
// CHECK-DAG: %[[DW:.*]] = net.stack %[[DK]] in %[[J]]
// CHECK-DAG: net.total %[[DK]] in %[[J]]
// CHECK: net.end_loop %[[J]]
// CHECK-DAG: net.name = "grad/p.w"
// CHECK-DAG: net.name = "grad/p.u"
func.func @step(%x: tensor<4xf64>) -> tensor<f64> {
  %w = net.read @p.w : tensor<3x4xf64>
  %u = net.read @p.u : tensor<4xf64>
  %i = net.loop count = 3
  %c = net.carry %x in %i : tensor<4xf64>
  %wi = net.take %w in %i : tensor<3x4xf64> -> tensor<4xf64>
  %k = net.add %wi, %u : tensor<4xf64>
  %t = net.multiply %c, %k : tensor<4xf64>
  %y = net.next %t for %c : tensor<4xf64>
  net.end_loop %i
  %l = net.reduce sum %y dims = [0] : tensor<4xf64> -> tensor<f64>
  return %l : tensor<f64>
}
