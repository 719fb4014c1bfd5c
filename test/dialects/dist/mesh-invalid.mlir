// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests mesh_c1: an axis that stands twice.
// expected-error @below {{axis "dp" is empty or stands twice}}
dist.mesh @mesh_c1 <["dp" = 2, "dp" = 2]>

// -----

// Tests mesh_c1: an axis without name.
// expected-error @below {{axis "" is empty or stands twice}}
dist.mesh @mesh_c1_empty <["" = 2]>

// -----

// Tests mesh_c2: a size that is not positive.
// expected-error @below {{axis "dp" has size 0; sizes are positive and the number of ranks is at most 2147483647}}
dist.mesh @mesh_c2 <["dp" = 0]>

// -----

// Tests mesh_c2: more ranks than 31 bits count.
// expected-error @below {{axis "tp" has size 65536; sizes are positive and the number of ranks is at most 2147483647}}
dist.mesh @mesh_c2_ranks <["dp" = 65536, "tp" = 65536]>

// -----

// Tests that a generic operation with lists of unlike length is an error and no crash.
// expected-error @below {{has 2 axes but 1 sizes}}
"dist.mesh"() {sym_name = "mesh", axes = ["dp", "tp"], sizes = array<i64: 2>} : () -> ()

// -----

// Tests mesh_c2: more times than 31 bits count.
// expected-error @below {{axis "accumulation" has size 65536; sizes are positive and the number of times is at most 2147483647}}
dist.mesh @mesh_c2_times <["dp" = 65536, slices "micro" = 65536, steps "accumulation" = 65536]>

// -----

// Tests mesh_c3: times before ranks.
// expected-error @below {{has axes in another order than those of ranks, one of slices, one of steps}}
dist.mesh @mesh_c3 <[steps "accumulation" = 2, "dp" = 2]>

// -----

// Tests mesh_c3: two axes of steps.
// expected-error @below {{has axes in another order than those of ranks, one of slices, one of steps}}
dist.mesh @mesh_c3_twice <[steps "accumulation" = 2, steps "again" = 2]>

// -----

// Tests that a generic operation with another number of kinds is an error and no crash.
// expected-error @below {{has 1 axes but 2 kinds}}
"dist.mesh"() {sym_name = "mesh", axes = ["dp"], sizes = array<i64: 2>, kinds = array<i32: 0, 1>} : () -> ()

// -----

// Tests that a kind that does not exist is an error and no crash.
// expected-error @below {{has 7 as the kind of an axis}}
"dist.mesh"() {sym_name = "mesh", axes = ["dp"], sizes = array<i64: 2>, kinds = array<i32: 7>} : () -> ()

// -----

// expected-note @below {{the first mesh is here}}
dist.mesh @mesh_c4_first <["dp" = 2]>
// Tests mesh_c4: a second mesh, whose axes no placement would mean.
// expected-error @below {{is a second mesh; placements are on the first one}}
dist.mesh @mesh_c4 <["tp" = 2]>
