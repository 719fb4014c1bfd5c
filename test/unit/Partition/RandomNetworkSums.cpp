//===- RandomNetworkSums.cpp - random products and reductions -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds random products, reductions, normalizations and triangular systems to a random network, with operands chosen so
// that results stay small.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/RandomNetwork.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::test;

void RandomNetwork::addDot() {
  // Matrices for each of several heads now and then, else whatever there is.
  bool heads = random.chance(20);
  Value lhs = heads ? make({random.pick(2, 4), random.pick(2, 5), random.pick(2, 5)}, real) : pick(real, 1);
  if (!lhs)
    return;
  // Each dimension of the left side is batching, contracted or free; the right side is made to fit.
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  Shape rhsShape, batch, free;
  for (auto [dim, size] : llvm::enumerate(shapeOf(lhs))) {
    int64_t choice = heads ? (dim == 0 ? 0 : 3 - static_cast<int64_t>(dim)) : random.pick(0, 4);
    if (choice >= 2) {
      free.push_back(size);
      continue;
    }
    (choice == 0 ? lhsBatch : lhsContract).push_back(dim);
    (choice == 0 ? rhsBatch : rhsContract).push_back(rhsShape.size());
    rhsShape.push_back(size);
    if (choice == 0)
      batch.push_back(size);
  }
  Shape result(batch);
  result.append(free);
  for (int64_t more = heads ? 1 : random.pick(0, 2); more > 0; --more) {
    rhsShape.push_back(pickSize());
    result.push_back(rhsShape.back());
  }
  if (product(result) > 1000 || product(rhsShape) > 1000 || result.size() > 5)
    return;
  Value rhs = make(rhsShape, real);
  if (random.chance(50))
    lhs = TanhOp::create(builder, lhs.getType(), lhs);
  auto type = RankedTensorType::get(result, real);
  Value product =
      DotOp::create(builder, type, getPart(lhs), getPart(rhs), lhsBatch, rhsBatch, lhsContract, rhsContract);
  // Written in another order, most often with batches between the rows.
  if (result.size() >= 3 && random.chance(50)) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, result.size()));
    std::swap(order[0], order[1]);
    std::swap(result[0], result[1]);
    product = TransposeOp::create(builder, type.clone(result), product, order);
  } else if (random.chance(30)) {
    product = transpose(product);
  }
  add(product);
}

void RandomNetwork::addReduce() {
  int64_t choice = random.pick(0, 9);
  Type element = choice < 6 ? real : choice < 8 ? i32 : i1;
  Value x = pick(element, 1);
  if (!x)
    return;
  SmallVector<int64_t> dims;
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(shapeOf(x))) {
    if (random.chance(50))
      dims.push_back(dim);
    else
      shape.push_back(size);
  }
  ReduceKind kind = element == i1 ? (random.chance(50) ? ReduceKind::And : ReduceKind::Or)
                                  : static_cast<ReduceKind>(random.pick(0, 3));
  if (kind == ReduceKind::Product && element == real)
    x = TanhOp::create(builder, x.getType(), x);
  if (kind == ReduceKind::Product && element == i32)
    kind = ReduceKind::Max;
  add(ReduceOp::create(builder, typeOf(x).clone(shape), kind, x, dims));
}

/// Rows less what they come to, or shares of it, once or twice: what softmax and layer norm are made of.
void RandomNetwork::addNormalization() {
  Value x = pick(real, 1);
  if (!x)
    return;
  Shape kept, reduced, reducedShape;
  // Most often the innermost dimensions are reduced.
  int64_t rank = typeOf(x).getRank(), from = random.pick(0, rank - 1);
  bool innermost = random.chance(75);
  for (auto [dim, size] : llvm::enumerate(shapeOf(x))) {
    bool reduces = innermost ? static_cast<int64_t>(dim) >= from : random.chance(50);
    (reduces ? reduced : kept).push_back(dim);
    if (!reduces)
      reducedShape.push_back(size);
  }
  auto type = typeOf(x).clone(reducedShape);
  for (int64_t rounds = random.pick(1, 2); rounds > 0; --rounds) {
    auto kind = random.chance(50) ? ReduceKind::Sum : ReduceKind::Max;
    Value whole = ReduceOp::create(builder, type, kind, random.chance(50) ? x : restrict(x, Domain::Small), reduced);
    if (random.chance(40))
      whole = apply("add", {whole, make(reducedShape, real)}, real);
    bool divides = random.chance(50);
    if (divides)
      whole = restrict(whole, Domain::Positive);
    // Now and then the reduction is needed elsewhere too.
    if (random.chance(30))
      add(whole);
    Value rows = BroadcastOp::create(builder, x.getType(), whole, kept);
    x = apply(divides ? "divide" : "subtract", {x, rows}, real);
    if (random.chance(50))
      x = restrict(x, random.chance(50) ? Domain::Small : Domain::Positive);
  }
  add(x);
}

/// Only integers: the place of the largest of sums depends on how they were rounded.
void RandomNetwork::addArgReduce() {
  Value x = pick(i32, 1);
  if (!x)
    return;
  int64_t dim = random.pick(0, typeOf(x).getRank() - 1);
  Shape shape(shapeOf(x));
  shape.erase(shape.begin() + dim);
  auto type = RankedTensorType::get(shape, i32);
  auto op = ArgReduceOp::create(builder, type, type, random.chance(50) ? ArgKind::Max : ArgKind::Min, x,
                                static_cast<uint64_t>(dim));
  add(op.getValue());
  add(op.getIndex());
}

/// Systems whose matrices have a large diagonal, so that solutions are no larger than right-hand sides.
void RandomNetwork::addMatrices() {
  Value rhs = pick(real, 2);
  if (!rhs)
    return;
  Shape shape(shapeOf(rhs));
  shape.back() = shape[shape.size() - 2];
  if (product(shape) > 600)
    return;
  int64_t rank = shape.size();
  Value noise = restrict(make(shape, real), Domain::Small);
  auto positions = RankedTensorType::get(shape, i32);
  Value row = IotaOp::create(builder, positions, static_cast<uint64_t>(rank - 2));
  Value column = IotaOp::create(builder, positions, static_cast<uint64_t>(rank - 1));
  Value isOn = CompareOp::create(builder, positions.clone(i1), CompareDirection::Eq, row, column, false);
  Value large = ConstantOp::create(builder, DenseElementsAttr::get(typeOf(noise), FloatAttr::get(real, 64.0)));
  Value lhs = SelectOp::create(builder, noise.getType(), isOn, large, noise);
  add(random.chance(30) ? CholeskyOp::create(builder, lhs.getType(), lhs).getResult()
                        : TriangularSolveOp::create(builder, rhs.getType(), lhs, rhs).getResult());
}
