//===- RandomNetwork.cpp - random serial networks -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/RandomNetwork.h"
#include "dialects/Net/Loops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::test;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static ArrayRef<int64_t> shapeOf(Value value) { return typeOf(value).getShape(); }

static int64_t product(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

RandomNetwork::RandomNetwork(Random &random, MLIRContext &context, Type real)
    : random(random), builder(UnknownLoc::get(&context), &context), real(real ? real : builder.getF64Type()),
      i32(builder.getI32Type()), i1(builder.getI1Type()) {}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

RandomNetwork::Shape RandomNetwork::pickShape(int64_t maxRank) {
  Shape shape;
  for (int64_t rank = random.pick(0, maxRank); rank > 0; --rank)
    shape.push_back(pickSize());
  return shape;
}

Value RandomNetwork::add(Value value) {
  values.push_back(value);
  return value;
}

Value RandomNetwork::pick(Type element, int64_t minRank) {
  std::vector<Value> fitting;
  for (Value value : values)
    if (typeOf(value).getElementType() == element && typeOf(value).getRank() >= minRank)
      fitting.push_back(value);
  if (fitting.empty())
    return nullptr;
  // Chains, which kernels are made of, come from what was made last.
  int64_t first = random.chance(40) ? std::max<int64_t>(fitting.size() - 2, 0) : 0;
  return fitting[random.pick(first, fitting.size() - 1)];
}

Value RandomNetwork::makeDense(RankedTensorType type) {
  Type element = type.getElementType();
  SmallVector<Attribute> numbers;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    numbers.push_back(isa<FloatType>(element)
                          ? Attribute(builder.getFloatAttr(element, static_cast<double>(random.pick(-8, 8)) / 4))
                          : Attribute(builder.getIntegerAttr(element, random.pick(0, element.isInteger(1) ? 1 : 5))));
  if (!numbers.empty() && random.chance(40))
    numbers.assign(1, numbers.front());
  return ConstantOp::create(builder, type, DenseElementsAttr::get(type, numbers));
}

Value RandomNetwork::make(ArrayRef<int64_t> shape, Type element) {
  auto type = RankedTensorType::get(shape, element);
  std::vector<Value> same, sameCount;
  for (Value value : values) {
    if (value.getType() == type)
      same.push_back(value);
    else if (typeOf(value).getElementType() == element && typeOf(value).getNumElements() == product(shape))
      sameCount.push_back(value);
  }
  if (!same.empty() && random.chance(85))
    return random.choose(same);
  if (!sameCount.empty() && random.chance(70))
    return add(ReshapeOp::create(builder, type, random.choose(sameCount)));
  if (random.chance(40) && !shape.empty()) {
    // One line of it, repeated.
    int64_t dim = random.pick(0, shape.size() - 1);
    Value line = make({shape[dim]}, element);
    return add(BroadcastOp::create(builder, type, line, builder.getDenseI64ArrayAttr({dim})));
  }
  return add(makeDense(type));
}

Value RandomNetwork::pickLike(Value like) { return make(shapeOf(like), typeOf(like).getElementType()); }

Value RandomNetwork::makeIndices(ArrayRef<int64_t> shape, int64_t bound) {
  if (random.chance(40))
    return make(shape, i32);
  auto type = RankedTensorType::get(shape, i32);
  SmallVector<int32_t> numbers;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    numbers.push_back(static_cast<int32_t>(random.chance(90) ? random.pick(0, bound - 1) : random.pick(-3, bound + 3)));
  return add(ConstantOp::create(builder, type, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers))));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Value RandomNetwork::apply(StringRef name, ArrayRef<Value> operands, Type element) {
  OperationState state(builder.getLoc(), ("net." + name).str());
  state.addOperands(operands);
  state.addTypes(typeOf(operands[0]).clone(element));
  return builder.create(state)->getResult(0);
}

Value RandomNetwork::restrict(Value x, Domain domain) {
  switch (domain) {
  case Domain::Any:
    return x;
  case Domain::Small:
    return apply("tanh", x, real);
  case Domain::Positive:
    return apply("exponential", apply("tanh", x, real), real);
  case Domain::Exact:
    return apply("convert", make(shapeOf(x), i32), real);
  }
  llvm_unreachable("all domains are covered");
}

void RandomNetwork::addUnary() {
  struct Choice {
    const char *name;
    Domain domain;
  };
  static constexpr Choice kChoices[] = {{"abs", Domain::Any},
                                        {"asinh", Domain::Any},
                                        {"cbrt", Domain::Positive},
                                        {"ceil", Domain::Exact},
                                        {"cosh", Domain::Small},
                                        {"cosine", Domain::Any},
                                        {"erf", Domain::Any},
                                        {"erfc", Domain::Any},
                                        {"exponential", Domain::Small},
                                        {"exponential_minus_one", Domain::Small},
                                        {"floor", Domain::Exact},
                                        {"is_finite", Domain::Exact},
                                        {"lgamma", Domain::Positive},
                                        {"log", Domain::Positive},
                                        {"log_plus_one", Domain::Positive},
                                        {"logistic", Domain::Any},
                                        {"negate", Domain::Any},
                                        {"round_nearest_even", Domain::Exact},
                                        {"rsqrt", Domain::Positive},
                                        {"sign", Domain::Exact},
                                        {"sine", Domain::Any},
                                        {"sinh", Domain::Small},
                                        {"sqrt", Domain::Positive},
                                        {"tan", Domain::Small},
                                        {"tanh", Domain::Any}};
  const Choice &choice = kChoices[random.pick(0, std::size(kChoices) - 1)];
  Value x = pick(real);
  add(apply(choice.name, restrict(x, choice.domain), StringRef(choice.name) == "is_finite" ? i1 : real));
}

void RandomNetwork::addBinary() {
  struct Choice {
    const char *name;
    Domain left, right;
  };
  static constexpr Choice kFloats[] = {
      {"add", Domain::Any, Domain::Any},          {"add", Domain::Any, Domain::Any},
      {"subtract", Domain::Any, Domain::Any},     {"multiply", Domain::Small, Domain::Any},
      {"multiply", Domain::Any, Domain::Small},   {"divide", Domain::Any, Domain::Positive},
      {"maximum", Domain::Any, Domain::Any},      {"minimum", Domain::Any, Domain::Any},
      {"atan2", Domain::Any, Domain::Positive},   {"power", Domain::Positive, Domain::Small},
      {"remainder", Domain::Exact, Domain::Exact}};
  static constexpr const char *kIntegers[] = {"add",
                                              "subtract",
                                              "multiply",
                                              "divide",
                                              "remainder",
                                              "maximum",
                                              "minimum",
                                              "and",
                                              "or",
                                              "xor",
                                              "shift_left",
                                              "shift_right_logical",
                                              "shift_right_arithmetic"};
  if (random.chance(30)) {
    Value x = pick(i32);
    add(apply(kIntegers[random.pick(0, std::size(kIntegers) - 1)], {x, pickLike(x)}, i32));
    return;
  }
  const Choice &choice = kFloats[random.pick(0, std::size(kFloats) - 1)];
  Value x = pick(real), y = pickLike(x);
  // A square now and then, which no partial value passes.
  if (random.chance(10))
    y = x;
  add(apply(choice.name, {restrict(x, choice.left), restrict(y, choice.right)}, real));
}

/// Predicates come from integers, which are exact on every mesh.
void RandomNetwork::addChoice() {
  Value x = pick(random.chance(70) ? real : i32);
  auto shape = shapeOf(x);
  Value left = make(shape, i32), right = make(shape, i32);
  auto direction = static_cast<CompareDirection>(random.pick(0, 5));
  Value predicate = add(CompareOp::create(builder, RankedTensorType::get(shape, i1), direction, left, right, false));
  if (random.chance(30))
    predicate = add(NotOp::create(builder, predicate.getType(), predicate));
  if (random.chance(30))
    predicate = add(AndOp::create(builder, predicate.getType(), predicate, make(shape, i1)));
  add(SelectOp::create(builder, x.getType(), predicate, x, pickLike(x)));
}

void RandomNetwork::addConstant() {
  add(makeDense(RankedTensorType::get(pickShape(3), random.chance(60) ? real : i32)));
}

void RandomNetwork::addIota() {
  Shape shape = pickShape(2);
  shape.push_back(pickSize());
  add(IotaOp::create(builder, RankedTensorType::get(shape, random.chance(70) ? i32 : real),
                     builder.getI64IntegerAttr(random.pick(0, shape.size() - 1))));
}

/// Integers as their bits: those that the sign is shifted out of, and with another one put in.
void RandomNetwork::addBits() {
  Type bits = builder.getIntegerType(32, /*isSigned=*/false);
  Value x = pick(i32), y = apply("bitcast_convert", {x}, bits);
  y = apply("shift_left", {y, apply("bitcast_convert", {pickLike(x)}, bits)}, bits);
  add(apply("bitcast_convert", {y}, i32));
}

void RandomNetwork::addConvert() {
  if (random.chance(30))
    return addBits();
  Value x = pick(random.chance(70) ? i32 : i1);
  if (x)
    add(ConvertOp::create(builder, typeOf(x).clone(typeOf(x).getElementType() == i1 && random.chance(30) ? i32 : real),
                          x));
}

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
  using dist::ReduceKind;
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
    auto kind = random.chance(50) ? dist::ReduceKind::Sum : dist::ReduceKind::Max;
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

/// Some operations, done several times: from values that are handed on and elements of stacks, and from any that were
/// there before. A loop may hold another.
void RandomNetwork::addLoop() {
  if (depth == 0)
    return;
  int64_t count = random.pick(2, 4);
  SmallVector<Value> inits, stacks;
  for (int64_t more = random.pick(1, 2); more > 0; --more)
    if (Value init = pick(random.chance(80) ? real : i32))
      inits.push_back(init);
  for (int64_t more = random.pick(0, 2); more > 0; --more) {
    Shape shape{count};
    llvm::append_range(shape, pickShape(2));
    stacks.push_back(make(shape, random.chance(80) ? real : i32));
  }
  Value index = LoopOp::create(builder, count, random.chance(30)).getIndex();
  std::vector<Value> outside = values;
  --depth;
  add(index);
  SmallVector<Value> carried;
  for (Value init : inits)
    carried.push_back(add(CarryOp::create(builder, init, index)));
  for (Value stack : stacks)
    add(TakeOp::create(builder, typeOf(stack).clone(shapeOf(stack).drop_front()), stack, index));
  for (int64_t more = random.pick(1, 6); more > 0; --more)
    addOperation();
  ++depth;
  closeLoop(index, carried, count, std::move(outside));
}

/// Hands on, stacks and adds up values of the loop, and forgets the others.
void RandomNetwork::closeLoop(Value index, ArrayRef<Value> carried, int64_t count, std::vector<Value> outside) {
  for (Value value : carried) {
    Value next = pickLike(value);
    if (typeOf(next).getElementType() == real)
      next = restrict(next, Domain::Small);
    outside.push_back(NextOp::create(builder, next, value));
  }
  for (int64_t more = random.pick(0, 2); more > 0; --more) {
    Value value = random.choose(values);
    Shape shape{count};
    llvm::append_range(shape, shapeOf(value));
    outside.push_back(StackOp::create(builder, typeOf(value).clone(shape), value, index));
  }
  if (Value value = random.chance(50) ? pick(real) : Value())
    outside.push_back(TotalOp::create(builder, value, index));
  EndLoopOp::create(builder, index);
  values = std::move(outside);
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

void RandomNetwork::addOperation() {
  static constexpr void (RandomNetwork::*kAll[])() = {
      &RandomNetwork::addUnary,         &RandomNetwork::addBinary,        &RandomNetwork::addBinary,
      &RandomNetwork::addBinary,        &RandomNetwork::addChoice,        &RandomNetwork::addConstant,
      &RandomNetwork::addIota,          &RandomNetwork::addConvert,       &RandomNetwork::addBroadcast,
      &RandomNetwork::addReshape,       &RandomNetwork::addTranspose,     &RandomNetwork::addSlice,
      &RandomNetwork::addPad,           &RandomNetwork::addConcatenate,   &RandomNetwork::addDot,
      &RandomNetwork::addDot,           &RandomNetwork::addReduce,        &RandomNetwork::addReduce,
      &RandomNetwork::addArgReduce,     &RandomNetwork::addGather,        &RandomNetwork::addScatter,
      &RandomNetwork::addNormalization, &RandomNetwork::addNormalization, &RandomNetwork::addLoop,
      &RandomNetwork::addDynamic,       &RandomNetwork::addOrder,         &RandomNetwork::addMatrices,
      &RandomNetwork::addConvolution,   &RandomNetwork::addWindow};
  (this->*kAll[random.pick(0, std::size(kAll) - 1)])();
}

/// Old and new values meet at the same elements, or do not: rolled or transposed, the old value is still read where the
/// new one is written.
Value RandomNetwork::update(Value old) {
  auto type = typeOf(old);
  bool isReal = type.getElementType() == real;
  Value value = old;
  int64_t choice = random.pick(0, 9), rank = type.getRank();
  if (choice == 0 && rank >= 2 && type.getDimSize(0) == type.getDimSize(1)) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(order[0], order[1]);
    value = TransposeOp::create(builder, type, old, order);
  } else if (choice <= 2 && rank >= 1 && type.getDimSize(0) >= 2) {
    int64_t size = type.getDimSize(0), at = random.pick(1, size - 1);
    auto cut = [&](int64_t from, int64_t to) -> Value {
      SmallVector<int64_t> starts(rank, 0), limits(type.getShape()), steps(rank, 1);
      Shape shape(type.getShape());
      starts[0] = from;
      limits[0] = to;
      shape[0] = to - from;
      return SliceOp::create(builder, type.clone(shape), old, starts, limits, steps);
    };
    SmallVector<Value> parts{cut(at, size), cut(0, at)};
    value = ConcatenateOp::create(builder, type, parts, static_cast<uint64_t>(0));
  }
  for (int64_t more = random.pick(1, 3); more > 0; --more) {
    Value other = pickLike(old);
    if (isReal && random.chance(30))
      other = restrict(other, Domain::Small);
    value = apply(random.chance(50) ? "add" : "subtract", {value, other}, type.getElementType());
    if (isReal && random.chance(30))
      value = restrict(value, Domain::Small);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> RandomNetwork::build(int64_t numOps, bool withLoops) {
  values.clear();
  depth = withLoops ? 2 : 0;
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  std::vector<VariableOp> variables;
  for (int64_t index = random.pick(0, 3); index > 0; --index) {
    auto type = RankedTensorType::get(pickShape(3), random.chance(80) ? real : i32);
    variables.push_back(VariableOp::create(builder, VariableKind::Parameter, "w" + std::to_string(index), type,
                                           InitializerAttr(), FlatSymbolRefAttr()));
  }
  SmallVector<Type> inputs{RankedTensorType::get({pickSize(), pickSize()}, real),
                           RankedTensorType::get(pickShape(3), real), RankedTensorType::get({pickSize()}, i32)};
  auto func = func::FuncOp::create(builder, "step", builder.getFunctionType(inputs, {}));
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  llvm::append_range(values, block->getArguments());
  std::vector<Value> old;
  for (VariableOp variable : variables)
    old.push_back(add(ReadOp::create(builder, variable.getTensorType(), variable.getSymName())));
  // Some variables are read at a second place too.
  for (VariableOp variable : variables)
    if (random.chance(20))
      add(ReadOp::create(builder, variable.getTensorType(), variable.getSymName()));
  for (int64_t index = 0; index < numOps; ++index)
    addOperation();
  for (auto [variable, value] : llvm::zip(variables, old))
    if (random.chance(90))
      AssignOp::create(builder, variable.getSymName(), random.chance(60) ? update(value) : pickLike(value));
  // Everything that nobody uses is returned, so that nothing is computed in vain.
  SmallVector<Value> results;
  LoopNest loops = LoopNest::findBodies(*block);
  for (Operation &op : *block)
    for (Value result : op.getResults()) {
      LoopOp loop = loops.getLoop(&op);
      bool isSeen = !loop || (leavesLoop(&op) && !loops.getParent(loop));
      if (result.use_empty() && isSeen)
        results.push_back(result);
    }
  func::ReturnOp::create(builder, results);
  func.setFunctionType(builder.getFunctionType(inputs, ValueRange(results).getTypes()));
  return module;
}
