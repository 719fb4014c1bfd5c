//===- RandomNetworkIndexing.cpp - random operations that look elements up -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/RandomNetwork.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::test;

void RandomNetwork::addGather() {
  Value x = pick(random.chance(80) ? real : i32, 1);
  if (!x)
    return;
  int64_t rank = typeOf(x).getRank();
  SmallVector<int64_t> offsetDims, collapsed, operandBatching, indicesBatching, map, sizes;
  Shape batch, window;
  int64_t vectorBound = 1;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = shapeOf(x)[dim], choice = random.pick(0, 5);
    if (choice == 0) {
      operandBatching.push_back(dim);
      indicesBatching.push_back(batch.size());
      batch.push_back(size);
      sizes.push_back(1);
    } else if (choice <= 2 || (map.empty() && dim == rank - 1)) {
      collapsed.push_back(dim);
      map.push_back(dim);
      sizes.push_back(1);
      vectorBound = std::max(vectorBound, size);
    } else {
      sizes.push_back(random.chance(80) ? size : random.pick(1, size));
      if (sizes.back() < size)
        map.push_back(dim);
      window.push_back(sizes.back());
    }
  }
  for (int64_t more = random.pick(0, 2); more > 0; --more)
    batch.push_back(pickSize());
  Shape result(batch), indicesShape(batch);
  for (int64_t size : window) {
    offsetDims.push_back(result.size());
    result.push_back(size);
  }
  int64_t vectorDim = indicesShape.size();
  if (map.size() != 1 || random.chance(70))
    indicesShape.push_back(map.size());
  if (product(result) > 1000 || result.size() > 5 || product(indicesShape) > 400 || map.empty())
    return;
  Value indices = makeIndices(indicesShape, vectorBound);
  auto dims = GatherDimsAttr::get(builder.getContext(), offsetDims, collapsed, operandBatching, indicesBatching, map,
                                  vectorDim);
  add(GatherOp::create(builder, typeOf(x).clone(result), x, indices, dims, sizes));
}

void RandomNetwork::addScatter() {
  Value x = pick(random.chance(80) ? real : i32, 1);
  if (!x)
    return;
  int64_t rank = typeOf(x).getRank(), bound = 1;
  SmallVector<int64_t> windowDims, inserted, operandBatching, indicesBatching, map;
  Shape batch, window;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = shapeOf(x)[dim], choice = random.pick(0, 5);
    if (choice == 0) {
      operandBatching.push_back(dim);
      indicesBatching.push_back(batch.size());
      batch.push_back(size);
    } else if (choice <= 2 || (map.empty() && dim == rank - 1)) {
      inserted.push_back(dim);
      map.push_back(dim);
      bound = std::max(bound, size);
    } else {
      window.push_back(random.chance(80) ? size : random.pick(1, size));
      if (window.back() < size)
        map.push_back(dim);
    }
  }
  for (int64_t more = random.pick(0, 2); more > 0; --more)
    batch.push_back(pickSize());
  Shape updatesShape(batch), indicesShape(batch);
  for (int64_t size : window) {
    windowDims.push_back(updatesShape.size());
    updatesShape.push_back(size);
  }
  int64_t vectorDim = indicesShape.size();
  if (map.size() != 1 || random.chance(70))
    indicesShape.push_back(map.size());
  if (product(updatesShape) > 1000 || updatesShape.size() > 5 || product(indicesShape) > 400 || map.empty())
    return;
  Type element = typeOf(x).getElementType();
  Value indices = makeIndices(indicesShape, bound), updates = make(updatesShape, element);
  auto kind = static_cast<ScatterKind>(random.chance(50) ? 1 : random.pick(0, 4));
  if (kind == ScatterKind::Multiply) {
    if (element == i32)
      kind = ScatterKind::Add;
    else
      updates = TanhOp::create(builder, updates.getType(), updates);
  }
  auto dims = ScatterDimsAttr::get(builder.getContext(), windowDims, inserted, operandBatching, indicesBatching, map,
                                   vectorDim);
  add(ScatterOp::create(builder, x.getType(), kind, x, indices, updates, dims));
}

/// A box whose place is only known when the network runs: taken, or written over.
void RandomNetwork::addDynamic() {
  Value x = pick(random.chance(80) ? real : i32, 1);
  if (!x)
    return;
  Shape box;
  SmallVector<Value> starts;
  for (int64_t size : shapeOf(x)) {
    box.push_back(random.chance(60) ? size : random.pick(1, size));
    starts.push_back(makeIndices({}, size));
  }
  if (random.chance(50))
    add(DynamicSliceOp::create(builder, typeOf(x).clone(box), x, starts));
  else
    add(DynamicUpdateSliceOp::create(builder, x.getType(), x, make(box, typeOf(x).getElementType()), starts));
}

/// Floats are not sorted: their order depends on how sums were rounded.
void RandomNetwork::addOrder() {
  bool reverses = random.chance(50);
  Value x = pick(reverses && random.chance(70) ? real : i32, 1);
  if (!x)
    return;
  int64_t rank = typeOf(x).getRank(), dim = random.pick(0, rank - 1);
  if (!reverses) {
    SmallVector<Value> keys(1, x);
    if (random.chance(30))
      keys.push_back(pickLike(x));
    add(ArgSortOp::create(builder, x.getType(), keys, static_cast<uint64_t>(dim), random.chance(50), false));
    return;
  }
  SmallVector<int64_t> dims{dim};
  if (dim > 0 && random.chance(30))
    dims.push_back(0);
  add(ReverseOp::create(builder, x.getType(), x, dims));
}
