//===- SplitReductions.cpp - reductions of few neighbours -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitReductions.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using net::typeOf;

/// Neighbours that a reduction combines are few up to here: four vectors of AVX-512 in f32.
static constexpr int64_t kMostNeighbours = 64;
/// The elements that each one of the first step combines, at least: its result is small beside the operand.
static constexpr int64_t kFewestRows = 8;

/// The dimensions of the first step: those reduced beyond kept ones. Empty if one step is as good.
static ArrayRef<int64_t> findOuter(net::ReduceOp op) {
  ArrayRef<int64_t> shape = typeOf(op.getOperand()).getShape(), dims = op.getDims();
  int64_t neighbours = 1, kept = 1, rows = 1, next = typeOf(op.getOperand()).getRank();
  while (!dims.empty() && dims.back() == next - 1) {
    neighbours *= shape[--next];
    dims = dims.drop_back();
  }
  if (dims.empty())
    return {};
  for (int64_t dim : llvm::seq(dims.back() + 1, next))
    kept *= shape[dim];
  for (int64_t dim : dims)
    rows *= shape[dim];
  bool isSplit = neighbours > 1 && neighbours <= kMostNeighbours && kept > 1 && rows >= kFewestRows;
  return isSplit ? dims : ArrayRef<int64_t>();
}

/// True if the result of a first step may be rounded: all but floats of 16 bits and fewer.
static bool isExactEnough(net::ReduceOp op) {
  Type element = net::elementTypeOf(op.getResult());
  bool rounds = op.getKind() == ReduceKind::Sum || op.getKind() == ReduceKind::Product;
  return !rounds || !isa<FloatType>(element) || element.getIntOrFloatBitWidth() >= 32;
}

void schedule::splitReductions(Block &block) {
  for (auto op : block.getOps<net::ReduceOp>()) {
    SmallVector<int64_t> outer(findOuter(op));
    if (outer.empty() || !isExactEnough(op))
      continue;
    OpBuilder builder(op);
    Value first = net::NetBuilder(builder, op.getLoc()).reduce(op.getKind(), op.getOperand(), outer);
    inherit(first.getDefiningOp(), op, Inherit::Companion);
    SmallVector<int64_t> inner;
    for (int64_t dim : op.getDims().drop_front(outer.size()))
      inner.push_back(dim - static_cast<int64_t>(outer.size()));
    op.setOperand(first);
    op.setDims(inner);
  }
}
