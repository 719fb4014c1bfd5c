// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s | dist-opt - | FileCheck %s

// Tests that placements, and their digits alone, are printed as they are read.
// CHECK: @mapping() attributes {m = #dist.mapping<dims = {{\[\[}}"dp"], [3, "tp" by 12], []{{\]}}, partial = max ["sp"], on {"pp" = [0, 3]}>}
func.func private @mapping() attributes {m = #dist.mapping<dims = [["dp"], [3, "tp" by 12], []], partial = max ["sp"], on {"pp" = [0, 3]}>}
// CHECK: @digit() attributes {axis = #dist.digit<"tp">, part = #dist.digit<"tp" by 12>, plain = #dist.digit<3>}
func.func private @digit() attributes {axis = #dist.digit<"tp">, part = #dist.digit<"tp" by 12>, plain = #dist.digit<3>}
// CHECK: @digits() attributes {m = #dist.digits<3, "tp" by 2>}
func.func private @digits() attributes {m = #dist.digits<3, "tp" by 2>}
