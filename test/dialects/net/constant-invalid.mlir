// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests constant_c1: a value of another type than the result.
func.func @constant_c1() {
  // expected-error @below {{all of {value, result} have same type}}
  %0 = "net.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<5xf32>
  return
}
