// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-recompute | FileCheck %s

// Tests that a stage computes again what it makes of what it receives, and that nothing is computed again for another
// stage: that was sent in forward.

dist.mesh @mesh <["pp" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0B0\0A1F0,1B0\0A"}

// CHECK-LABEL: @crossing
func.func @crossing(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>}, %w: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) -> tensor<8xf32> {
  %p = net.dot %x, %w batch = [0] x [0] contract = [] x [] {dist.stage = 0 : i64, net.role = #net.role<forward>,
      dist.operands = [#dist.mapping<dims = [[]], on {"pp" = [0]}>, #dist.mapping<dims = [[]], on {"pp" = [0]}>], dist.results = [#dist.mapping<dims = [[]], on {"pp" = [0]}>]} : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  // CHECK: %[[SENT:.*]] = net.tanh {{.*}}dist.stage = 0
  %sent = net.tanh %p {dist.stage = 0 : i64, net.role = #net.role<forward>,
      dist.operands = [#dist.mapping<dims = [[]], on {"pp" = [0]}>], dist.results = [#dist.mapping<dims = [[]], on {"pp" = [0]}>]} : tensor<8xf32>
  // CHECK: net.negate %[[SENT]] {{.*}}dist.stage = 1
  %y = net.negate %sent {dist.stage = 1 : i64, net.role = #net.role<forward>,
      dist.operands = [#dist.mapping<dims = [[]], on {"pp" = [1]}>], dist.results = [#dist.mapping<dims = [[]], on {"pp" = [1]}>]} : tensor<8xf32>
  // CHECK-NOT: net.tanh
  // CHECK: %[[AGAIN:.*]] = net.negate %[[SENT]] {{.*}}dist.stage = 1 : i64, net.recomputes
  // CHECK-NEXT: net.multiply %[[SENT]], %[[AGAIN]]
  %d = net.multiply %sent, %y {dist.stage = 1 : i64, net.role = #net.role<backward>,
      dist.operands = [#dist.mapping<dims = [[]], on {"pp" = [1]}>, #dist.mapping<dims = [[]], on {"pp" = [1]}>], dist.results = [#dist.mapping<dims = [[]], on {"pp" = [1]}>]} : tensor<8xf32>
  return {dist.operands = [#dist.mapping<dims = [[]], on {"pp" = [1]}>]} %d : tensor<8xf32>
}
