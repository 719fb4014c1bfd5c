//===- partition.cpp - a dialect of one's own, partitioned ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says how operations of another dialect are split, builds a network of them in memory, and prints what one rank
// computes:
//
//   partition strategy.textproto
//
//===----------------------------------------------------------------------===//

#include "Brick.h"
#include "dialects/Dist/Interfaces.h"
#include "meshwright/Pipeline/CompileModule.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;

static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

namespace {

/// [i, k], [j, k] → [i, j], reduction k: where k is split, the result is a sum that is still to be reduced.
struct LinearSharding : dist::ShardingOpInterface::ExternalModel<LinearSharding, brick::LinearOp> {
  dist::ShardingRule getShardingRule(Operation *op) const {
    ArrayRef<int64_t> x = shapeOf(op->getOperand(0)), w = shapeOf(op->getOperand(1));
    dist::ShardingRule rule = dist::ShardingRule::whole(op);
    dist::FactorUse i{rule.addFactor(x[0]), x[0]}, j{rule.addFactor(w[0]), w[0]}, k{rule.addFactor(x[1]), x[1]};
    rule.factors[k.factor].masks = true;
    rule.operands[0].dims = {{i}, {k}};
    rule.operands[1].dims = {{j}, {k}};
    rule.results[0].dims = {{i}, {j}};
    return rule;
  }
};

/// Every dimension may be split; the relu of a sum is not the sum of relus.
struct ReluSharding : dist::ShardingOpInterface::ExternalModel<ReluSharding, brick::ReluOp> {
  dist::ShardingRule getShardingRule(Operation *op) const {
    return dist::ShardingRule::elementwise(shapeOf(op->getResult(0)), 1);
  }
};

} // namespace

/// y = relu(x · upᵀ) · downᵀ.
static OwningOpRef<ModuleOp> build(MLIRContext &context) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  auto type = [&](int64_t rows, int64_t columns) {
    return RankedTensorType::get({rows, columns}, builder.getF32Type());
  };
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  auto step = func::FuncOp::create(builder, loc, "step",
                                   builder.getFunctionType({type(8, 10), type(12, 10), type(6, 12)}, {type(8, 6)}));
  for (auto [index, name] : llvm::enumerate(ArrayRef<const char *>{"x", "up", "down"}))
    step.setArgAttr(index, "net.name", builder.getStringAttr(name));
  step.setResultAttr(0, "net.name", builder.getStringAttr("y"));
  builder.setInsertionPointToStart(step.addEntryBlock());
  auto make = [&](StringRef name, ValueRange operands, Type result) {
    return builder.create(loc, builder.getStringAttr(name), operands, TypeRange(result))->getResult(0);
  };
  Value hidden = make("brick.linear", {step.getArgument(0), step.getArgument(1)}, type(8, 12));
  Value relu = make("brick.relu", hidden, type(8, 12));
  func::ReturnOp::create(builder, loc, make("brick.linear", {relu, step.getArgument(2)}, type(8, 6)));
  return module;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: partition strategy.textproto\n";
    return 2;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  registry.insert<brick::BrickDialect>();
  registry.addExtension(+[](MLIRContext *context, brick::BrickDialect *) {
    brick::LinearOp::attachInterface<LinearSharding>(*context);
    brick::ReluOp::attachInterface<ReluSharding>(*context);
  });
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto strategy = strategy::StrategyFile::read(argv[1], &context);
  if (failed(strategy) || failed(strategy->check(/*ranks=*/0, &context)))
    return 1;
  StageOptions options;
  // The network is of no exporter, and not to be trained; kernels are the framework's business.
  options.from = Stage::Annotate;
  options.to = Stage::Partition;
  FailureOr<Compiled> compiled = compile(*build(context), *strategy, options);
  if (failed(compiled))
    return 1;
  compiled->step->print(llvm::outs());
  llvm::outs() << "\n" << compiled->explanation;
  return 0;
}
