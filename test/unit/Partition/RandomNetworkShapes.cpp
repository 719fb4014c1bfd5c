//===- RandomNetworkShapes.cpp - random operations that move elements -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/RandomNetwork.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::test;

void RandomNetwork::addBroadcast() {
  Value x = pick(random.chance(80) ? real : i32);
  Shape shape(shapeOf(x)), dims;
  for (int64_t dim = 0; dim < typeOf(x).getRank(); ++dim)
    dims.push_back(dim);
  int64_t at = random.pick(0, shape.size());
  shape.insert(shape.begin() + at, pickSize());
  for (int64_t &dim : dims)
    dim += dim >= at;
  if (dims.size() > 1 && random.chance(30)) {
    std::swap(dims.front(), dims.back());
    std::swap(shape[dims.front()], shape[dims.back()]);
  }
  if (product(shape) <= 1000 && shape.size() <= 4)
    add(BroadcastOp::create(builder, typeOf(x).clone(shape), x, dims));
}

void RandomNetwork::addReshape() {
  Value x = pick(random.chance(80) ? real : i32);
  Shape factors, shape;
  for (int64_t size : shapeOf(x))
    for (int64_t factor = 2; size > 1; ++factor)
      for (; size % factor == 0; size /= factor)
        factors.push_back(factor);
  // Neighbouring prime factors are joined again, elsewhere.
  for (int64_t factor : factors) {
    if (!shape.empty() && random.chance(55))
      shape.back() *= factor;
    else
      shape.push_back(factor);
  }
  if (random.chance(20))
    shape.insert(shape.begin() + random.pick(0, shape.size()), 1);
  if (shape.size() <= 5)
    add(ReshapeOp::create(builder, typeOf(x).clone(shape), x));
}

Value RandomNetwork::transpose(Value x) {
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim < typeOf(x).getRank(); ++dim)
    order.insert(order.begin() + random.pick(0, order.size()), dim);
  Shape shape;
  for (int64_t dim : order)
    shape.push_back(shapeOf(x)[dim]);
  return TransposeOp::create(builder, typeOf(x).clone(shape), x, order);
}

void RandomNetwork::addTranspose() {
  if (Value x = pick(random.chance(80) ? real : i32, 2))
    add(transpose(x));
}

void RandomNetwork::addSlice() {
  Value x = pick(random.chance(80) ? real : i32, 1);
  if (!x)
    return;
  SmallVector<int64_t> starts, limits, steps;
  Shape shape;
  for (int64_t size : shapeOf(x)) {
    int64_t start = 0, limit = size, step = 1;
    int64_t choice = random.pick(0, 5);
    if (choice == 0)
      limit = std::max<int64_t>(size - 1, 1);
    else if (choice == 1 && size % 2 == 0)
      (random.chance(50) ? start : limit) = size / 2;
    else if (choice == 2)
      limit = random.pick((start = random.pick(0, size - 1)) + 1, size);
    else if (choice == 3)
      step = 2;
    starts.push_back(start);
    limits.push_back(limit);
    steps.push_back(step);
    shape.push_back((limit - start + step - 1) / step);
  }
  add(SliceOp::create(builder, typeOf(x).clone(shape), x, starts, limits, steps));
}

void RandomNetwork::addPad() {
  Value x = pick(random.chance(80) ? real : i32, 1);
  if (!x)
    return;
  auto scalar = RankedTensorType::get({}, typeOf(x).getElementType());
  Value value = random.chance(40)
                    ? ConstantOp::create(builder, scalar, cast<ElementsAttr>(builder.getZeroAttr(scalar))).getResult()
                    : make({}, scalar.getElementType());
  SmallVector<int64_t> low, high, interior;
  Shape shape;
  for (int64_t size : shapeOf(x)) {
    int64_t choice = random.pick(0, 6);
    low.push_back(choice == 0 ? size : choice == 1 ? random.pick(0, 2) : choice == 2 ? -random.pick(0, size / 2) : 0);
    high.push_back(choice == 3 ? size : choice >= 4 ? random.pick(0, 2) : choice == 2 ? 1 : 0);
    interior.push_back(random.chance(10) ? 1 : 0);
    shape.push_back(low.back() + size + (size - 1) * interior.back() + high.back());
  }
  if (product(shape) <= 1000)
    add(PadOp::create(builder, typeOf(x).clone(shape), x, value, low, high, interior));
}

void RandomNetwork::addConcatenate() {
  Value x = pick(random.chance(80) ? real : i32, 1);
  if (!x)
    return;
  int64_t dim = random.pick(0, typeOf(x).getRank() - 1);
  SmallVector<Value> operands{x};
  Shape shape(shapeOf(x));
  for (int64_t more = random.pick(1, 2); more > 0; --more) {
    Shape other(shapeOf(x));
    if (random.chance(25))
      other[dim] = pickSize();
    operands.push_back(make(other, typeOf(x).getElementType()));
    shape[dim] += other[dim];
  }
  if (product(shape) <= 1000)
    add(ConcatenateOp::create(builder, typeOf(x).clone(shape), operands, static_cast<uint64_t>(dim)));
}

/// Now and then `x` as the second of two parts of an array.
Value RandomNetwork::getPart(Value x) {
  int64_t rank = typeOf(x).getRank();
  if (rank == 0 || 2 * typeOf(x).getNumElements() > 1000 || random.chance(70))
    return x;
  SmallVector<int64_t> starts(rank, 0), limits(shapeOf(x)), steps(rank, 1);
  Shape shape(shapeOf(x));
  starts[0] = shape[0];
  shape[0] = limits[0] = 2 * shape[0];
  Value both = ConcatenateOp::create(builder, typeOf(x).clone(shape), ValueRange{pickLike(x), x}, uint64_t(0));
  return SliceOp::create(builder, x.getType(), both, starts, limits, steps);
}
