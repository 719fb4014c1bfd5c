//===- Indices.cpp - index vectors of gathers and scatters ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Indices.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;

Value net::makeComponents(NetBuilder &build, Value indices, int64_t vectorDim, ArrayRef<int64_t> numbers) {
  auto elementType = cast<IntegerType>(elementTypeOf(indices));
  if (llvm::all_equal(numbers))
    return build.splatLike(indices, static_cast<double>(numbers.front()));
  SmallVector<APInt> elements;
  for (int64_t number : numbers)
    elements.push_back(APInt(elementType.getWidth(), static_cast<uint64_t>(number), /*isSigned=*/true));
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, elementType);
  Value vector =
      ConstantOp::create(build.builder, build.location, type, DenseElementsAttr::get(type, ArrayRef<APInt>(elements)));
  return build.broadcast(vector, shapeOf(indices), {vectorDim});
}

/// The largest number that an index type holds.
static uint64_t maxOf(IntegerType type) {
  unsigned bits = type.getWidth() - (type.isUnsigned() || type.getWidth() == 1 ? 0 : 1);
  return bits >= 64 ? UINT64_MAX : (uint64_t(1) << bits) - 1;
}

Value net::clampIndices(NetBuilder &build, Value indices, int64_t vectorDim, SmallVector<int64_t> limits) {
  auto type = cast<IntegerType>(elementTypeOf(indices));
  uint64_t largest = maxOf(type);
  bool exceeds = false;
  for (int64_t &limit : limits) {
    exceeds |= static_cast<uint64_t>(limit) < largest;
    limit = static_cast<int64_t>(std::min(static_cast<uint64_t>(limit), largest));
  }
  if (!type.isUnsigned() && type.getWidth() > 1)
    indices = build.binary<MaximumOp>(indices, build.splatLike(indices, 0));
  if (exceeds)
    indices = build.binary<MinimumOp>(indices, makeComponents(build, indices, vectorDim, limits));
  return indices;
}
