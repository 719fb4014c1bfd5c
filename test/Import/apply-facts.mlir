// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-import-apply-facts | FileCheck %s

// Tests that a truth value as a number, compared with a constant on either side, is itself, its opposite or a constant.
// CHECK-LABEL: @truth
// CHECK-SAME: (%[[TRUTH:.*]]: tensor<4xi1>, %[[NUMBER:.*]]: tensor<4xi32>)
func.func @truth(%truth: tensor<4xi1>, %number: tensor<4xi32>)
    -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %zero = net.constant dense<0.0> : tensor<4xf32>
  %half = net.constant dense<0.5> : tensor<4xf32>
  %as = net.convert %truth : tensor<4xi1> -> tensor<4xf32>
  %positive = net.compare gt, %as, %zero : tensor<4xf32> -> tensor<4xi1>
  %mirrored = net.compare lt, %half, %as : tensor<4xf32> -> tensor<4xi1>
  // CHECK-DAG: %[[OPPOSITE:.*]] = net.not %[[TRUTH]]
  %opposite = net.compare eq, %as, %zero : tensor<4xf32> -> tensor<4xi1>
  // CHECK-DAG: %[[ALWAYS:.*]] = net.constant dense<true>
  %always = net.compare ge, %as, %zero : tensor<4xf32> -> tensor<4xi1>
  // An integer may be any; so may a truth value that is compared with data.
  // CHECK-DAG: %[[INTEGER:.*]] = net.compare gt
  %wide = net.convert %number : tensor<4xi32> -> tensor<4xf32>
  %integer = net.compare gt, %wide, %zero : tensor<4xf32> -> tensor<4xi1>
  // CHECK-DAG: %[[DATA:.*]] = net.compare ge
  %data = net.compare ge, %as, %wide : tensor<4xf32> -> tensor<4xi1>
  // CHECK: return %[[TRUTH]], %[[TRUTH]], %[[OPPOSITE]], %[[ALWAYS]], %[[INTEGER]], %[[DATA]]
  return %positive, %mirrored, %opposite, %always, %integer, %data
      : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// -----

// Tests that the lowest number becomes minus infinity under a causal mask that is added to scores.
// CHECK-LABEL: @causal
func.func @causal(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>) -> tensor<4x4xf32> {
  // CHECK: net.constant {{.*}}dense<0xFF800000>
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %shown = net.compare ge, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %mask = net.select %shown, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %x = net.add %s, %mask : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// -----

// Tests that scores that a selection replaces are hidden too, also where the maximum is bounded by minus infinity.
// CHECK-LABEL: @selected
func.func @selected(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>) -> tensor<4x4xf32> {
  // CHECK: %[[INFINITY:.*]] = net.constant {{.*}}dense<0xFF800000> : tensor<4x4xf32>
  // CHECK-NEXT: net.select %{{.*}}, %{{.*}}, %[[INFINITY]] :
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %shown = net.compare ge, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %x = net.select %shown, %s, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %bound = net.constant dense<0xFF800000> : tensor<4xf32>
  %bounded = net.maximum %bound, %m : tensor<4xf32>
  %b = net.broadcast %bounded dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// -----

// Tests that a mask made of constants and conversions is known: positions that are all shown, and a causal mask as numbers.
// CHECK-LABEL: @ones
func.func @ones(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>) -> tensor<4x4xf32> {
  // CHECK: net.constant {{.*}}dense<0xFF800000>
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %shown = net.compare ge, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %ones = net.constant dense<1> : tensor<4x4xi32>
  %none = net.constant dense<0> : tensor<4x4xi32>
  %attended = net.compare ne, %ones, %none : tensor<4x4xi32> -> tensor<4x4xi1>
  %causal = net.convert %shown : tensor<4x4xi1> -> tensor<4x4xi32>
  %seen = net.compare ne, %causal, %none : tensor<4x4xi32> -> tensor<4x4xi1>
  %both = net.and %attended, %seen : tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %mask = net.select %both, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %x = net.add %s, %mask : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// -----

// Tests that a mask that is partly data hides if every row keeps a score whatever the data is.
// CHECK-LABEL: @either
func.func @either(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>, %data: tensor<4x4xi1>) -> tensor<4x4xf32> {
  // CHECK: net.constant {{.*}}dense<0xFF800000>
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %causal = net.compare eq, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %shown = net.or %data, %causal : tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %mask = net.select %shown, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %x = net.add %s, %mask : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// -----

// Tests that the number stays where a row may have no other score: a mask that is data.
// CHECK-LABEL: @data
func.func @data(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>, %data: tensor<4x4xi1>) -> tensor<4x4xf32> {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %mask = net.select %data, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %x = net.add %s, %mask : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// -----

// Tests that the number stays where the first row has no score.
// CHECK-LABEL: @first_row
func.func @first_row(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>) -> tensor<4x4xf32> {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %shown = net.compare gt, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %mask = net.select %shown, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %x = net.add %s, %mask : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// -----

// Tests that the number stays where two masks leave a score each, but none together.
// CHECK-LABEL: @two_masks
func.func @two_masks(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>) -> tensor<4x4xf32> {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %shown = net.compare ge, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %hidden = net.compare lt, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %mask = net.select %shown, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %other = net.select %hidden, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %part = net.add %s, %mask : tensor<4x4xf32>
  %x = net.add %part, %other : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// -----

// Tests that the number stays where scores may be as low by a product.
// CHECK-LABEL: @scaled
func.func @scaled(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>) -> tensor<4x4xf32> {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %shown = net.compare ge, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %mask = net.select %shown, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %low = net.multiply %lowest, %s : tensor<4x4xf32>
  %x = net.add %low, %mask : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// -----

// Tests that the number stays where the scores are read elsewhere.
// CHECK-LABEL: @read
func.func @read(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %shown = net.compare ge, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %mask = net.select %shown, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %x = net.add %s, %mask : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  %t = net.tanh %x : tensor<4x4xf32>
  return %e, %t : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Tests that the number stays where the distance is read elsewhere.
// CHECK-LABEL: @distance
func.func @distance(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %shown = net.compare ge, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %mask = net.select %shown, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %x = net.add %s, %mask : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e, %c : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Tests that a number that is not so low stays.
// CHECK-LABEL: @billion
func.func @billion(%q: tensor<4x3xf32>, %k: tensor<4x3xf32>) -> tensor<4x4xf32> {
  // CHECK-NOT: 0xFF800000
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x4xf32>
  %row = net.iota dim = 0 : tensor<4x4xi32>
  %column = net.iota dim = 1 : tensor<4x4xi32>
  %shown = net.compare ge, %row, %column : tensor<4x4xi32> -> tensor<4x4xi1>
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %lowest = net.constant dense<-1.0E+9> : tensor<4x4xf32>
  %mask = net.select %shown, %zero, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %x = net.add %s, %mask : tensor<4x4xf32>
  %m = net.reduce max %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %b = net.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %c = net.subtract %x, %b : tensor<4x4xf32>
  %e = net.exponential %c : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}
