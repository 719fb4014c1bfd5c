//===- RandomBatch.cpp - random networks that have a batch ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/RandomBatch.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Net/NetBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

void test::addGain(ModuleOp module) {
  auto func = *module.getOps<func::FuncOp>().begin();
  auto type = RankedTensorType::get({}, Float64Type::get(module.getContext()));
  OpBuilder builder(func);
  net::VariableOp::create(builder, func.getLoc(), net::VariableKind::Parameter, "gain", type, net::InitializerAttr(),
                          FlatSymbolRefAttr());
  builder.setInsertionPointToStart(&func.getBody().front());
  Value gain = net::ReadOp::create(builder, func.getLoc(), type, "gain").getResult();
  net::NetBuilder build(builder, func.getLoc());
  for (BlockArgument argument : func.getArguments()) {
    if (net::elementTypeOf(argument) != type.getElementType())
      continue;
    Value scaled = build.multiply(argument, build.broadcast(gain, net::shapeOf(argument)));
    argument.replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  }
}

void test::addSums(Random &random, ModuleOp module) {
  auto func = *module.getOps<func::FuncOp>().begin();
  Operation *end = func.getBody().front().getTerminator();
  std::vector<Value> values;
  for (Operation &op : func.getBody().front())
    for (Value result : op.getResults())
      if (net::elementTypeOf(result).isF64() && net::typeOf(result).getRank() > 0)
        values.push_back(result);
  OpBuilder builder(end);
  net::NetBuilder build(builder, func.getLoc());
  SmallVector<Value> results(end->getOperands());
  Value last;
  for (int64_t count = values.empty() ? 0 : random.pick(1, 3); count > 0; --count) {
    Value value = random.choose(values);
    SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < net::typeOf(value).getRank(); ++dim)
      if (random.chance(60))
        dims.push_back(dim);
    Value sum = build.reduce(ReduceKind::Sum, value, dims);
    if (last && last.getType() == sum.getType())
      sum = build.add(sum, last);
    last = sum;
    if (random.chance(30))
      sum = build.unary<net::TanhOp>(sum);
    if (random.chance(15) && net::typeOf(sum).getRank() == 0)
      sum = build.multiply(value, build.broadcast(sum, net::shapeOf(value)));
    results.push_back(sum);
  }
  end->setOperands(results);
  func.setFunctionType(builder.getFunctionType(func.getArgumentTypes(), TypeRange(ValueRange(results))));
}

bool test::cutInputs(Random &random, ModuleOp module, const Mesh &mesh, ArrayRef<Axis> axes) {
  int64_t parts = mesh.getGroupSize(axes);
  auto func = *module.getOps<func::FuncOp>().begin();
  bool any = false;
  for (BlockArgument argument : func.getArguments()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(argument.getType()).getShape();
    SmallVector<unsigned> fitting;
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      if (shape[dim] % parts == 0)
        fitting.push_back(dim);
    if (fitting.empty() || (any && random.chance(50)))
      continue;
    Placement placement = Placement::replicated(shape.size());
    unsigned dim = fitting[random.pick(0, fitting.size() - 1)];
    int64_t extent = shape[dim];
    for (Axis axis : axes) {
      int64_t stride = extent / mesh.getSize(axis);
      placement.dims[dim].push_back({axis, extent, stride});
      extent = stride;
    }
    setMapping(argument, normalize(placement, mesh).toAttr(module.getContext(), mesh, shape));
    any = true;
  }
  return any;
}
