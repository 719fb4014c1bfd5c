//===- Evaluate.cpp - a plain interpreter of serial networks --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Evaluate.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

FailureOr<Tensors> evaluate::evaluateOperation(Operation *op, ArrayRef<const Tensor *> operands) {
  if (std::optional<Tensor> result = evaluateElementwise(op, operands))
    return Tensors{std::move(*result)};
  if (std::optional<Tensor> result = evaluateLayout(op, operands))
    return Tensors{std::move(*result)};
  if (std::optional<Tensors> results = evaluateReduction(op, operands))
    return std::move(*results);
  if (std::optional<Tensor> result = evaluateIndexing(op, operands))
    return Tensors{std::move(*result)};
  if (std::optional<Tensor> result = evaluateOrder(op, operands))
    return Tensors{std::move(*result)};
  if (std::optional<Tensor> result = evaluateWindow(op, operands))
    return Tensors{std::move(*result)};
  return op->emitOpError() << "cannot be evaluated";
}

/// A tensor that repeats the value of a constant initializer.
static Tensor makeInitial(net::VariableOp variable, double value) {
  Tensor tensor(variable.getTensorType());
  for (Element &element : tensor.data) {
    if (tensor.isFloat())
      element.f = roundTo(tensor.type.getElementType(), value);
    else
      element.i = wrapTo(tensor.type.getElementType(), static_cast<int64_t>(value));
  }
  return tensor;
}

FailureOr<Program> Program::create(ModuleOp module) {
  Program program;
  for (auto variable : module.getOps<net::VariableOp>()) {
    auto init = variable.getInit();
    if (init && init->getKind() == net::InitializerKind::Constant)
      program.variables[variable.getSymName().str()] = makeInitial(variable, init->getA().getValueAsDouble());
  }
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!func.isPublic() || func.isExternal())
      continue;
    if (program.func)
      return func.emitError() << "is a second public function";
    program.func = func;
  }
  if (!program.func)
    return module.emitError() << "has no public function";
  return program;
}

FailureOr<Tensors> Program::run(ArrayRef<Tensor> inputs) {
  llvm::DenseMap<Value, Tensor> values;
  for (auto [argument, input] : llvm::zip_equal(func.getArguments(), inputs)) {
    if (argument.getType() != input.type)
      return func.emitError() << "takes " << argument.getType() << " but gets " << input.type;
    values[argument] = input;
  }
  std::map<std::string, Tensor> assigned;
  std::optional<Tensors> results;
  auto visit = [&](Operation *op, Iteration iteration) -> LogicalResult {
    SmallVector<const Tensor *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(&values.find(operand)->second);
    if (auto assign = dyn_cast<net::AssignOp>(op)) {
      assigned[assign.getVariable().str()] = *operands.front();
      return success();
    }
    if (isa<func::ReturnOp>(op)) {
      results.emplace();
      for (const Tensor *operand : operands)
        results->push_back(*operand);
      return success();
    }
    FailureOr<Tensors> computed = compute(op, operands, iteration, values);
    if (failed(computed))
      return failure();
    for (auto [value, tensor] : llvm::zip_equal(op->getResults(), *computed))
      values[value] = std::move(tensor);
    return success();
  };
  if (failed(forEachDone(func.getBody().front(), visit)))
    return failure();
  if (!results)
    return func.emitError() << "does not return";
  for (auto &[name, value] : assigned)
    variables[name] = std::move(value);
  return *results;
}

FailureOr<Tensors> Program::compute(Operation *op, ArrayRef<const Tensor *> operands, Iteration iteration,
                                    const llvm::DenseMap<Value, Tensor> &values) {
  if (auto read = dyn_cast<net::ReadOp>(op)) {
    auto found = variables.find(read.getVariable().str());
    if (found == variables.end() || found->second.type != read.getResult().getType())
      return read.emitOpError() << "finds no value of " << read.getResult().getType();
    return Tensors{found->second};
  }
  auto before = values.find(getBefore(op));
  if (std::optional<Tensor> result =
          evaluateLoop(op, operands, iteration, before == values.end() ? nullptr : &before->second))
    return Tensors{std::move(*result)};
  return evaluateOperation(op, operands);
}
