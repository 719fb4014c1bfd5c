//===- OperationCases.cpp - every operation in programs of its own --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"
#include "dialects/Dist/Interfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;

CaseShape CaseSource::shape(int64_t rank) {
  CaseShape shape;
  while (rank-- > 0)
    shape.push_back(size());
  return shape;
}

std::vector<int64_t> CaseSource::shuffle(int64_t count) {
  std::vector<int64_t> order;
  for (int64_t number = 0; number < count; ++number)
    order.insert(order.begin() + pick(0, number), number);
  return order;
}

const std::vector<CaseFamily> &test::getCaseFamilies() {
  static const std::vector<CaseFamily> all = [] {
    std::vector<CaseFamily> families;
    addElementwiseFamilies(families);
    addLayoutFamilies(families);
    addContractionFamilies(families);
    addReductionFamilies(families);
    addIndexingFamilies(families);
    addOrderFamilies(families);
    addWindowFamilies(families);
    return families;
  }();
  return all;
}

std::vector<std::string> test::findWithoutFamily(MLIRContext &context) {
  std::vector<std::string> missing;
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("net")) {
    bool isBesideOthers = llvm::is_contained(
        {"net.read", "net.assign", "dist.accumulate", "net.carry", "net.next", "net.take", "net.stack", "net.total"},
        name.getStringRef());
    if (name.hasInterface<dist::ShardingOpInterface>() && !isBesideOthers &&
        llvm::none_of(getCaseFamilies(),
                      [&](const CaseFamily &family) { return family.operation == name.getStringRef(); }))
      missing.push_back(name.getStringRef().str());
  }
  return missing;
}

std::string test::printType(const CaseShape &shape, StringRef element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element.str() + ">";
}

std::string test::printList(ArrayRef<int64_t> numbers) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(numbers, stream);
  stream << "]";
  return text;
}

OwningOpRef<ModuleOp> test::parseCase(const OperationCase &operationCase, MLIRContext &context) {
  std::string text = "func.func @step(";
  for (auto [index, operand] : llvm::enumerate(operationCase.operands))
    text += std::string(index ? ", " : "") + "%" + static_cast<char>('a' + index) + ": " +
            printType(operand.shape, operand.element);
  text += ") {\n  " + operationCase.constant + "\n  " + operationCase.text + "\n  return\n}\n";
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return module;
  Operation *op = getOperation(*module);
  auto func = cast<func::FuncOp>(op->getParentOp());
  func.front().getTerminator()->setOperands(op->getResults());
  func.setFunctionType(FunctionType::get(&context, func.getArgumentTypes(), op->getResultTypes()));
  return module;
}

Operation *test::getOperation(ModuleOp module) {
  auto func = *module.getOps<func::FuncOp>().begin();
  return func.front().getTerminator()->getPrevNode();
}

/// `count` numbers of an interval, at equal distances and in random order.
static std::vector<double> spread(int64_t count, double low, double high, Random &random) {
  std::vector<double> numbers;
  for (int64_t at = 0; at < count; ++at) {
    double value = low + (high - low) * (static_cast<double>(at) + 0.37) / static_cast<double>(count);
    double distance = 2 * value - std::nearbyint(2 * value);
    value = std::fabs(distance) < 0.02 ? value + 0.02 : value;
    numbers.insert(numbers.begin() + random.pick(0, at), value);
  }
  return numbers;
}

static evaluate::Tensor drawOperand(const CaseOperand &operand, RankedTensorType type, Random &random) {
  evaluate::Tensor tensor(type);
  std::vector<double> floats =
      tensor.isFloat() ? spread(tensor.size(), operand.low, operand.high, random) : std::vector<double>();
  for (auto [at, element] : llvm::enumerate(tensor.data)) {
    if (tensor.isFloat())
      element.f = evaluate::roundTo(type.getElementType(), floats[at]);
    else
      element.i = evaluate::wrapTo(type.getElementType(),
                                   random.pick(static_cast<int64_t>(operand.low), static_cast<int64_t>(operand.high)));
  }
  return tensor;
}

/// Moves the numbers of `tensor` until none is closer than 0.01 to another of its own or to one of `others`.
static void moveApart(evaluate::Tensor &tensor, ArrayRef<evaluate::Tensor> others) {
  auto isClose = [](const evaluate::Element &a, const evaluate::Element &b) {
    return &a != &b && std::fabs(a.f - b.f) < 0.01;
  };
  auto meets = [&](const evaluate::Element &element) {
    auto isMet = [&](const evaluate::Element &other) { return isClose(element, other); };
    return llvm::any_of(tensor.data, isMet) || llvm::any_of(others, [&](const evaluate::Tensor &other) {
             return other.isFloat() && llvm::any_of(other.data, isMet);
           });
  };
  for (evaluate::Element &element : tensor.data)
    for (int tries = 0; tries < 1000 && meets(element); ++tries)
      element.f += 0.017;
}

std::vector<evaluate::Tensor> test::drawOperands(const OperationCase &operationCase, ArrayRef<Type> types,
                                                 Random &random) {
  std::vector<evaluate::Tensor> tensors;
  for (auto [operand, type] : llvm::zip_equal(operationCase.operands, types)) {
    evaluate::Tensor tensor = drawOperand(operand, cast<RankedTensorType>(type), random);
    for (const evaluate::Tensor &other : tensors)
      if (other.type == tensor.type && tensor.isFloat())
        for (auto [element, counterpart] : llvm::zip_equal(tensor.data, other.data))
          element.f += std::fabs(element.f - counterpart.f) < 0.01 ? 0.03 : 0;
    if (operand.isApart)
      moveApart(tensor, tensors);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}
