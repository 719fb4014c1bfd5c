// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/state.textproto" | FileCheck %s --check-prefix=STATE
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/parameters.textproto" | FileCheck %s --check-prefix=PARAMETERS
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/uneven.textproto" | FileCheck %s --check-prefix=UNEVEN
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/owners.textproto" | FileCheck %s --check-prefix=OWNERS
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/persistent.textproto" | FileCheck %s --check-prefix=PERSISTENT
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/alone.textproto" | FileCheck %s --check-prefix=ALONE

// Tests where the variables, gradients and reads of a step are kept when data parallelism is sharded.

//--- model.mlir
net.variable parameter @p.w : tensor<8x4xf32>
net.variable parameter @p.b : tensor<4xf32>
net.variable parameter @p.frozen : tensor<6xf32>
net.variable optimizer_state @"momentum.m/p.w" : tensor<8x4xf32> = <constant, 0.0, 0.0> like @p.w
func.func @step(%x: tensor<4x8xf32> {net.name = "x"}, %dw: tensor<8x4xf32>, %db: tensor<4xf32>) -> tensor<6xf32> {
  %w = net.read @p.w {net.role = #net.role<forward>} : tensor<8x4xf32>
  %b = net.read @p.b {net.role = #net.role<forward>} : tensor<4xf32>
  %f = net.read @p.frozen {net.role = #net.role<forward>} : tensor<6xf32>
  %m = net.read @"momentum.m/p.w" {net.role = #net.role<optimize>} : tensor<8x4xf32>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %gw = net.negate %dw {net.name = "grad/p.w", net.role = #net.role<backward>} : tensor<8x4xf32>
  %gb = net.negate %db {net.name = "grad/p.b", net.role = #net.role<backward>} : tensor<4xf32>
  %m1 = net.add %m, %gw {net.role = #net.role<optimize>} : tensor<8x4xf32>
  net.assign @"momentum.m/p.w", %m1 {net.role = #net.role<optimize>} : tensor<8x4xf32>
  %w1 = net.subtract %w, %m1 {net.role = #net.role<optimize>} : tensor<8x4xf32>
  net.assign @p.w, %w1 {net.role = #net.role<optimize>} : tensor<8x4xf32>
  %b1 = net.subtract %b, %gb {net.role = #net.role<optimize>} : tensor<4xf32>
  net.assign @p.b, %b1 {net.role = #net.role<optimize>} : tensor<4xf32>
  return %f : tensor<6xf32>
}

//--- state.textproto
mesh { axes { name: "dp" size: 4 } }
data { axes: "dp" } model { batch { inputs: "x" } }
train { sgd { } }
zero { axes: "dp" }

# The parameters stay whole; the optimizer reads its part.
# STATE: net.variable parameter @p.w : tensor<8x4xf32>{{$}}
# STATE: net.variable parameter @p.b : tensor<4xf32>{{$}}
# STATE: net.variable optimizer_state @"momentum.m/p.w" {{.*}} {dist.mapping = #dist.mapping<dims = {{\[}}["dp"], []]>}
# STATE-DAG: %[[PART:.*]] = net.read @p.w {dist.results = [#dist.mapping<dims = {{\[}}["dp"], []]>], net.role = #net.role<optimize>}
# STATE-DAG: %[[WHOLE:.*]] = net.read @p.w {net.role = #net.role<forward>}
# STATE: net.dot %{{.*}}, %[[WHOLE]]
# STATE: net.name = "grad/p.w"
# STATE: net.subtract %[[PART]]

//--- parameters.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
data { axes: "dp" } model { batch { inputs: "x" } }
tensor { axis: "tp" split { match: "p.w" dim: 0 } }
train { sgd { } }
zero { axes: "dp" stage: 3 }

# PARAMETERS: net.variable parameter @p.w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["tp", "dp"], []]>}
# PARAMETERS: net.variable parameter @p.b : tensor<4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"]]>}
# PARAMETERS: net.variable parameter @p.frozen : tensor<6xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"]]>}
# PARAMETERS-DAG: net.read @p.w {dist.results = [#dist.mapping<dims = {{\[}}["tp", "dp"], []]>], net.role = #net.role<optimize>}
# PARAMETERS-DAG: net.read @p.w {dist.results = [#dist.mapping<dims = {{\[}}["tp"], []]>], net.role = #net.role<forward>}
# PARAMETERS-DAG: net.read @p.frozen {dist.results = [#dist.mapping<dims = {{\[}}[]]>]
# PARAMETERS: net.negate {{.*}} {dist.results = [#dist.mapping<dims = {{\[}}["tp", "dp"], []]>], net.name = "grad/p.w"

//--- uneven.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 3 } }
data { axes: "dp" } model { batch { inputs: "x" } }
tensor { axis: "tp" split { match: "p.w" dim: 0 } split { match: "p.frozen" dim: 0 } }
train { sgd { } }
zero { axes: "dp" stage: 3 }

# Parts of 3, 3 and 2 rows are not divided further: dp takes the columns. Parts of 2, 2 and 2 are.
# UNEVEN: net.variable parameter @p.w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["tp"], ["dp"]]>}
# UNEVEN: net.variable parameter @p.b : tensor<4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"]]>}
# UNEVEN: net.variable parameter @p.frozen : tensor<6xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["tp", "dp"]]>}

//--- owners.textproto
mesh { axes { name: "dp" size: 2 } }
data { axes: "dp" } model { batch { inputs: "x" } }
train { sgd { } }
zero { axes: "dp" stage: 3 ownership: WHOLE }

# The largest has an owner for itself.
# OWNERS: net.variable parameter @p.w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}[], []], on {"dp" = [0]}>}
# OWNERS: net.variable parameter @p.b : tensor<4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}[]], on {"dp" = [1]}>}
# OWNERS: net.variable parameter @p.frozen : tensor<6xf32> {dist.mapping = #dist.mapping<dims = {{\[}}[]], on {"dp" = [1]}>}
# OWNERS: net.variable optimizer_state @"momentum.m/p.w" {{.*}} {dist.mapping = #dist.mapping<dims = {{\[}}[], []], on {"dp" = [0]}>}

//--- persistent.textproto
mesh { axes { name: "dp" size: 2 } }
data { axes: "dp" } model { batch { inputs: "x" } }
train { sgd { } }
zero { axes: "dp" stage: 3 persist_below_kilobytes: 0.03 }

# PERSISTENT: net.variable parameter @p.w : tensor<8x4xf32> {dist.mapping
# PERSISTENT: net.variable parameter @p.b : tensor<4xf32>{{$}}
# PERSISTENT: net.variable parameter @p.frozen : tensor<6xf32>{{$}}
# PERSISTENT: net.negate {{.*}} {dist.results = [#dist.mapping<dims = {{\[}}["dp"]]>], net.name = "grad/p.b"

//--- alone.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "solo" size: 1 } }
data { axes: "dp" axes: "solo" } model { batch { inputs: "x" } }
train { sgd { } }
zero { axes: "solo" stage: 3 }

# A group of one keeps what it has.
# ALONE: net.variable parameter @p.w : tensor<8x4xf32>{{$}}
# ALONE-NOT: dist.results
