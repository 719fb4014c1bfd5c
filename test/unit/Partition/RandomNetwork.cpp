//===- RandomNetwork.cpp - random serial networks -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds random serial networks from all families of operations. Operands are brought into the domain of an operation
// first, so that results depend continuously on inputs and the rounding of another order of sums stays small.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/RandomNetwork.h"
#include "dialects/Net/Loops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::test;

int64_t RandomNetwork::product(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

RandomNetwork::RandomNetwork(Random &random, MLIRContext &context, Type real, bool special)
    : random(random), builder(UnknownLoc::get(&context), &context), real(real ? real : builder.getF64Type()),
      i32(builder.getI32Type()), i1(builder.getI1Type()), special(special) {}

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

Value RandomNetwork::apply(StringRef name, ArrayRef<Value> operands, Type element) {
  OperationState state(builder.getLoc(), ("net." + name).str());
  state.addOperands(operands);
  state.addTypes(typeOf(operands[0]).clone(element));
  return builder.create(state)->getResult(0);
}

bool RandomNetwork::isExact(Value value) {
  if (auto known = exact.find(value); known != exact.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  bool keepsBits = !op || op->hasTrait<OpTrait::Elementwise>() ||
                   isa<ConstantOp, IotaOp, BroadcastOp, ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatenateOp,
                       ReverseOp, DynamicSliceOp, GatherOp>(op) ||
                   (reduce && (reduce.getKind() == ReduceKind::Max || reduce.getKind() == ReduceKind::Min));
  bool isExactValue = keepsBits && (!op || llvm::all_of(op->getOperands(), [&](Value x) { return isExact(x); }));
  return exact[value] = isExactValue;
}

Value RandomNetwork::restrict(Value x, Domain domain) {
  if (special && domain == Domain::Positive && isExact(x) && random.chance(60))
    return x;
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

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

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
  // All unused values are returned, so that every operation matters.
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
