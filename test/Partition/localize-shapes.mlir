// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-partition-localize-shapes --dist-partition-verify | FileCheck %s

#r = #dist.mapping<dims = [[], []]>
#dp = #dist.mapping<dims = [["dp"], []]>
#both = #dist.mapping<dims = [["dp"], ["tp"]]>
#tp = #dist.mapping<dims = [["tp"], []]>
#p = #dist.mapping<dims = [["dp"], []], partial = sum ["tp"]>
dist.mesh @mesh <["dp" = 2, "tp" = 2]>

// Tests the boundaries of a program: local types, and the whole ones beside them.
// CHECK: net.variable parameter @w : tensor<4x6xf32> {dist.mapping = {{.*}}net.global_type = tensor<8x6xf32>
net.variable parameter @w : tensor<8x6xf32> {dist.mapping = #tp}

// CHECK-LABEL: func.func @row_parallel
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32> {dist.mapping = {{.*}}, net.global_type = tensor<4x8xf32>
// CHECK-SAME: -> (tensor<2x6xf32> {dist.mapping = {{.*}}, net.global_type = tensor<4x6xf32>
func.func @row_parallel(%x: tensor<4x8xf32> {dist.mapping = #both}) -> (tensor<4x6xf32> {dist.mapping = #dp}) {
  // CHECK: %[[W:.*]] = net.read @w : tensor<4x6xf32>
  %w = net.read @w {dist.results = [#tp]} : tensor<8x6xf32>
  // CHECK: %[[Y:.*]] = net.dot %[[X]], %[[W]] {{.*}} -> tensor<2x6xf32>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] {dist.results = [#p]} : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  // CHECK: %[[ALL:.*]] = dist.c_allreduce %[[Y]] axes ["tp"]
  %z = dist.reshard %y from <dims = [["dp"], []], partial = sum ["tp"]> to <dims = [["dp"], []]> : tensor<4x6xf32>
  // CHECK: return %[[ALL]] : tensor<2x6xf32>
  return %z : tensor<4x6xf32>
}

// -----

#k = #dist.mapping<dims = [[], ["tp"]]>
#w = #dist.mapping<dims = [["tp"], []]>
#p = #dist.mapping<dims = [[], []], partial = sum ["tp"]>
#m = #dist.mapping<dims = [[]], partial = max ["tp"]>
dist.mesh @mesh <["tp" = 2]>

// Tests that both operands of a product are masked where the contracted dimension does not divide, that a maximum masks
// with its own neutral element, and that equal masks are one.
// CHECK-LABEL: func.func @uneven
// CHECK: %[[TP:.*]] = dist.coordinate "tp"
// CHECK: %[[LHS:.*]] = dist.mask %arg0 at(%[[TP]]) dims [1] {{.*}} fill -0.000000e+00 : f32
// CHECK: %[[RHS:.*]] = dist.mask %arg1 at(%[[TP]]) dims [0] {{.*}} fill -0.000000e+00 : f32
// CHECK: net.dot %[[LHS]], %[[RHS]]
// CHECK: net.reduce sum %[[LHS]]
// CHECK: %[[MAX:.*]] = dist.mask %arg0 at(%[[TP]]) dims [1] {{.*}} fill 0xFF800000 : f32
// CHECK: net.reduce max %[[MAX]]
func.func @uneven(%x: tensor<4x7xf32> {dist.mapping = #k}, %w: tensor<7x3xf32> {dist.mapping = #w}) {
  %0 = net.dot %x, %w batch = [] x [] contract = [1] x [0] {dist.results = [#p]} : tensor<4x7xf32>, tensor<7x3xf32> -> tensor<4x3xf32>
  %1 = net.reduce sum %x dims = [1] {dist.results = [#dist.mapping<dims = [[]], partial = sum ["tp"]>]} : tensor<4x7xf32> -> tensor<4xf32>
  %2 = net.reduce max %x dims = [1] {dist.results = [#m]} : tensor<4x7xf32> -> tensor<4xf32>
  return
}

// Tests that the least number is neutral where there is no infinity.
// CHECK-LABEL: func.func @finite
// CHECK: dist.mask %arg0 {{.*}} fill -4.480000e+02 : f8E4M3FN
// CHECK: dist.mask %arg1 {{.*}} fill 0xFC : f8E5M2
func.func @finite(%x: tensor<4x7xf8E4M3FN> {dist.mapping = #k}, %y: tensor<4x7xf8E5M2> {dist.mapping = #k}) {
  %0 = net.reduce max %x dims = [1] {dist.results = [#m]} : tensor<4x7xf8E4M3FN> -> tensor<4xf8E4M3FN>
  %1 = net.reduce max %y dims = [1] {dist.results = [#m]} : tensor<4x7xf8E5M2> -> tensor<4xf8E5M2>
  return
}

// -----

#s = #dist.mapping<dims = [["tp"]]>
#d = #dist.mapping<dims = [[3, "tp"]]>
dist.mesh @mesh <["tp" = 2]>

// Tests what has no operands: a part of a splat is a splat, of another constant taken, of iota an offset.
// CHECK-LABEL: func.func @constants
// CHECK: %[[TP:.*]] = dist.coordinate "tp"
// CHECK: net.constant dense<1.000000e+00> : tensor<3xf32>
// CHECK: %[[WHOLE:.*]] = net.constant {{.*}} : tensor<8xf32>
// CHECK: dist.shard %[[WHOLE]] at(%[[TP]]) axes ["tp"]
// CHECK: %[[COUNT:.*]] = net.iota dim = 0 : tensor<4xi32>
// CHECK: %[[START:.*]] = net.multiply
// CHECK: net.add %[[COUNT]], %[[START]] : tensor<4xi32>
func.func @constants() {
  %0 = net.constant {dist.results = [#s]} dense<1.0> : tensor<6xf32>
  %1 = net.constant {dist.results = [#s]} dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %2 = dist.reshard %1 from <dims = [["tp"]]> to <dims = [["tp"]]> : tensor<8xf32>
  %3 = net.iota dim = 0 {dist.results = [#s]} : tensor<8xi32>
  return
}

// Tests that positions are counted in 64 bits where 32 do not hold them.
// CHECK-LABEL: func.func @long_iota
// CHECK: %[[COUNT:.*]] = net.iota dim = 0 : tensor<3221225472xi64>
// CHECK: %[[COORDINATE:.*]] = net.convert %{{.*}} : tensor<i32> -> tensor<i64>
// CHECK: %[[LENGTH:.*]] = net.constant dense<3221225472> : tensor<3221225472xi64>
// CHECK: net.convert %{{.*}} : tensor<3221225472xi64> -> tensor<3221225472xui64>
func.func @long_iota() {
  %0 = net.iota dim = 0 {dist.results = [#s]} : tensor<6442450944xui64>
  return
}

// Tests that slices keep digits: of three pieces that are split each, one is a contiguous part of what a rank holds.
// CHECK-LABEL: func.func @second_piece
// CHECK: net.slice %arg0 starts = [4] limits = [8] steps = [1] : tensor<12xf32> -> tensor<4xf32>
func.func @second_piece(%x: tensor<24xf32> {dist.mapping = #d}) {
  %0 = net.slice %x starts = [8] limits = [16] steps = [1] {dist.results = [#s]} : tensor<24xf32> -> tensor<8xf32>
  return
}

// Tests that cutting off the end keeps the parts: the last one has one index less.
// CHECK-LABEL: func.func @all_but_the_last
// CHECK: net.slice %arg0 starts = [0] limits = [4] steps = [1] : tensor<4xf32> -> tensor<4xf32>
func.func @all_but_the_last(%x: tensor<8xf32> {dist.mapping = #s}) {
  %0 = net.slice %x starts = [0] limits = [7] steps = [1] {dist.results = [#s]} : tensor<8xf32> -> tensor<7xf32>
  return
}

// Tests that padding fills what lies beyond a part, which the padded value may show.
// CHECK-LABEL: func.func @pad_the_end
// CHECK: %[[INDEX:.*]] = net.add {{.*}} : tensor<4xi32>
// CHECK: %[[SIZE:.*]] = net.constant dense<7> : tensor<4xi32>
// CHECK: %[[INSIDE:.*]] = net.compare lt, %[[INDEX]], %[[SIZE]]
// CHECK: %[[FILLED:.*]] = net.select %[[INSIDE]], %arg0
// CHECK: net.pad %[[FILLED]], %arg1 low = [0] high = [0] interior = [0] : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
func.func @pad_the_end(%x: tensor<7xf32> {dist.mapping = #s}, %v: tensor<f32> {dist.mapping = #dist.mapping<dims = []>}) {
  %0 = net.pad %x, %v low = [0] high = [1] interior = [0] {dist.results = [#s]} : tensor<7xf32>, tensor<f32> -> tensor<8xf32>
  return
}

// -----

#table = #dist.mapping<dims = [["tp"], []]>
#batch = #dist.mapping<dims = [["dp"], []]>
#r = #dist.mapping<dims = [[], []]>
#p = #dist.mapping<dims = [["dp"], []], partial = sum ["tp"]>
dist.mesh @mesh <["dp" = 2, "tp" = 2]>

// Tests a lookup in a split table: the index is clamped in the whole, its position computed, and what is not here is zero.
// CHECK-LABEL: func.func @lookup
// CHECK: %[[LAST:.*]] = net.constant dense<8> : tensor<3x1xi32>
// CHECK: net.minimum {{.*}}, %[[LAST]]
// CHECK: %[[STRIDE:.*]] = net.constant dense<5> : tensor<3x1xi32>
// CHECK: net.divide {{.*}}, %[[STRIDE]]
// CHECK: %[[LOCAL:.*]] = net.remainder {{.*}}, %[[STRIDE]]
// CHECK: %[[HERE:.*]] = net.compare eq
// CHECK: %[[ROWS:.*]] = net.gather %arg0, %[[LOCAL]] {{.*}} : tensor<5x4xf32>, tensor<3x1xi32> -> tensor<3x4xf32>
// CHECK: net.select {{.*}}, %[[ROWS]], %{{.*}} : tensor<3x4xi1>, tensor<3x4xf32>
func.func @lookup(%t: tensor<9x4xf32> {dist.mapping = #table}, %i: tensor<6x1xi32> {dist.mapping = #batch}) {
  %0 = net.gather %t, %i <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 1> sizes = [1, 4] {dist.results = [#p]}
     : tensor<9x4xf32>, tensor<6x1xi32> -> tensor<6x4xf32>
  return
}

// Tests a scatter into a split table: updates that belong elsewhere are dropped, and nothing is reduced.
// CHECK-LABEL: func.func @scatter_into_parts
// CHECK: %[[OUTSIDE:.*]] = net.constant dense<-1> : tensor<6x1xi32>
// CHECK: %[[LOCAL:.*]] = net.select {{.*}}, %[[OUTSIDE]]
// CHECK: net.scatter add %arg0, %[[LOCAL]], %arg2 {{.*}} : tensor<5x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>
func.func @scatter_into_parts(%t: tensor<9x4xf32> {dist.mapping = #table}, %i: tensor<6x1xi32> {dist.mapping = #r},
                              %u: tensor<6x4xf32> {dist.mapping = #r}) {
  %0 = net.scatter add %t, %i, %u <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> {dist.results = [#table]}
     : tensor<9x4xf32>, tensor<6x1xi32>, tensor<6x4xf32> -> tensor<9x4xf32>
  return
}

// Tests a scatter of split updates where sizes do not divide: undefined indices are sent outside.
// CHECK-LABEL: func.func @scatter_of_parts
// CHECK: %[[SAFE:.*]] = dist.mask %arg1 {{.*}} fill -2147483648 : i32
// CHECK: net.scatter add %arg0, %[[SAFE]], %arg2
func.func @scatter_of_parts(%t: tensor<9x4xf32> {dist.mapping = #dist.mapping<dims = [[], []], partial = sum ["dp"]>},
                            %i: tensor<5x1xi32> {dist.mapping = #batch}, %u: tensor<5x4xf32> {dist.mapping = #batch}) {
  %0 = net.scatter add %t, %i, %u <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1>
     {dist.results = [#dist.mapping<dims = [[], []], partial = sum ["dp"]>]}
     : tensor<9x4xf32>, tensor<5x1xi32>, tensor<5x4xf32> -> tensor<9x4xf32>
  return
}

// -----

#r = #dist.mapping<dims = [[]]>
#p = #dist.mapping<dims = [[]], partial = sum ["outer", "zero"]>
#h = #dist.mapping<dims = [[]], on {"zero" = [1]}>
dist.mesh @mesh <["outer" = 2, "zero" = 4]>
net.variable parameter @w : tensor<8xf32> {dist.mapping = #h}

// Tests that an operation states who runs it where not all ranks do: the owner alone reads and assigns its variable,
// and owners alone reduce over other axes.
// CHECK-LABEL: func.func @owner
func.func @owner(%x: tensor<8xf32> {dist.mapping = #p}) {
  // CHECK: %[[W:.*]] = net.read @w {dist.on = {zero = array<i64: 1>}}
  %w = net.read @w {dist.results = [#h]} : tensor<8xf32>
  // CHECK: %[[ALL:.*]] = dist.c_broadcast %[[W]] axes ["zero"] {{.*}} shape [8] : tensor<8xf32>
  %all = dist.reshard %w from <dims = [[]], on {"zero" = [1]}> to <dims = [[]]> : tensor<8xf32>
  // CHECK: net.tanh %[[ALL]] : tensor<8xf32>
  %0 = net.tanh %all {dist.results = [#r]} : tensor<8xf32>
  // CHECK: %[[OWNED:.*]] = dist.c_reduce %arg0 axes ["zero"] {{.*}} shape [8] : tensor<8xf32>
  // CHECK: %[[SUM:.*]] = dist.c_allreduce %[[OWNED]] axes ["outer"] from <dims = {{\[}}[]], partial = sum ["outer"], on {"zero" = [1]}> {{.*}} {dist.on = {zero = array<i64: 1>}}
  %1 = dist.reshard %x from <dims = [[]], partial = sum ["outer", "zero"]> to <dims = [[]], on {"zero" = [1]}> : tensor<8xf32>
  // CHECK: %[[NEW:.*]] = net.subtract %[[W]], %[[SUM]] {dist.on = {zero = array<i64: 1>}}
  %2 = net.subtract %w, %1 {dist.results = [#h]} : tensor<8xf32>
  // CHECK: net.assign @w, %[[NEW]] {dist.on = {zero = array<i64: 1>}}
  net.assign @w, %2 : tensor<8xf32>
  return
}

// A replicated value is with one owner as it stands; a rank without a term of a sum has the neutral element.
// CHECK-LABEL: func.func @free
func.func @free(%x: tensor<8xf32> {dist.mapping = #r}) -> (tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]], partial = sum ["zero"]>}) {
  %0 = dist.reshard %x from <dims = [[]]> to <dims = [[]], on {"zero" = [1]}> : tensor<8xf32>
  // CHECK-NEXT: %[[HELD:.*]] = net.tanh %arg0 {dist.on = {zero = array<i64: 1>}}
  %1 = net.tanh %0 {dist.results = [#h]} : tensor<8xf32>
  // CHECK-NEXT: %[[TERM:.*]] = dist.to_partial %[[HELD]] at() axes ["zero"] {{.*}} shape [8] : tensor<8xf32>
  %2 = dist.reshard %1 from <dims = [[]], on {"zero" = [1]}> to <dims = [[]], partial = sum ["zero"]> : tensor<8xf32>
  // CHECK-NEXT: return %[[TERM]]
  return %2 : tensor<8xf32>
}
