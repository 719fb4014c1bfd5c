// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo -split-input-file -verify-diagnostics

func.func @without_mesh() -> tensor<ui32> {
  // expected-error @below {{stablehlo.partition_id stands in a program of one rank, but the graph of a serial network is wanted}}
  %0 = stablehlo.partition_id : tensor<ui32>
  return %0 : tensor<ui32>
}

// -----

func.func @manual(%arg0: tensor<8xf32>) {
  // expected-error @below {{operation sdy.manual_computation computes per rank (shard_map), but the graph of a serial network is wanted; export it without, or compare the two with dist-verify SERIAL PARTITIONED}}
  sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"dp"}]>] out_shardings=[] manual_axes={"dp"} (%arg1: tensor<4xf32>) {
    sdy.return
  } : (tensor<8xf32>) -> ()
  return
}

// -----

dist.mesh @mesh <["dp" = 4]>
func.func @groups(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.all_gather has the groups [0, 1], [2, 3], which are not the rows along axes of the mesh dp=4; state a mesh that has them}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @order(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.all_gather has the groups [1, 0], [2, 3], which are not the rows along axes of the mesh dp=2,tp=2; state a mesh that has them}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @missing(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.all_gather has the groups [0, 1], which are not}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @many(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.all_gather has 1 lists of 1000000000 ranks in "replica_groups", more than the mesh can have}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1000000000xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @no_groups(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.all_gather has no lists of ranks in "replica_groups"}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64}> : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @dim(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.all_gather has 1 as "all_gather_dim", but its operand has 1 dimensions}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @gathered_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.all_gather makes 'tensor<4xf32>' of 'tensor<4xf32>', not 'tensor<8xf32>'}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @gathered_ranks(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{stablehlo.all_gather gathers dimension 1 of 'tensor<4xf32>'}}
  %0:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return %0#0 : tensor<4x8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @body(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.all_reduce has a body that is not known for result 0; add, multiply, maximum, minimum, and, or of its own two elements are, and no others}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @scattered(%x: tensor<5xf32>) -> tensor<2xf32> {
  // expected-error @below {{stablehlo.reduce_scatter divides dimension 0 of size 5 among 2 ranks}}
  %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @exchanged(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.all_to_all splits dimension 0 of size 4 into 4 parts for groups of 2 ranks}}
  %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @several(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.all_to_all has 2 results; one operand that is split is understood}}
  %0:2 = "stablehlo.all_to_all"(%x, %x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @target(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.collective_permute names rank 2 of 2}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @targets(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.collective_permute sends to rank 1 from ranks 0 and 1}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @sources(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.collective_permute sends from rank 0 to ranks 0 and 1}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 0], [0, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @pairs(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.collective_permute has lists of 1 ranks, not pairs}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
func.func @number() -> tensor<i32> {
  // expected-error @below {{stablehlo.partition_id makes 'tensor<i32>', not tensor<ui32>}}
  %0 = stablehlo.partition_id : tensor<i32>
  return %0 : tensor<i32>
}

// -----

module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 2 : i32} {
  dist.mesh @mesh <["dp" = 4]>
  func.func @both() -> tensor<ui32> {
    // expected-error @below {{stablehlo.replica_id stands in a program of 2 replicas of 2 partitions each; programs of replicas or of partitions are understood}}
    %0 = stablehlo.replica_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
}

// -----

module attributes {mhlo.num_partitions = 8 : i32} {
  dist.mesh @mesh <["dp" = 4]>
  func.func @ranks() -> tensor<ui32> {
    // expected-error @below {{stablehlo.partition_id stands in a program of 8 ranks, but the mesh dp=4 has 4}}
    %0 = stablehlo.partition_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  dist.mesh @mesh <["dp" = 2]>
  func.func @channel(%x: tensor<4xf32>) -> tensor<8xf32> {
    // expected-error @below {{stablehlo.all_gather has no channel_handle, so that it exchanges nothing between the 2 partitions of the program}}
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
