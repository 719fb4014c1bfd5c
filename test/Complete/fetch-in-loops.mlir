// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-propagate --dist-complete-fetch-in-loops -split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-complete-propagate --dist-complete-fetch-in-loops --dist-complete-segment --dist-complete-verify -split-input-file | FileCheck %s --check-prefix=SEGMENT

// Tests that an iteration takes its part of a stack of parameters as it is kept, converted in 16 bit where it is kept, and reads it whole; and that it
// reduces its part of a stack of gradients.

dist.mesh @mesh <["dp" = 4]> {dist.data_axes = ["dp"]}
// CHECK: %[[READ:.*]] = net.read @w {dist.results = [#dist.mapping<dims = {{\[\[\], \["dp"\], \[\]\]}}>]
// CHECK-NEXT: %[[W:.*]] = net.convert %[[READ]] {dist.operands = [#dist.mapping<dims = {{\[\[\], \["dp"\], \[\]\]}}>], dist.results = [#dist.mapping<dims = {{\[\[\], \["dp"\], \[\]\]}}>]
// CHECK: net.take %[[W]] {{.*}} dist.results = [#dist.mapping<dims = {{\[\["dp"\], \[\]\]}}>]
// CHECK-NEXT: net.dot {{.*}} {dist.operands = [#dist.mapping<dims = {{\[\["dp"\], \[\]\]}}>, #dist.mapping<dims = {{\[\[\], \[\]\]}}>]
// CHECK: %[[G:.*]] = net.dot {{.*}} dist.results = [#dist.mapping<dims = {{\[\[\], \[\]\]}}, partial = sum ["dp"]>]
// CHECK-NEXT: net.stack %[[G]]
// CHECK-SAME: {dist.operands = [#dist.mapping<dims = {{\[\["dp"\], \[\]\]}}>
// CHECK-SAME: dist.results = [#dist.mapping<dims = {{\[\[\], \["dp"\], \[\]\]}}>]
// Nothing is left for a segment to fetch.
// SEGMENT-LABEL: func.func @step
// SEGMENT-NOT: dist.fetch_at
// SEGMENT-LABEL: func.func @whole
// SEGMENT: dist.fetch_at
net.variable parameter @w : tensor<3x8x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"], []]>}
func.func @step(%x: tensor<16x8xbf16> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> tensor<3x8x8xbf16> {
  %read = net.read @w {dist.results = [#dist.mapping<dims = [[], [], []]>], net.role = #net.role<forward>} : tensor<3x8x8xf32>
  %w = net.convert %read {net.role = #net.role<forward>} : tensor<3x8x8xf32> -> tensor<3x8x8xbf16>
  %i = net.loop count = 3 {net.role = #net.role<forward>}
  %c = net.carry %x in %i {net.role = #net.role<forward>} : tensor<16x8xbf16>
  %wi = net.take %w in %i {net.role = #net.role<forward>} : tensor<3x8x8xbf16> -> tensor<8x8xbf16>
  %y = net.dot %c, %wi batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<16x8xbf16>, tensor<8x8xbf16> -> tensor<16x8xbf16>
  %g = net.dot %c, %y batch = [] x [] contract = [0] x [0] {net.role = #net.role<backward>} : tensor<16x8xbf16>, tensor<16x8xbf16> -> tensor<8x8xbf16>
  %gs = net.stack %g in %i {net.role = #net.role<backward>, dist.results = [#dist.mapping<dims = [[], ["dp"], []]>]} : tensor<8x8xbf16> -> tensor<3x8x8xbf16>
  %n = net.next %y for %c {net.role = #net.role<forward>} : tensor<16x8xbf16>
  net.end_loop %i {net.role = #net.role<forward>}
  return %gs : tensor<3x8x8xbf16>
}

// -----

// Tests that a stack is fetched whole where ranks keep different iterations, where something else reads it too.

// CHECK-LABEL: func.func @whole
// CHECK: net.read @iterations {dist.results = [#dist.mapping<dims = {{\[\[\], \[\]\]}}>]
// CHECK: net.read @shared {dist.results = [#dist.mapping<dims = {{\[\[\], \[\]\]}}>]
dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @iterations : tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}
net.variable parameter @shared : tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"]]>}
func.func @whole(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %a = net.read @iterations {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<4x8xf32>
  %b = net.read @shared {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<4x8xf32>
  %i = net.loop count = 4
  %c = net.carry %x in %i : tensor<8xf32>
  %ai = net.take %a in %i : tensor<4x8xf32> -> tensor<8xf32>
  %bi = net.take %b in %i : tensor<4x8xf32> -> tensor<8xf32>
  %p = net.multiply %ai, %c : tensor<8xf32>
  %q = net.add %bi, %p : tensor<8xf32>
  %n = net.next %q for %c : tensor<8xf32>
  net.end_loop %i
  %t = net.tanh %b : tensor<4x8xf32>
  return %n, %t : tensor<8xf32>, tensor<4x8xf32>
}
