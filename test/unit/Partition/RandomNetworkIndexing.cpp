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

/// The windows of a value that a gather takes or a scatter writes; nothing where they came out too large.
std::optional<RandomNetwork::Windows> RandomNetwork::drawWindows(ArrayRef<int64_t> shape) {
  Windows windows;
  Shape batch, window;
  int64_t rank = shape.size();
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = shape[dim], choice = random.pick(0, 5);
    if (choice == 0) {
      windows.operandBatching.push_back(dim);
      windows.indicesBatching.push_back(batch.size());
      batch.push_back(size);
      windows.sizes.push_back(1);
    } else if (choice <= 2 || (windows.map.empty() && dim == rank - 1)) {
      windows.collapsed.push_back(dim);
      windows.map.push_back(dim);
      windows.sizes.push_back(1);
      windows.bound = std::max(windows.bound, size);
    } else {
      windows.sizes.push_back(random.chance(80) ? size : random.pick(1, size));
      if (windows.sizes.back() < size)
        windows.map.push_back(dim);
      window.push_back(windows.sizes.back());
    }
  }
  for (int64_t more = random.pick(0, 2); more > 0; --more)
    batch.push_back(pickSize());
  windows.values = windows.indices = batch;
  for (int64_t size : window) {
    windows.windowDims.push_back(windows.values.size());
    windows.values.push_back(size);
  }
  windows.vectorDim = batch.size();
  if (windows.map.size() != 1 || random.chance(70))
    windows.indices.push_back(windows.map.size());
  if (windows.map.empty() || windows.values.size() > 5 || product(windows.values) > 1000 ||
      product(windows.indices) > 400)
    return std::nullopt;
  return windows;
}

void RandomNetwork::addGather() {
  Value x = pick(random.chance(80) ? real : i32, 1);
  if (!x)
    return;
  std::optional<Windows> windows = drawWindows(shapeOf(x));
  if (!windows)
    return;
  Value indices = makeIndices(windows->indices, windows->bound);
  auto dims = GatherDimsAttr::get(builder.getContext(), windows->windowDims, windows->collapsed,
                                  windows->operandBatching, windows->indicesBatching, windows->map, windows->vectorDim);
  add(GatherOp::create(builder, typeOf(x).clone(windows->values), x, indices, dims, windows->sizes));
}

void RandomNetwork::addScatter() {
  Value x = pick(random.chance(80) ? real : i32, 1);
  if (!x)
    return;
  std::optional<Windows> windows = drawWindows(shapeOf(x));
  if (!windows)
    return;
  Type element = typeOf(x).getElementType();
  Value indices = makeIndices(windows->indices, windows->bound), updates = make(windows->values, element);
  auto kind = static_cast<ScatterKind>(random.chance(50) ? 1 : random.pick(0, 4));
  if (kind == ScatterKind::Multiply) {
    if (element == i32)
      kind = ScatterKind::Add;
    else
      updates = TanhOp::create(builder, updates.getType(), updates);
  }
  auto dims =
      ScatterDimsAttr::get(builder.getContext(), windows->windowDims, windows->collapsed, windows->operandBatching,
                           windows->indicesBatching, windows->map, windows->vectorDim);
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
