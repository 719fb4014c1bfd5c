//===- CheckTiles.cpp - checks of tiles -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::strategy;

LogicalResult StrategyFile::checkTiles(MLIRContext *context) const {
  const Tiles &tiles = strategy.tiles();
  if (tiles.min_bytes() < 0)
    return emitError(getLoc(context, "tiles.min_bytes"))
           << "tiles.min_bytes is " << tiles.min_bytes() << "; it is at least 0";
  if (tiles.bytes() < 1)
    return emitError(getLoc(context, "tiles.bytes")) << "tiles.bytes is " << tiles.bytes() << "; it is at least 1";
  return success();
}
