//===- RandomNetworkElementwise.cpp - random operations element by element -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/RandomNetwork.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::test;

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
  if (special && isExact(x) && isExact(y) && random.chance(50))
    add(apply(choice.name, {x, y}, real));
  else
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
