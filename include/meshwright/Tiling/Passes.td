//===- Passes.td - computing by tiles -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TILING_PASSES_TD
#define MESHWRIGHT_TILING_PASSES_TD

include "meshwright/Strategy/FieldOption.td"

def TileRegionsPass : Pass<"dist-schedule-tile-regions", "mlir::ModuleOp"> {
  let summary = "computes attention by tiles of its rows";
  let description = [{
    Replaces the operations around a matrix of scores, such as those of an attention, by a loop over tiles of its rows, so
    that only the scores of a tile are in memory. The scores are the result of a product with at least four times the
    elements of its operands, and at least `min-bytes`. Everything whose values have rows and columns belongs to the loop,
    in whatever way the network writes masks, biases, scales or dropout; so do sums along the columns. Sums over rows,
    as the gradients of keys and values, are carried from tile to tile in f32.

    A tile has at most `tile-bytes` of scores, or 32 rows: up to 128 rows, then as many heads and sequences as fit.
    Columns that a mask hides from all rows of a tile are not computed.

    Backward has tiles of its own if it recomputes the scores (`dist-complete-recompute`). If it sums nothing along a row
    that it reads again (`dist-train-defer-divisions`), and fewer than 128 whole rows fit a tile, an outer loop takes
    blocks of up to 512 keys, and an inner one tiles of up to 256 queries.

    Example: a softmax of products, of 1024 rows
    ```mlir
    %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<1024x8xf32>, tensor<1024x8xf32> -> tensor<1024x1024xf32>
    // becomes, up to the last operation that has rows and columns
    %i = net.loop count = 8
    %t = net.take %tiles in %i : tensor<8x128x8xf32> -> tensor<128x8xf32>
    %s = net.dot %t, %k batch = [] x [] contract = [1] x [1] : tensor<128x8xf32>, tensor<1024x8xf32> -> tensor<128x1024xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect", "::meshwright::dist::DistDialect"];
  let options = [
    FieldOption<"enabled", "enabled", Tiles_enabled>,
    FieldOption<"minBytes", "min-bytes", Tiles_min_bytes>,
    FieldOption<"tileBytes", "tile-bytes", Tiles_bytes>
  ];
  let statistics = [
    Statistic<"numRegions", "regions", "Regions computed by tiles">,
    Statistic<"numTiles", "tiles", "Their tiles">
  ];
}

#endif
