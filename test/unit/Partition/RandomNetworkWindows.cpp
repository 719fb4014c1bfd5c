//===- RandomNetworkWindows.cpp - random convolutions and windows ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/WindowLists.h"
#include "test/unit/Partition/RandomNetwork.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::test;

WindowDim RandomNetwork::pickWindow(int64_t size) {
  WindowDim window;
  if (random.chance(50))
    return window;
  window.size = random.pick(1, 3);
  window.stride = random.chance(60) ? 1 : 2;
  window.low = random.pick(random.chance(20) ? -1 : 0, window.size);
  window.high = random.pick(random.chance(20) ? -1 : 0, window.size);
  window.baseDilation = random.chance(80) ? 1 : 2;
  window.windowDilation = random.chance(80) ? 1 : 2;
  return *window.countPlaces(size) > 0 ? window : WindowDim();
}

void RandomNetwork::addConvolution() {
  // Batch, features, and up to two spatial dimensions before the features.
  Value lhs = pick(real, 2);
  if (!lhs || typeOf(lhs).getRank() > 4)
    return;
  ArrayRef<int64_t> shape = typeOf(lhs).getShape();
  int64_t rank = shape.size(), features = shape[rank - 1], batch = shape[0], groups = 1, batchGroups = 1;
  if (random.chance(40))
    (random.chance(50) ? groups : batchGroups) = 2;
  groups = features % groups == 0 ? groups : 1;
  batchGroups = batch % batchGroups == 0 ? batchGroups : 1;
  int64_t outputs = random.pick(1, 4) * groups * batchGroups;
  SmallVector<int64_t> spatial, rhsSpatial;
  Shape kernel, result = {batch / batchGroups};
  WindowLists lists;
  SmallVector<bool> reversed;
  for (int64_t dim = 1; dim + 1 < rank; ++dim) {
    WindowDim window = pickWindow(shape[dim]);
    spatial.push_back(dim);
    rhsSpatial.push_back(dim - 1);
    kernel.push_back(window.size);
    result.push_back(*window.countPlaces(shape[dim]));
    reversed.push_back(random.chance(20));
    lists.add(window);
  }
  kernel.append({features / groups, outputs});
  result.push_back(outputs);
  auto type = RankedTensorType::get(result, real);
  if (type.getNumElements() > 1000 || RankedTensorType::get(kernel, real).getNumElements() > 1000)
    return;
  auto dims = ConvolutionDimsAttr::get(builder.getContext(), 0, rank - 1, spatial, rank - 2, rank - 1, rhsSpatial, 0,
                                       rank - 1, spatial);
  Value rhs = restrict(make(kernel, real), Domain::Small);
  add(ConvolutionOp::create(builder, type, lhs, rhs, dims, lists.strides, lists.low, lists.high, lists.base,
                            lists.window, reversed, groups, batchGroups));
}

void RandomNetwork::addWindow() {
  Value x = pick(random.chance(80) ? real : i32, 1);
  if (!x)
    return;
  WindowLists lists;
  Shape places;
  for (int64_t size : typeOf(x).getShape()) {
    WindowDim window = pickWindow(size);
    lists.add(window);
    places.push_back(*window.countPlaces(size));
  }
  auto type = typeOf(x).clone(places);
  if (type.getNumElements() > 1000)
    return;
  if (random.chance(30) && type.getElementType() == real) {
    // Integers as floats: the place of the largest of sums depends on how they were rounded.
    auto kind = random.chance(50) ? ArgKind::Max : ArgKind::Min;
    add(SelectAndScatterOp::create(builder, x.getType(), kind, restrict(x, Domain::Exact), make(places, real),
                                   lists.sizes, lists.strides, lists.low, lists.high, lists.base, lists.window));
    return;
  }
  static constexpr ReduceKind kKinds[] = {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min};
  add(ReduceWindowOp::create(builder, type, kKinds[random.pick(0, 2)], x, lists.sizes, lists.strides, lists.low,
                             lists.high, lists.base, lists.window));
}
