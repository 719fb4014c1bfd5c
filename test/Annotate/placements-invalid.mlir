// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// DEFINE: %{case} =
// DEFINE: %{ranks} = 0
// DEFINE: %{run} = dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/%{case}.textproto ranks=%{ranks}"
// DEFINE: %{check} = not %{run} 2>&1 | FileCheck %t/%{case}.textproto

// Tests that what is wrong with a strategy is said at its line and column.
// REDEFINE: %{case} = misspelt-field
// RUN: %{check}
// REDEFINE: %{case} = missing-field
// RUN: %{check}
// REDEFINE: %{case} = wrong-type
// RUN: %{check}
// REDEFINE: %{case} = axis-twice
// RUN: %{check}
// REDEFINE: %{case} = axis-unnamed
// RUN: %{check}
// REDEFINE: %{case} = size-negative
// RUN: %{check}
// REDEFINE: %{case} = size-overflow
// RUN: %{check}
// REDEFINE: %{ranks} = 4
// REDEFINE: %{case} = size-zero-twice
// RUN: %{check}
// REDEFINE: %{ranks} = 0
// REDEFINE: %{case} = size-zero-alone
// RUN: %{check}
// REDEFINE: %{ranks} = 6
// REDEFINE: %{case} = ranks-unlike-mesh
// RUN: %{check}
// REDEFINE: %{case} = ranks-do-not-divide
// RUN: %{check}
// REDEFINE: %{ranks} = 0
// REDEFINE: %{case} = data-axis-unknown
// RUN: %{check}
// REDEFINE: %{case} = data-axis-twice
// RUN: %{check}
// REDEFINE: %{case} = data-without-batch
// RUN: %{check}
// REDEFINE: %{case} = batch-without-match
// RUN: %{check}
// REDEFINE: %{case} = batch-dim
// RUN: %{check}
// REDEFINE: %{case} = batch-dims
// RUN: %{check}
// REDEFINE: %{case} = batch-dim-negative
// RUN: %{check}
// REDEFINE: %{case} = tensor-axis-unknown
// RUN: %{check}
// REDEFINE: %{case} = tensor-axis-is-data
// RUN: %{check}
// REDEFINE: %{case} = groups-zero
// RUN: %{check}
// REDEFINE: %{case} = groups-do-not-divide
// RUN: %{check}
// REDEFINE: %{case} = split-without-match
// RUN: %{check}
// REDEFINE: %{case} = split-dim
// RUN: %{check}
// REDEFINE: %{case} = sequence-without-sum
// RUN: %{check}
// REDEFINE: %{case} = place-no-list
// RUN: %{check}
// REDEFINE: %{case} = place-empty-dimension
// RUN: %{check}
// REDEFINE: %{case} = place-axis-unknown
// RUN: %{check}
// REDEFINE: %{case} = place-rank
// RUN: %{check}
// REDEFINE: %{case} = place-without-match
// RUN: %{check}
// REDEFINE: %{case} = place-axis-twice
// RUN: %{check}
// REDEFINE: %{case} = place-digit-zero
// RUN: %{check}
// REDEFINE: %{case} = place-parts
// RUN: %{check}
// REDEFINE: %{case} = beta
// RUN: %{check}
// REDEFINE: %{case} = ranks-negative
// REDEFINE: %{ranks} = -4
// RUN: %{check}
// RUN: not dist-opt %t/with-mesh.mlir --dist-annotate-placements="strategy=%t/mesh-already.textproto" 2>&1 | FileCheck %t/mesh-already.textproto

//--- model.mlir
net.variable parameter @p.kernel : tensor<8x6xf32>
func.func @step(%x: tensor<4x6xf32> {net.name = "x"}) -> tensor<4x6xf32> {
  return %x : tensor<4x6xf32>
}

//--- misspelt-field.textproto
mesh {
# CHECK: misspelt-field.textproto:[[@LINE+1]]:8: error: Message type "meshwright.strategy.Mesh" has no field named "axis".
  axis { name: "dp" size: 2 }
}

//--- missing-field.textproto
# CHECK: missing-field.textproto:[[@LINE+1]]:8: error: required field mesh.axes[0].size is missing
mesh { axes { name: "dp" } }

//--- wrong-type.textproto
# CHECK: wrong-type.textproto:[[@LINE+1]]:32: error: Expected integer, got: "two"
mesh { axes { name: "dp" size: "two" } }

//--- axis-twice.textproto
mesh {
  axes { name: "dp" size: 2 }
# CHECK: axis-twice.textproto:[[@LINE+1]]:3: error: axis "dp" is empty or given twice in the mesh
  axes { name: "dp" size: 2 }
}

//--- axis-unnamed.textproto
# CHECK: axis-unnamed.textproto:[[@LINE+1]]:8: error: axis "" is empty or given twice in the mesh
mesh { axes { name: "" size: 2 } }

//--- size-negative.textproto
# CHECK: size-negative.textproto:[[@LINE+1]]:8: error: axis "dp" has size -2; sizes are positive and the number of ranks is at most 65536
mesh { axes { name: "dp" size: -2 } }

//--- size-overflow.textproto
# CHECK: size-overflow.textproto:[[@LINE+1]]:45: error: axis "b" has size 65536; sizes are positive and the number of ranks is at most 65536
mesh { axes { name: "a" size: 65536 }       axes { name: "b" size: 65536 } }

//--- size-zero-twice.textproto
mesh {
  axes { name: "dp" size: 0 }
# CHECK: size-zero-twice.textproto:[[@LINE+1]]:3: error: axis "tp" has size 0 and so has axis "dp"; at most one axis can take its size from --ranks
  axes { name: "tp" size: 0 }
}

//--- size-zero-alone.textproto
# CHECK: size-zero-alone.textproto:[[@LINE+1]]:1: error: axis "dp" has size 0; set it with --ranks
mesh { axes { name: "dp" size: 0 } }

//--- ranks-unlike-mesh.textproto
# CHECK: ranks-unlike-mesh.textproto:[[@LINE+1]]:1: error: the sizes of the mesh's axes multiply to 8 but --ranks is 6
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }

//--- ranks-do-not-divide.textproto
# CHECK: ranks-do-not-divide.textproto:[[@LINE+1]]:1: error: 6 ranks cannot be divided by the 4 of the axes other than "dp"
mesh { axes { name: "dp" size: 0 } axes { name: "tp" size: 4 } }

//--- data-axis-unknown.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: data-axis-unknown.textproto:[[@LINE+1]]:8: error: the mesh has no axis "pd"
data { axes: "pd" }

//--- data-axis-twice.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: data-axis-twice.textproto:[[@LINE+1]]:19: error: axis "dp" is given twice in data.axes
data { axes: "dp" axes: "dp" }

//--- data-without-batch.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: data-without-batch.textproto:[[@LINE+1]]:1: error: data.axes splits a batch; model.batch names the inputs and their batch dimension
data { axes: "dp" }

//--- batch-without-match.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
data { axes: "dp" }
# CHECK: batch-without-match.textproto:[[@LINE+1]]:29: error: no input matches "idx"
model { batch { inputs: "x" inputs: "idx" } }

//--- batch-dim.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
data { axes: "dp" }
# CHECK: batch-dim.textproto:[[@LINE+1]]:17: error: the batch is dimension 2 but "x" has rank 2
model { batch { inputs: "x" dim: 2 } }

//--- batch-dim-negative.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
data { axes: "dp" }
# CHECK: batch-dim-negative.textproto:[[@LINE+1]]:17: error: the batch is dimension -1 but "x" has rank 2
model { batch { inputs: "x" dim: -1 } }

//--- batch-dims.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
data { axes: "dp" }
model { batch { inputs: "x" }
  # CHECK: batch-dims.textproto:[[@LINE+1]]:11: error: the batch of "x" is dimension 1 here but dimension 0 of an earlier glob
  batch { inputs: "x*" dim: 1 } }

//--- tensor-axis-unknown.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: tensor-axis-unknown.textproto:[[@LINE+1]]:10: error: the mesh has no axis "sp"
tensor { axis: "sp" }

//--- tensor-axis-is-data.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
model { batch { inputs: "x" } }
data { axes: "dp" }
# CHECK: tensor-axis-is-data.textproto:[[@LINE+1]]:10: error: axis "dp" is also in data.axes
tensor { axis: "dp" }

//--- groups-zero.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
tensor { axis: "tp"
# CHECK: groups-zero.textproto:[[@LINE+1]]:36: error: there are 0 groups; there is at least 1
  split { match: "p.kernel" dim: 0 groups: 0 }
}

//--- groups-do-not-divide.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
tensor { axis: "tp"
# CHECK: groups-do-not-divide.textproto:[[@LINE+1]]:3: error: "p.kernel" of 'tensor<8x6xf32>': digit 3 does not divide the 8 indices that are left of dimension 0 of size 8
  split { match: "p.kernel" dim: 0 groups: 3 }
}

//--- split-without-match.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
tensor { axis: "tp"
# CHECK: split-without-match.textproto:[[@LINE+1]]:3: error: no variable matches "*.bias"
  split { match: "*.bias" dim: 0 }
}

//--- split-dim.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
tensor { axis: "tp"
# CHECK: split-dim.textproto:[[@LINE+1]]:3: error: splits dimension 2 of "p.kernel", which has rank 2
  split { match: "p.kernel" dim: 2 }
}

//--- sequence-without-sum.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: sequence-without-sum.textproto:[[@LINE+1]]:21: error: no sum of three or more dimensions precedes the first product with a split parameter; split the sequence by hand with place
tensor { axis: "tp" sequence: true }

//--- place-no-list.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: place-no-list.textproto:[[@LINE+1]]:1: error: "dp, tp" is not a list of dimensions; an example is "[3 tp, -]"
place { match: "x" dims: "dp, tp" }

//--- place-empty-dimension.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: place-empty-dimension.textproto:[[@LINE+1]]:1: error: "[dp, ]" has an empty dimension; one that is not split is "-"
place { match: "x" dims: "[dp, ]" }

//--- place-axis-unknown.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: place-axis-unknown.textproto:[[@LINE+1]]:1: error: the mesh has no axis "sp"
place { match: "x" dims: "[-, sp]" }

//--- place-rank.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: place-rank.textproto:[[@LINE+1]]:1: error: the placement has 1 dimensions but "x" has 2
place { match: "x" dims: "[dp]" }

//--- place-without-match.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: place-without-match.textproto:[[@LINE+1]]:1: error: no value matches "y"
place { match: "y" dims: "[-]" }

//--- place-axis-twice.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
model { batch { inputs: "x" } }
data { axes: "dp" }
# CHECK: place-axis-twice.textproto:[[@LINE+1]]:1: error: "x" of 'tensor<4x6xf32>': axis "dp" stands twice in the dims mapping
place { match: "x" dims: "[-, dp]" }

//--- place-digit-zero.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: place-digit-zero.textproto:[[@LINE+1]]:1: error: digit 0 of the dims mapping is not positive
place { match: "x" dims: "[0 dp, -]" }

//--- place-parts.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: place-parts.textproto:[[@LINE+1]]:1: error: "x" of 'tensor<4x6xf32>': 2 parts of 1 indices over axis "dp" do not fit the 4 indices that are left of dimension 0 of size 4
place { match: "x" dims: "[dp by 1, -]" }

//--- beta.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 4 } }
# CHECK: beta.textproto:[[@LINE+1]]:17: error: train.adamw.beta2 is 1; it lies in [0, 1)
train { adamw { beta2: 1 } }

//--- ranks-negative.textproto
# CHECK: ranks-negative.textproto:[[@LINE+1]]:1: error: there are -4 ranks; there is at least 1
mesh { axes { name: "dp" size: 0 } axes { name: "tp" size: 2 } }

//--- with-mesh.mlir
dist.mesh @mesh <["dp" = 2]>

//--- mesh-already.textproto
# CHECK: mesh-already.textproto:[[@LINE+1]]:1: error: the module has a mesh already
mesh { axes { name: "dp" size: 2 } }
