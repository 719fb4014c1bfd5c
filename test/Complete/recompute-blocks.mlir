// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-complete-recompute="blocks=h.? policy=nothing" | FileCheck %s
// RUN: dist-opt %s -split-input-file --dist-complete-recompute="policy=nothing repeat-conversions" | FileCheck %s --check-prefix=REPEAT

// Tests that of a block nothing is kept but what it reads from outside.
// CHECK-LABEL: @keeps_nothing
func.func @keeps_nothing(%x: tensor<4x8xbf16>, %w: tensor<8x8xbf16>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>, net.scope = "h.0"} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  %c = net.convert %y {net.role = #net.role<forward>, net.scope = "h.0"} : tensor<4x8xbf16> -> tensor<4x8xf32>
  %t = net.tanh %c {net.role = #net.role<forward>, net.scope = "h.0"} : tensor<4x8xf32>
  %n = net.negate %g {net.role = #net.role<backward>, net.scope = "h.0"} : tensor<4x8xf32>
  // CHECK: net.negate
  // CHECK-NEXT: net.dot {{.*}}net.recomputes
  // CHECK-NEXT: net.convert {{.*}}net.recomputes
  // CHECK-NEXT: net.tanh {{.*}}net.recomputes
  %r = net.multiply %t, %n {net.role = #net.role<backward>, net.scope = "h.0"} : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Tests that a clone would make ranks reduce once more: what was reduced is kept, unless repetition is asked for.
dist.mesh @mesh <["tp" = 2]>
// CHECK-LABEL: @keeps_what_was_exchanged
// REPEAT-LABEL: @keeps_what_was_exchanged
func.func @keeps_what_was_exchanged(%x: tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}, %w: tensor<8x64xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>},
                                    %g: tensor<4x64xf32> {dist.mapping = #dist.mapping<dims = [[], []]>}) -> tensor<4x64xf32> {
  // CHECK: %[[Y:.*]] = net.dot
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>, net.scope = "h.1", dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [["tp"], []]>], dist.computes = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>], dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<4x8xf32>, tensor<8x64xf32> -> tensor<4x64xf32>
  // CHECK-NEXT: net.tanh
  %t = net.tanh %y {net.role = #net.role<forward>, net.scope = "h.1", dist.operands = [#dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<4x64xf32>
  // CHECK-NEXT: net.tanh %[[Y]] {dist.operands = [{{.*}}], dist.results = [{{.*}}], net.recomputes
  // REPEAT: net.dot {{.*}}dist.computes = [{{.*}}partial{{.*}}net.recomputes
  // REPEAT: net.tanh {{.*}}net.recomputes
  %q = net.multiply %g, %t {net.role = #net.role<backward>, net.scope = "h.1", dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<4x64xf32>
  %r = net.multiply %q, %y {net.role = #net.role<backward>, net.scope = "h.1", dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}
