// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-partition-materialize-reshards | FileCheck %s

#r = #dist.mapping<dims = [[]]>
#s = #dist.mapping<dims = [["tp"]]>
#p = #dist.mapping<dims = [[]], partial = sum ["tp"]>
dist.mesh @mesh <["tp" = 2]>

// Tests that uses which ask for the same placement share one conversion, before the first of them.
// CHECK-LABEL: @one_conversion_per_target
// CHECK: %[[EXP:.*]] = net.exponential %arg0
// CHECK-NEXT: net.abs %[[EXP]]
// CHECK-NEXT: %[[WHOLE:.*]] = dist.reshard %[[EXP]] from <dims = {{\[}}["tp"]]> to <dims = {{\[}}[]]>
// CHECK-NEXT: net.tanh %[[WHOLE]]
// CHECK-NEXT: net.sine %[[WHOLE]]
// CHECK-NOT: dist.reshard
func.func @one_conversion_per_target(%arg0: tensor<8xf32> {dist.mapping = #s}) {
  %0 = net.exponential %arg0 {dist.operands = [#s], dist.results = [#s]} : tensor<8xf32>
  %1 = net.abs %0 {dist.operands = [#s], dist.results = [#s]} : tensor<8xf32>
  %2 = net.tanh %0 {dist.operands = [#r], dist.results = [#r]} : tensor<8xf32>
  %3 = net.sine %0 {dist.operands = [#r], dist.results = [#r]} : tensor<8xf32>
  return
}

// -----

#r = #dist.mapping<dims = [[]]>
#s = #dist.mapping<dims = [["tp"]]>
#rr = #dist.mapping<dims = [[], []]>
#rs = #dist.mapping<dims = [[], ["tp"]]>
#p = #dist.mapping<dims = [[]], partial = sum ["tp"]>
dist.mesh @mesh <["tp" = 2]>

// Tests that a result is reduced where it is made, and that the conversion is part of what the operation was part of.
// CHECK-LABEL: @reduces_at_the_definition
// CHECK: %[[SUM:.*]] = net.reduce sum {{.*}} {dist.operands = {{.*}}, dist.results = [#dist.mapping<dims = {{\[}}[]], partial = sum ["tp"]>], net.scope = "block"}
// CHECK-NEXT: %[[ALL:.*]] = dist.reshard %[[SUM]] from <dims = {{\[}}[]], partial = sum ["tp"]> to <dims = {{\[}}[]]> {net.scope = "block"}
// CHECK-NEXT: return {{.*}} %[[ALL]]
func.func @reduces_at_the_definition(%arg0: tensor<4x8xf32> {dist.mapping = #rs}) -> (tensor<4xf32> {dist.mapping = #r}) {
  %0 = net.reduce sum %arg0 dims = [1] {dist.computes = [#p], dist.results = [#r], net.scope = "block"} : tensor<4x8xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Tests that a partial value which is needed whole here and in parts there is reduced once.
// CHECK-LABEL: @shares_the_reduction
// CHECK: %[[SUM:.*]] = net.reduce sum
// CHECK-NEXT: %[[ALL:.*]] = dist.reshard %[[SUM]] from <dims = {{\[}}[]], partial = sum ["tp"]> to <dims = {{\[}}[]]>
// CHECK-NEXT: net.exponential %[[ALL]]
// CHECK-NEXT: %[[PART:.*]] = dist.reshard %[[ALL]] from <dims = {{\[}}[]]> to <dims = {{\[}}["tp"]]>
// CHECK-NEXT: net.tanh %[[PART]]
// CHECK-NEXT: net.negate %[[SUM]]
func.func @shares_the_reduction(%arg0: tensor<4x8xf32> {dist.mapping = #rs}) {
  %0 = net.reduce sum %arg0 dims = [1] {dist.results = [#p]} : tensor<4x8xf32> -> tensor<4xf32>
  %1 = net.exponential %0 {dist.operands = [#r], dist.results = [#r]} : tensor<4xf32>
  %2 = net.tanh %0 {dist.operands = [#s], dist.results = [#s]} : tensor<4xf32>
  %3 = net.negate %0 {dist.operands = [#p], dist.results = [#p]} : tensor<4xf32>
  return
}

// -----

#r = #dist.mapping<dims = [[]]>
#s = #dist.mapping<dims = [["dp"]]>
dist.mesh @mesh <["dp" = 2]>
net.variable parameter @w : tensor<8xf32> {dist.mapping = #s}

// Tests that a variable is read from where it is kept, and assigned to there; and that a function returns what its
// result says.
// CHECK-LABEL: @variables
// CHECK: %[[KEPT:.*]] = net.read @w {dist.results = [#dist.mapping<dims = {{\[}}["dp"]]>]}
// CHECK-NEXT: %[[USED:.*]] = dist.reshard %[[KEPT]] from <dims = {{\[}}["dp"]]> to <dims = {{\[}}[]]>
// CHECK-NEXT: %[[NEW:.*]] = net.negate %[[USED]]
// CHECK-NEXT: %[[PART:.*]] = dist.reshard %[[NEW]] from <dims = {{\[}}[]]> to <dims = {{\[}}["dp"]]>
// CHECK-NEXT: net.assign @w, %[[PART]]
// CHECK-NEXT: return {{.*}} %[[PART]]
func.func @variables() -> (tensor<8xf32> {dist.mapping = #s}) {
  %0 = net.read @w {dist.results = [#r]} : tensor<8xf32>
  %1 = net.negate %0 {dist.operands = [#r], dist.results = [#r]} : tensor<8xf32>
  net.assign @w, %1 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

#one = #dist.mapping<dims = [["tp"]]>
#r = #dist.mapping<dims = [[]]>
dist.mesh @mesh <["tp" = 1]>

// Tests that an axis of size 1 asks for nothing.
// CHECK-LABEL: @axis_of_size_one
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @axis_of_size_one(%arg0: tensor<8xf32> {dist.mapping = #one}) {
  %0 = net.negate %arg0 {dist.operands = [#r], dist.results = [#one]} : tensor<8xf32>
  return
}

// -----

#r = #dist.mapping<dims = [[]]>
#p = #dist.mapping<dims = [[]], partial = sum ["zero"]>
#h = #dist.mapping<dims = [[]], on {"zero" = [1]}>
dist.mesh @mesh <["zero" = 2]>
net.variable parameter @w : tensor<8xf32> {dist.mapping = #h}

// Tests that an owner's variable is sent where it is read, once for all that read it, that a gradient is reduced to the
// owner, and that what the owner reads besides is read there.
// CHECK-LABEL: @owner
// CHECK: %[[W:.*]] = net.read @w {dist.results = [#dist.mapping<dims = {{\[}}[]], on {"zero" = [1]}>]}
// CHECK-NEXT: %[[ALL:.*]] = dist.reshard %[[W]] from <dims = {{\[}}[]], on {"zero" = [1]}> to <dims = {{\[}}[]]>
// CHECK-NEXT: %[[GRADIENT:.*]] = net.multiply %[[ALL]], %arg0
// CHECK-NEXT: %[[OWNED:.*]] = dist.reshard %[[GRADIENT]] from <dims = {{\[}}[]], partial = sum ["zero"]> to <dims = {{\[}}[]], on {"zero" = [1]}>
// CHECK-NEXT: %[[RATE:.*]] = dist.reshard %arg1 from <dims = {{\[}}[]]> to <dims = {{\[}}[]], on {"zero" = [1]}>
// CHECK-NEXT: %[[STEP:.*]] = net.multiply %[[OWNED]], %[[RATE]]
// CHECK-NEXT: %[[BACK:.*]] = dist.reshard %[[ALL]] from <dims = {{\[}}[]]> to <dims = {{\[}}[]], on {"zero" = [1]}>
// CHECK-NEXT: net.subtract %[[BACK]], %[[STEP]]
// CHECK-NOT: dist.reshard
func.func @owner(%x: tensor<8xf32> {dist.mapping = #p}, %rate: tensor<8xf32> {dist.mapping = #r}) {
  %w = net.read @w {dist.results = [#r]} : tensor<8xf32>
  %0 = net.multiply %w, %x {dist.operands = [#r, #p], dist.computes = [#p], dist.results = [#h]} : tensor<8xf32>
  %1 = net.multiply %0, %rate {dist.results = [#h]} : tensor<8xf32>
  %2 = net.subtract %w, %1 {dist.operands = [#h, #h], dist.results = [#h]} : tensor<8xf32>
  net.assign @w, %2 : tensor<8xf32>
  return
}

// Tests that a value is sent by its holder once, however it is read then.
// CHECK-LABEL: @sends_once
// CHECK: %[[ALL:.*]] = dist.reshard %arg0 from <dims = {{\[}}[]], on {"zero" = [1]}> to <dims = {{\[}}[]]>
// CHECK-NEXT: net.exponential %[[ALL]]
// CHECK-NEXT: dist.reshard %[[ALL]] from <dims = {{\[}}[]]> to <dims = {{\[}}["zero"]]>
// CHECK-NEXT: net.tanh
// CHECK-NEXT: net.abs %arg0
func.func @sends_once(%x: tensor<8xf32> {dist.mapping = #h}) {
  %0 = net.exponential %x {dist.operands = [#r], dist.results = [#r]} : tensor<8xf32>
  %1 = net.tanh %x {dist.operands = [#dist.mapping<dims = [["zero"]]>], dist.results = [#dist.mapping<dims = [["zero"]]>]} : tensor<8xf32>
  %2 = net.abs %x {dist.operands = [#h], dist.results = [#h]} : tensor<8xf32>
  return
}

// -----

#whole = #dist.mapping<dims = [[], []]>
#kept = #dist.mapping<dims = [["dp"], []]>
dist.mesh @mesh <["dp" = 2]>
net.variable parameter @w : tensor<8x8xf32> {dist.mapping = #kept}

// Tests that a parameter which is only used in 16 bit is made smaller where it is kept, and travels so.
// CHECK-LABEL: @narrowed_where_kept
// CHECK: %[[READ:.*]] = net.read @w {dist.results = [#dist.mapping<dims = {{\[}}["dp"], []]>]}
// CHECK-NEXT: %[[NARROW:.*]] = net.convert %[[READ]] {{.*}}dist.fetch_at = 0{{.*}} tensor<8x8xf32> -> tensor<8x8xbf16>
// CHECK-NEXT: %[[ALL:.*]] = dist.reshard %[[NARROW]] from <dims = {{\[}}["dp"], []]> to <dims = {{\[}}[], []]> {{.*}} : tensor<8x8xbf16>
// CHECK-NEXT: net.exponential %[[ALL]]
func.func @narrowed_where_kept() {
  %w = net.read @w {dist.fetch_at = 0 : i64, dist.results = [#whole]} : tensor<8x8xf32>
  %n = net.convert %w {dist.operands = [#whole], dist.results = [#whole]} : tensor<8x8xf32> -> tensor<8x8xbf16>
  %e = net.exponential %n {dist.operands = [#whole], dist.results = [#whole]} : tensor<8x8xbf16>
  return
}

// Tests that it travels as it is where something uses it in its own type too, once.
// CHECK-LABEL: @used_in_both
// CHECK: %[[READ:.*]] = net.read @w
// CHECK-NEXT: %[[ALL:.*]] = dist.reshard %[[READ]] {{.*}} : tensor<8x8xf32>
// CHECK-NEXT: net.convert %[[ALL]]
// CHECK-NEXT: net.exponential %[[ALL]]
// CHECK-NOT: dist.reshard
func.func @used_in_both() {
  %w = net.read @w {dist.results = [#whole]} : tensor<8x8xf32>
  %n = net.convert %w {dist.operands = [#whole], dist.results = [#whole]} : tensor<8x8xf32> -> tensor<8x8xbf16>
  %e = net.exponential %w {dist.operands = [#whole], dist.results = [#whole]} : tensor<8x8xf32>
  return
}
