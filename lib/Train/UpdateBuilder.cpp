//===- UpdateBuilder.cpp - state variables and scalars of updates ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of the optimizer are named `<rule>.<state>/<parameter>`, the key under which checkpoints and the strategy's
// globs find them. New variables and reads are appended after existing ones, which keeps their order deterministic.
//
//===----------------------------------------------------------------------===//

#include "GradientTransforms.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

UpdateBuilder::UpdateBuilder(RoleBuilder &builder, ModuleOp module, func::FuncOp func, FloatType scalarType)
    : builder(builder), scalarType(scalarType), func(func), symbols(module) {
  for (auto variable : module.getOps<net::VariableOp>())
    lastVariable = variable;
  for (auto read : func.getOps<net::ReadOp>())
    lastRead = read;
}

void UpdateBuilder::claimName(Location location, StringRef name) {
  Operation *other = symbols.lookup(name);
  if (other == func) {
    // Rename the function: no file refers to its name, but a variable's name is its key in checkpoints.
    symbols.remove(func);
    func.setSymName(("train_" + name).str());
    symbols.insert(func);
  } else if (other) {
    auto diagnostic = emitError(location) << "the optimizer needs a variable @" << name << ", which exists already";
    diagnostic.attachNote(other->getLoc()) << "it is here";
    failed = true;
  }
}

net::VariableOp UpdateBuilder::makeVariable(Location location, StringRef name, net::VariableKind kind,
                                            RankedTensorType type, double initial, FlatSymbolRefAttr like) {
  claimName(location, name);
  OpBuilder module(builder.getContext());
  module.setInsertionPointAfter(lastVariable);
  auto init = net::InitializerAttr::get(builder.getContext(), net::InitializerKind::Constant, initial);
  auto variable = net::VariableOp::create(module, location, kind, name, type, init, like);
  lastVariable = variable;
  return variable;
}

Value UpdateBuilder::read(net::VariableOp variable) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastRead);
  auto read = net::ReadOp::create(builder, variable.getLoc(), variable.getTensorType(), variable.getSymName());
  lastRead = read;
  return read;
}

static std::string stateName(StringRef prefix, net::VariableOp parameter) {
  return (prefix + "/" + parameter.getSymName()).str();
}

Value UpdateBuilder::readState(StringRef prefix, net::VariableOp parameter, double initial) {
  return readState(prefix, parameter, parameter.getTensorType().getShape(), initial);
}

Value UpdateBuilder::readState(StringRef prefix, net::VariableOp parameter, ArrayRef<int64_t> shape, double initial) {
  return read(makeVariable(parameter.getLoc(), stateName(prefix, parameter), net::VariableKind::OptimizerState,
                           parameter.getTensorType().clone(shape), initial,
                           FlatSymbolRefAttr::get(parameter.getSymNameAttr())));
}

Value UpdateBuilder::readBuffer(StringRef prefix, net::VariableOp parameter) {
  return read(makeVariable(parameter.getLoc(), stateName(prefix, parameter), net::VariableKind::Buffer,
                           parameter.getTensorType(), 0, FlatSymbolRefAttr::get(parameter.getSymNameAttr())));
}

void UpdateBuilder::assignState(StringRef prefix, net::VariableOp parameter, Value value) {
  net::AssignOp::create(builder, parameter.getLoc(), stateName(prefix, parameter), value);
}

Value UpdateBuilder::getCount() {
  if (count)
    return count;
  net::NetBuilder build = atStep();
  auto type = RankedTensorType::get({}, builder.getI32Type());
  net::VariableOp counter = makeVariable(build.location, "step", net::VariableKind::Counter, type, 0, {});
  Value steps = read(counter);
  net::AssignOp::create(builder, build.location, counter.getSymName(), build.add(steps, build.splat(type, 1)));
  return count = build.convert(steps, scalarType);
}

Value UpdateBuilder::broadcastLike(net::NetBuilder &build, Value scalar, Value like) {
  return build.broadcast(build.convert(scalar, net::elementTypeOf(like)), net::shapeOf(like));
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Value train::sumOfSquares(net::NetBuilder &build, Value x) {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(net::typeOf(x).getRank()));
  return build.reduce(ReduceKind::Sum, build.multiply(x, x), dims);
}

Value train::rootMeanSquare(net::NetBuilder &build, Value x) {
  auto size = static_cast<double>(net::typeOf(x).getNumElements());
  return build.unary<net::SqrtOp>(build.scale(sumOfSquares(build, x), 1 / size));
}

Value train::blend(net::NetBuilder &build, Value fresh, Value old, double decay) {
  return build.add(build.scale(fresh, 1 - decay), build.scale(old, decay));
}

Value train::biasCorrection(UpdateBuilder &step, double decay, int ahead) {
  net::NetBuilder build = step.atStep();
  Value updates = build.add(step.getCount(), build.splatLike(step.getCount(), 1 + ahead));
  return build.subtractFrom(1, build.binary<net::PowerOp>(build.splatLike(updates, decay), updates));
}

Value train::correctBias(net::NetBuilder &build, Value moment, Value correction) {
  return build.divide(moment, UpdateBuilder::broadcastLike(build, correction, moment));
}
