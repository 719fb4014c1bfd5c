// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear network of two layers with momentum, each layer and its momentum with one owner on axis "zero": @a with the
// last rank, @b with the first. The batch is split over both axes.

#x = #dist.mapping<dims = [["outer", "zero"], []]>
#r2 = #dist.mapping<dims = [[], []]>
#r0 = #dist.mapping<dims = []>
#p2 = #dist.mapping<dims = [[], []], partial = sum ["outer", "zero"]>
#p0 = #dist.mapping<dims = [], partial = sum ["outer", "zero"]>
#pz = #dist.mapping<dims = [], partial = sum ["zero"]>
#last = #dist.mapping<dims = [[], []], on {"zero" = [1]}>
#first = #dist.mapping<dims = [[], []], on {"zero" = [0]}>
#last0 = #dist.mapping<dims = [], on {"zero" = [1]}>
#first0 = #dist.mapping<dims = [], on {"zero" = [0]}>
module {
  dist.mesh @mesh <["outer" = OUTER, "zero" = 2]>
  net.variable parameter @a : tensor<6x5xf64> {dist.mapping = #last}
  net.variable parameter @b : tensor<5x3xf64> {dist.mapping = #first}
  net.variable optimizer_state @ma : tensor<6x5xf64> = #net.init<constant, 0.0, 0.0> {dist.mapping = #last}
  net.variable optimizer_state @mb : tensor<5x3xf64> = #net.init<constant, 0.0, 0.0> {dist.mapping = #first}
  func.func @step(%x: tensor<8x6xf64> {dist.mapping = #x, net.name = "x"})
      -> (tensor<f64> {dist.mapping = #r0, net.name = "loss"}, tensor<f64> {dist.mapping = #r0, net.name = "norm"}, tensor<6x5xf64> {dist.mapping = #last, net.name = "gradient"}) {
    %a = net.read @a {dist.results = [#r2]} : tensor<6x5xf64>
    %b = net.read @b {dist.results = [#r2]} : tensor<5x3xf64>
    %h = net.dot %x, %a batch = [] x [] contract = [1] x [0] {dist.operands = [#x, #r2], dist.results = [#x]} : tensor<8x6xf64>, tensor<6x5xf64> -> tensor<8x5xf64>
    %y = net.dot %h, %b batch = [] x [] contract = [1] x [0] {dist.operands = [#x, #r2], dist.results = [#x]} : tensor<8x5xf64>, tensor<5x3xf64> -> tensor<8x3xf64>
    %square = net.multiply %y, %y {dist.operands = [#x, #x], dist.results = [#x]} : tensor<8x3xf64>
    %loss = net.reduce sum %square dims = [0, 1] {dist.operands = [#x], dist.computes = [#p0], dist.results = [#r0]} : tensor<8x3xf64> -> tensor<f64>
    %dy = net.add %y, %y {dist.operands = [#x, #x], dist.results = [#x]} : tensor<8x3xf64>
    %db = net.dot %h, %dy batch = [] x [] contract = [0] x [0] {dist.operands = [#x, #x], dist.computes = [#p2], dist.results = [#first]} : tensor<8x5xf64>, tensor<8x3xf64> -> tensor<5x3xf64>
    %dh = net.dot %dy, %b batch = [] x [] contract = [1] x [1] {dist.operands = [#x, #r2], dist.results = [#x]} : tensor<8x3xf64>, tensor<5x3xf64> -> tensor<8x5xf64>
    %da = net.dot %x, %dh batch = [] x [] contract = [0] x [0] {dist.operands = [#x, #x], dist.computes = [#p2], dist.results = [#last]} : tensor<8x6xf64>, tensor<8x5xf64> -> tensor<6x5xf64>
    // The squared norm of all gradients: every owner has its terms.
    %da2 = net.multiply %da, %da {dist.operands = [#last, #last], dist.results = [#last]} : tensor<6x5xf64>
    %na = net.reduce sum %da2 dims = [0, 1] {dist.operands = [#last], dist.results = [#last0]} : tensor<6x5xf64> -> tensor<f64>
    %db2 = net.multiply %db, %db {dist.operands = [#first, #first], dist.results = [#first]} : tensor<5x3xf64>
    %nb = net.reduce sum %db2 dims = [0, 1] {dist.operands = [#first], dist.results = [#first0]} : tensor<5x3xf64> -> tensor<f64>
    %norm = net.add %na, %nb {dist.operands = [#pz, #pz], dist.computes = [#pz], dist.results = [#r0]} : tensor<f64>
    %scale = net.rsqrt %norm {dist.operands = [#r0], dist.results = [#r0]} : tensor<f64>
    %ma = net.read @ma {dist.results = [#last]} : tensor<6x5xf64>
    %scalea = net.broadcast %scale dims = [] {dist.operands = [#last0], dist.results = [#last]} : tensor<f64> -> tensor<6x5xf64>
    %clippeda = net.multiply %da, %scalea {dist.operands = [#last, #last], dist.results = [#last]} : tensor<6x5xf64>
    %ma1 = net.add %ma, %clippeda {dist.operands = [#last, #last], dist.results = [#last]} : tensor<6x5xf64>
    %a1 = net.subtract %a, %ma1 {dist.operands = [#last, #last], dist.results = [#last]} : tensor<6x5xf64>
    %mb = net.read @mb {dist.results = [#first]} : tensor<5x3xf64>
    %scaleb = net.broadcast %scale dims = [] {dist.operands = [#first0], dist.results = [#first]} : tensor<f64> -> tensor<5x3xf64>
    %clippedb = net.multiply %db, %scaleb {dist.operands = [#first, #first], dist.results = [#first]} : tensor<5x3xf64>
    %mb1 = net.add %mb, %clippedb {dist.operands = [#first, #first], dist.results = [#first]} : tensor<5x3xf64>
    %b1 = net.subtract %b, %mb1 {dist.operands = [#first, #first], dist.results = [#first]} : tensor<5x3xf64>
    net.assign @a, %a1 {dist.operands = [#last]} : tensor<6x5xf64>
    net.assign @b, %b1 {dist.operands = [#first]} : tensor<5x3xf64>
    net.assign @ma, %ma1 {dist.operands = [#last]} : tensor<6x5xf64>
    net.assign @mb, %mb1 {dist.operands = [#first]} : tensor<5x3xf64>
    return {dist.operands = [#r0, #r0, #last]} %loss, %norm, %da : tensor<f64>, tensor<f64>, tensor<6x5xf64>
  }
}
