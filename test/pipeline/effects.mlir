// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// DEFINE: %{case} =
// DEFINE: %{check} = dist-opt %t/model.mlir --strategy=%t/%{case}.textproto --to=optimize -o %t/out.mlir 2>&1 | FileCheck %t/%{case}.textproto --implicit-check-not=warning: --allow-empty

// Tests that a strategy which is legal and does nothing, or less than it seems, is warned of: once, at its field.
// REDEFINE: %{case} = axis
// RUN: %{check}
// REDEFINE: %{case} = empty
// RUN: %{check}
// REDEFINE: %{case} = rules
// RUN: %{check}
// REDEFINE: %{case} = placed
// RUN: %{check}
// REDEFINE: %{case} = fields
// RUN: %{check}
// REDEFINE: %{case} = globs
// RUN: %{check}
// REDEFINE: %{case} = decay
// RUN: %{check}
// REDEFINE: %{case} = keep
// RUN: %{check}
// REDEFINE: %{case} = state
// RUN: %{check}
// REDEFINE: %{case} = single
// RUN: %{check}
// REDEFINE: %{case} = small
// RUN: %{check}
// REDEFINE: %{case} = right
// RUN: %{check}

//--- model.mlir
module {
  func.func public @main(%w: tensor<4x4xf32> {net.name = "p.w"}, %b: tensor<4xf32> {net.name = "p.b"}, %x: tensor<6x4xf32> {net.name = "x"})
      -> (tensor<f32> {net.name = "loss"}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
    %2 = stablehlo.add %0, %1 : tensor<6x4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}

//--- axis.textproto
# CHECK: axis.textproto:[[@LINE+1]]:36: warning: axis "tp" splits nothing: its 3 ranks compute and keep the same; data, tensor, zero, pipeline or place use an axis
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 3 } }
# CHECK: axis.textproto:[[@LINE-1]]:1: warning: 6 ranks do {{3\.[0-9]}} times the operations of the serial step, so that {{[67][0-9]}} % of their work is replicated; split more of the batch or of the parameters
model { parameters: "p.*" batch { inputs: "x" } }
data { axes: "dp" }
train { sgd {} }

//--- empty.textproto
mesh { axes { name: "dp" size: 4 } }
# CHECK: empty.textproto:[[@LINE+1]]:35: warning: dimension 0 of "x" has 6 indices for the 4 ranks of axis "dp", in parts of 2; 1 of them have nothing to do
model { parameters: "p.*" batch { inputs: "x" } }
data { axes: "dp" }
train { sgd {} }

//--- rules.textproto
mesh { axes { name: "tp" size: 2 } }
model { parameters: "p.*" }
init { match: "p.*" constant: 0 }
# CHECK: rules.textproto:[[@LINE+1]]:1: warning: init[1] has no effect: earlier rules decide about all that it matches; the first that matches counts
init { match: "p.b" constant: 1 }
fetch: "grad/*"
# CHECK: rules.textproto:[[@LINE+1]]:{{[0-9]+}}: warning: fetch glob "grad/p.b" has no effect: earlier globs match all that it matches
fetch: "grad/p.b"
tensor {
  axis: "tp"
  split { match: "p.w" dim: 1 }
  # CHECK: rules.textproto:[[@LINE+1]]:3: warning: tensor.split[1] has no effect: earlier rules decide about all that it matches; the first that matches counts
  split { match: "*.w" dim: 0 }
}
# CHECK: rules.textproto:[[@LINE+1]]:27: warning: offload.match[1] has no effect: earlier globs match all that it matches
offload { match: "adam.*" match: "adam.m/*" }
train { adam {} }

//--- placed.textproto
mesh { axes { name: "tp" size: 2 } }
model { parameters: "p.*" }
place { match: "p.w" dims: "[-, tp]" }
# CHECK: placed.textproto:[[@LINE+1]]:1: warning: place[1] has no effect: it adds no axis to what places all that it matches
place { match: "p.w" dims: "[-, -]" }
train { sgd {} }

//--- fields.textproto
mesh { axes { name: "dp" size: 2 } }
model { parameters: "p.*" batch { inputs: "x" } }
data { axes: "dp" }
# CHECK: fields.textproto:[[@LINE+2]]:{{[0-9]+}}: warning: train.gradient_accumulation.average has no effect: gradients of one step are accumulated
# CHECK: fields.textproto:[[@LINE+1]]:{{[0-9]+}}: warning: train.precision.keep_f32 has no effect: compute is WRITTEN, so that everything keeps its type
train { sgd {} gradient_accumulation { average: false } precision { keep_f32: "tanh" } }

//--- globs.textproto
mesh { axes { name: "dp" size: 2 } }
model {
  # CHECK-DAG: globs.textproto:[[@LINE+1]]:21: warning: model.parameters[1] has no effect: earlier globs match all that it matches
  parameters: "p.*" parameters: "p.b"
  # CHECK-DAG: globs.textproto:[[@LINE+1]]:23: warning: model.batch[0].inputs[1] has no effect: earlier globs match all that it matches
  batch { inputs: "x" inputs: "?" }
  # CHECK-DAG: globs.textproto:[[@LINE+1]]:17: warning: model.frozen[1] has no effect: earlier globs match all that it matches
  frozen: "p.b" frozen: "*.b"
}
data { axes: "dp" }
train {
  # CHECK-DAG: globs.textproto:[[@LINE+1]]:{{[0-9]+}}: warning: train.adamw.decay[1] has no effect: earlier globs, or other groups, match all that it matches
  adamw { decay: "p.b" decay: "p.w" }
  # CHECK-DAG: globs.textproto:[[@LINE+1]]:{{[0-9]+}}: warning: train.group[0].match[1] has no effect: earlier globs, or other groups, match all that it matches
  group { match: "p.w" match: "*.w" sgd { l2: 0.1 decay: "p.w" } }
}

//--- decay.textproto
model { parameters: "p.*" }
train {
  # CHECK-DAG: decay.textproto:[[@LINE+1]]:9: warning: train.sgd.decay has no effect: the weights of decay are 0
  sgd { decay: "p.b" }
  # CHECK-DAG: decay.textproto:[[@LINE+1]]:48: warning: train.group[0].adamw.decay has no effect: the weights of decay are 0
  group { match: "p.w" weight_decay: 0 adamw { decay: "p.w" } }
}

//--- keep.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "pp" size: 1 } }
model { parameters: "p.*" batch { inputs: "x" } }
data { axes: "dp" }
train { sgd {} }
# CHECK: keep.textproto:[[@LINE+1]]:{{[0-9]+}}: warning: pipeline.keep has no effect: no parameters are fetched without stage 3 of zero
pipeline { axis: "pp" keep: STEP }

//--- state.textproto
mesh { axes { name: "dp" size: 2 } }
model { parameters: "p.*" batch { inputs: "x" } }
data { axes: "dp" }
train { sgd {} }
# CHECK: state.textproto:[[@LINE+1]]:1: warning: zero has no effect: stage 1 shards the state of the optimizer, and none of 2 parameters has any
zero { axes: "dp" stage: 1 }

//--- single.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
model { parameters: "p.b" batch { inputs: "x" } }
init { match: "*" constant: 1 }
train { adam { lr { constant: 0.1 } } }
data { axes: "dp" }
tensor { axis: "tp" split { match: "p.b" dim: 0 } }
# CHECK: single.textproto:[[@LINE+1]]:1: warning: zero has no effect: none of 1 parameters can be divided over its axes: each has one element, or is split into parts of unequal size
zero { axes: "dp" stage: 3 }

//--- small.textproto
mesh { axes { name: "dp" size: 2 } }
model { batch { inputs: "x" } }
data { axes: "dp" }
# CHECK: small.textproto:[[@LINE+1]]:1: warning: zero has no effect: there are no parameters; list them in model.parameters
zero { axes: "dp" stage: 3 }

//--- right.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
model { parameters: "p.*" batch { inputs: "x" } }
init { match: "p.b" constant: 1 }
init { match: "p.*" constant: 0 }
data { axes: "dp" }
tensor { axis: "tp" split { match: "p.*" dim: 0 } }
train { adam {} }
zero { axes: "dp" stage: 3 }
