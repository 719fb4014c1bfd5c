// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-train-hide-scores | FileCheck %s

// Tests that the lowest number becomes minus infinity under a causal mask, which leaves every row its first column.
// CHECK-LABEL: @causal
func.func @causal(%q: tensor<32x1xf32>, %k: tensor<32x1xf32>, %v: tensor<32x1xf32>) -> tensor<32x1xf32> {
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<32x1xf32>, tensor<32x1xf32> -> tensor<32x32xf32>
  %i = net.iota dim = 0 : tensor<32xi32>
  %row = net.broadcast %i dims = [0] : tensor<32xi32> -> tensor<32x32xi32>
  %column = net.broadcast %i dims = [1] : tensor<32xi32> -> tensor<32x32xi32>
  %shown = net.compare ge, %row, %column : tensor<32x32xi32> -> tensor<32x32xi1>
  %zero = net.constant dense<0.0> : tensor<32x32xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<32x32xf32>
  // CHECK: %[[INF:.*]] = net.constant {{.*}}dense<0xFF800000>
  // CHECK-NEXT: net.select %{{.*}}, %{{.*}}, %[[INF]]
  %mask = net.select %shown, %zero, %lowest : tensor<32x32xi1>, tensor<32x32xf32>
  %x = net.add %s, %mask : tensor<32x32xf32>
  %m = net.reduce max %x dims = [1] : tensor<32x32xf32> -> tensor<32xf32>
  %b = net.broadcast %m dims = [0] : tensor<32xf32> -> tensor<32x32xf32>
  %c = net.subtract %x, %b : tensor<32x32xf32>
  %e = net.exponential %c : tensor<32x32xf32>
  %o = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<32x32xf32>, tensor<32x1xf32> -> tensor<32x1xf32>
  return %o : tensor<32x1xf32>
}

// -----

// Tests that the number stays where a row may have no other score, under a mask that is data; where the scores are read
// elsewhere too; and where it is not so low.
// CHECK-LABEL: @data
func.func @data(%q: tensor<32x1xf32>, %k: tensor<32x1xf32>, %v: tensor<32x1xf32>, %shown: tensor<32x32xi1>) -> tensor<32x1xf32> {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<32x1xf32>, tensor<32x1xf32> -> tensor<32x32xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<32x32xf32>
  %x = net.select %shown, %s, %lowest : tensor<32x32xi1>, tensor<32x32xf32>
  %m = net.reduce max %x dims = [1] : tensor<32x32xf32> -> tensor<32xf32>
  %b = net.broadcast %m dims = [0] : tensor<32xf32> -> tensor<32x32xf32>
  %c = net.subtract %x, %b : tensor<32x32xf32>
  %e = net.exponential %c : tensor<32x32xf32>
  %o = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<32x32xf32>, tensor<32x1xf32> -> tensor<32x1xf32>
  return %o : tensor<32x1xf32>
}

// CHECK-LABEL: @logarithm
func.func @logarithm(%q: tensor<32x1xf32>, %k: tensor<32x1xf32>, %v: tensor<32x1xf32>) -> (tensor<32x1xf32>, tensor<32xf32>) {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<32x1xf32>, tensor<32x1xf32> -> tensor<32x32xf32>
  %i = net.iota dim = 0 : tensor<32xi32>
  %row = net.broadcast %i dims = [0] : tensor<32xi32> -> tensor<32x32xi32>
  %column = net.broadcast %i dims = [1] : tensor<32xi32> -> tensor<32x32xi32>
  %shown = net.compare ge, %row, %column : tensor<32x32xi32> -> tensor<32x32xi1>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<32x32xf32>
  %x = net.select %shown, %s, %lowest : tensor<32x32xi1>, tensor<32x32xf32>
  %m = net.reduce max %x dims = [1] : tensor<32x32xf32> -> tensor<32xf32>
  %b = net.broadcast %m dims = [0] : tensor<32xf32> -> tensor<32x32xf32>
  %c = net.subtract %x, %b : tensor<32x32xf32>
  %e = net.exponential %c : tensor<32x32xf32>
  %o = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<32x32xf32>, tensor<32x1xf32> -> tensor<32x1xf32>
  %l = net.multiply %c, %e : tensor<32x32xf32>
  %t = net.reduce sum %l dims = [1] : tensor<32x32xf32> -> tensor<32xf32>
  return %o, %t : tensor<32x1xf32>, tensor<32xf32>
}

// CHECK-LABEL: @billion
func.func @billion(%q: tensor<32x1xf32>, %k: tensor<32x1xf32>, %v: tensor<32x1xf32>) -> tensor<32x1xf32> {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<32x1xf32>, tensor<32x1xf32> -> tensor<32x32xf32>
  %i = net.iota dim = 0 : tensor<32xi32>
  %row = net.broadcast %i dims = [0] : tensor<32xi32> -> tensor<32x32xi32>
  %column = net.broadcast %i dims = [1] : tensor<32xi32> -> tensor<32x32xi32>
  %shown = net.compare ge, %row, %column : tensor<32x32xi32> -> tensor<32x32xi1>
  %lowest = net.constant dense<-1.0E+9> : tensor<32x32xf32>
  %x = net.select %shown, %s, %lowest : tensor<32x32xi1>, tensor<32x32xf32>
  %m = net.reduce max %x dims = [1] : tensor<32x32xf32> -> tensor<32xf32>
  %b = net.broadcast %m dims = [0] : tensor<32xf32> -> tensor<32x32xf32>
  %c = net.subtract %x, %b : tensor<32x32xf32>
  %e = net.exponential %c : tensor<32x32xf32>
  %o = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<32x32xf32>, tensor<32x1xf32> -> tensor<32x1xf32>
  return %o : tensor<32x1xf32>
}
