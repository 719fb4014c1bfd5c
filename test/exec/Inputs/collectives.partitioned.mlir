// The program of one of four replicas, each of which has two rows of the argument.
module attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<1xui32>, tensor<8x4xf32>, tensor<1x4xf32>, tensor<2x4xf32>) {
    %broadcast = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %permuted = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %rank = stablehlo.replica_id : tensor<ui32>
    // The only partition is partition 0.
    %partition = stablehlo.partition_id : tensor<ui32>
    %number = stablehlo.add %rank, %partition : tensor<ui32>
    %ranks = stablehlo.reshape %number : (tensor<ui32>) -> tensor<1xui32>
    %gathered = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2, 1, 3]]> : tensor<1x4xi64>}> : (tensor<2x4xf32>) -> tensor<8x4xf32>
    %scattered = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %larger = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %larger : tensor<f32>
    }) : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %exchanged = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %broadcast, %permuted, %ranks, %gathered, %scattered, %exchanged : tensor<2x4xf32>, tensor<2x4xf32>, tensor<1xui32>, tensor<8x4xf32>, tensor<1x4xf32>, tensor<2x4xf32>
  }
}
