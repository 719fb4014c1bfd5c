// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-separate-sums --split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-complete-separate-sums --dist-complete-propagate --split-input-file | FileCheck %s --check-prefix=PLACED

// Tests that what a stage contributes to the gradient of a table that another one uses, too, becomes a value of its own,
// which is added up over the slices before it is read elsewhere; and that a scatter into what its own stage makes stays.

dist.mesh @mesh <["pp" = 2, slices "micro" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F1,0B0,0B1\0A1F0,1F1,1B0,1B1\0A"}

net.variable parameter @w : tensor<3xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [1]}>}

// CHECK-LABEL: @tied
// PLACED-LABEL: @tied
func.func @tied(%x: tensor<4x6x3xf32> {dist.mapping = #dist.mapping<dims = [["micro"], [], []]>}, %ids: tensor<4x1xi32> {dist.mapping = #dist.mapping<dims = [["micro"], []]>},
                %rows: tensor<4x3xf32> {dist.mapping = #dist.mapping<dims = [["micro"], []]>}) -> (tensor<6x3xf32>, tensor<6x3xf32>) {
  %w = net.read @w : tensor<3xf32>
  %s = net.broadcast %w dims = [2] {dist.stage = 1 : i64} : tensor<3xf32> -> tensor<4x6x3xf32>
  %y = net.multiply %x, %s {dist.stage = 1 : i64} : tensor<4x6x3xf32>
  // CHECK: %[[HEAD:.*]] = net.reduce sum
  // PLACED: net.reduce sum {{.*}}dist.computes = [{{.*}}partial = sum ["micro"], on {"pp" = [1]}>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], []], on {"pp" = [1]}>]
  %head = net.reduce sum %y dims = [0] {dist.stage = 1 : i64} : tensor<4x6x3xf32> -> tensor<6x3xf32>
  // CHECK: %[[ZEROS:.*]] = net.constant {net.role = #net.role<backward>} dense<0.0
  // CHECK: %[[ROWS:.*]] = net.scatter add %[[ZEROS]], %arg1, {{.*}} {dist.stage = 0 : i64, net.role = #net.role<backward>}
  // CHECK: net.add %[[HEAD]], %[[ROWS]] {dist.stage = 0 : i64, net.name = "grad/table", net.role = #net.role<backward>}
  // PLACED: net.scatter {{.*}}dist.computes = [{{.*}}partial = sum ["micro"], on {"pp" = [0]}>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], []], on {"pp" = [0]}>]
  // PLACED: net.add {{.*}}dist.operands = [#dist.mapping<dims = {{\[}}[], []], on {"pp" = [0]}>, #dist.mapping<dims = {{\[}}[], []], on {"pp" = [0]}>]
  %t = net.broadcast %w dims = [1] {dist.stage = 0 : i64} : tensor<3xf32> -> tensor<4x3xf32>
  %d = net.multiply %rows, %t {dist.stage = 0 : i64} : tensor<4x3xf32>
  %grad = net.scatter add %head, %ids, %d <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> {dist.stage = 0 : i64, net.name = "grad/table", net.role = #net.role<backward>}
      : tensor<6x3xf32>, tensor<4x1xi32>, tensor<4x3xf32> -> tensor<6x3xf32>
  // CHECK: %[[OTHER:.*]] = net.reduce sum
  // CHECK-NEXT: net.scatter add %[[OTHER]], {{.*}}dist.stage = 1
  // CHECK-NOT: net.add
  %other = net.reduce sum %y dims = [0] {dist.stage = 1 : i64} : tensor<4x6x3xf32> -> tensor<6x3xf32>
  %own = net.scatter add %other, %ids, %rows <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> {dist.stage = 1 : i64}
      : tensor<6x3xf32>, tensor<4x1xi32>, tensor<4x3xf32> -> tensor<6x3xf32>
  // CHECK: return
  return %grad, %own : tensor<6x3xf32>, tensor<6x3xf32>
}

// -----

// Tests that a scatter which no longer reads what is split as the table is told how the table is split.

dist.mesh @mesh <["dp" = 2, "pp" = 2, "tp" = 2]> {dist.data_axes = ["dp"], dist.stage_axis = "pp", dist.task_order = "0F0,0B0\0A1F0,1B0\0A"}
net.variable parameter @table : tensor<8x3xf32> {dist.mapping = #dist.mapping<dims = [["tp", "dp"], []], on {"pp" = [0]}>}

// CHECK-LABEL: @split_table
func.func @split_table(%head: tensor<8x3xf32>, %ids: tensor<4x1xi32>, %rows: tensor<4x3xf32>) -> tensor<8x3xf32> {
  %other = net.negate %head {dist.stage = 1 : i64} : tensor<8x3xf32>
  // CHECK: net.scatter {{.*}}dist.results = [#dist.mapping<dims = {{\[}}["tp"], []]>], dist.stage = 0
  // CHECK: net.add {{.*}}{dist.stage = 0 : i64}
  %sum = net.scatter add %other, %ids, %rows <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> {dist.stage = 0 : i64}
      : tensor<8x3xf32>, tensor<4x1xi32>, tensor<4x3xf32> -> tensor<8x3xf32>
  %grad = net.negate %sum {net.name = "grad/table"} : tensor<8x3xf32>
  return %grad : tensor<8x3xf32>
}
