// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests when_c1: as many values as results.
dist.mesh @mesh <[steps "accumulation" = 4]>
func.func @when_c1() {
  // expected-error @below {{yields not the 1 results that it has}}
  %0 = dist.when {accumulation = array<i64: 3>} {
    dist.yield
  } : tensor<4xf32>
  return
}

// -----

// Tests when_c1: of their types.
dist.mesh @mesh <[steps "accumulation" = 4]>
func.func @when_c1_types(%x: tensor<4xbf16>) {
  // expected-error @below {{yields not the 1 results that it has}}
  %0 = dist.when {accumulation = array<i64: 3>} {
    dist.yield %x : tensor<4xbf16>
  } : tensor<4xf32>
  return
}

// -----

// Tests when_c2: no entry.
dist.mesh @mesh <[steps "accumulation" = 4]>
func.func @when_c2_empty() {
  // expected-error @below {{names no times}}
  dist.when {} {
    dist.yield
  }
  return
}

// -----

// Tests when_c2: a module without mesh.
func.func @when_c2_mesh() {
  // expected-error @below {{names axis "accumulation", which is no axis of times of the module's mesh}}
  dist.when {accumulation = array<i64: 3>} {
    dist.yield
  }
  return
}

// -----

// Tests when_c2: an axis of ranks.
dist.mesh @mesh <["dp" = 4]>
func.func @when_c2_ranks() {
  // expected-error @below {{names axis "dp", which is no axis of times of the module's mesh}}
  dist.when {dp = array<i64: 3>} {
    dist.yield
  }
  return
}

// -----

// Tests when_c2: a coordinate that the axis does not have.
dist.mesh @mesh <[steps "accumulation" = 4]>
func.func @when_c2_outside() {
  // expected-error @below {{names array<i64: 4> of axis "accumulation", which are not some of its 4 times in ascending order}}
  dist.when {accumulation = array<i64: 4>} {
    dist.yield
  }
  return
}

// -----

// Tests when_c2: a negative one.
dist.mesh @mesh <[steps "accumulation" = 4]>
func.func @when_c2_negative() {
  // expected-error @below {{names array<i64: -1, 2> of axis "accumulation"}}
  dist.when {accumulation = array<i64: -1, 2>} {
    dist.yield
  }
  return
}

// -----

// Tests when_c2: a coordinate twice.
dist.mesh @mesh <[steps "accumulation" = 4]>
func.func @when_c2_twice() {
  // expected-error @below {{names array<i64: 2, 2> of axis "accumulation"}}
  dist.when {accumulation = array<i64: 2, 2>} {
    dist.yield
  }
  return
}

// -----

// Tests when_c2: all times.
dist.mesh @mesh <[steps "accumulation" = 2]>
func.func @when_c2_all() {
  // expected-error @below {{names array<i64: 0, 1> of axis "accumulation"}}
  dist.when {accumulation = array<i64: 0, 1>} {
    dist.yield
  }
  return
}

// -----

// Tests when_c2: no list of coordinates.
dist.mesh @mesh <[steps "accumulation" = 2]>
func.func @when_c2_number() {
  // expected-error @below {{names 1 : i64 of axis "accumulation"}}
  dist.when {accumulation = 1 : i64} {
    dist.yield
  }
  return
}
