//===- Loop.cpp - sharding rules of a loop's inputs and results -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iterations follow each other on every rank: the dimension of a stack that counts them is never split. Complete keeps
// a carried value in one placement over all iterations; no rule of a single operation states it.
//
//===----------------------------------------------------------------------===//

#include "Sharding.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

/// A value of `shape` per iteration; the index that is read beside it is a scalar.
static ShardingRule perIteration(ArrayRef<int64_t> shape) {
  ShardingRule rule = ShardingRule::elementwise(shape, 1);
  rule.operands.emplace_back();
  return rule;
}

/// Gives `stack` the factors of `element` for each of `count` iterations.
static void addIterations(ShardingRule &rule, TensorRule &stack, int64_t count) {
  unsigned iterations = rule.addFactor(count);
  rule.factors[iterations].splittable = false;
  stack.dims.insert(stack.dims.begin(), SmallVector<FactorUse, 1>{FactorUse{iterations, count}});
}

namespace {

struct CarrySharding : ShardingOpInterface::ExternalModel<CarrySharding, CarryOp> {
  ShardingRule getShardingRule(Operation *op) const { return perIteration(sharding::shapeOf(op->getResult(0))); }
};

struct NextSharding : ShardingOpInterface::ExternalModel<NextSharding, NextOp> {
  ShardingRule getShardingRule(Operation *op) const {
    return ShardingRule::elementwise(sharding::shapeOf(op->getResult(0)), 2);
  }
};

struct TakeSharding : ShardingOpInterface::ExternalModel<TakeSharding, TakeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = perIteration(sharding::shapeOf(op->getResult(0)));
    addIterations(rule, rule.operands[0], sharding::shapeOf(op->getOperand(0)).front());
    return rule;
  }
};

struct StackSharding : ShardingOpInterface::ExternalModel<StackSharding, StackOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = perIteration(sharding::shapeOf(op->getOperand(0)));
    addIterations(rule, rule.results[0], sharding::shapeOf(op->getResult(0)).front());
    sharding::passEveryReduction(rule, {0});
    return rule;
  }
};

struct TotalSharding : ShardingOpInterface::ExternalModel<TotalSharding, TotalOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = perIteration(sharding::shapeOf(op->getResult(0)));
    rule.partials.push_back({ReduceKind::Sum, {0}});
    sharding::fixOrder(rule, op);
    return rule;
  }
};

} // namespace

void sharding::registerLoop(MLIRContext *context) {
  CarryOp::attachInterface<CarrySharding>(*context);
  NextOp::attachInterface<NextSharding>(*context);
  TakeOp::attachInterface<TakeSharding>(*context);
  StackOp::attachInterface<StackSharding>(*context);
  TotalOp::attachInterface<TotalSharding>(*context);
}
