//===- RandomNetworkLoops.cpp - random loops ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Loops.h"
#include "test/unit/Partition/RandomNetwork.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::test;

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
