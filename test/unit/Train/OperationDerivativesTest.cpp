//===- OperationDerivativesTest.cpp - no derivative untested --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes through the register of operations (test/lib/Operations): the derivative of each, for random shapes, attributes
// and numbers, is compared with differences of the operation itself. Sizes are 0 now and then, positions repeat and lie
// outside, one value is both operands, and operands have a second use. MESHWRIGHT_TEST_CASES says how many of each
// family there are (50 if it is not set), MESHWRIGHT_TEST_SEED which.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Interfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/lib/Operations/OperationCases.h"
#include "test/unit/Train/Differences.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;
using namespace meshwright::train;
using evaluate::Tensor;

static bool isReal(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

static std::string printElement(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << getElementTypeOrSelf(type);
  return text;
}

/// `dense<[…]>` with the integers of `tensor`, nested as its shape asks for.
static std::string printIntegers(const Tensor &tensor) {
  unsigned bits = getElementTypeOrSelf(tensor.type).getIntOrFloatBitWidth();
  SmallVector<APInt> numbers;
  for (evaluate::Element element : tensor.data)
    numbers.push_back(APInt(64, element.i, /*isSigned=*/true).trunc(bits));
  std::string text;
  llvm::raw_string_ostream(text) << DenseElementsAttr::get(tensor.type, numbers);
  return text;
}

static std::string replace(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// A case as a function of parameters of f64, which operands of floats are made of; other operands are constants.
static Function toFunction(const OperationCase &operationCase, ArrayRef<Tensor> values, OpResult result,
                           Random &random) {
  Function function;
  std::string text = operationCase.text;
  const CaseOperand *first = nullptr;
  for (auto [index, operand] : llvm::enumerate(operationCase.operands)) {
    std::string name = std::string("%") + static_cast<char>('a' + index);
    std::string type = test::printType(operand.shape, operand.element);
    // One value as both operands, where they are of one kind.
    bool isAlike = first && first->shape == operand.shape && first->low == operand.low && first->high == operand.high;
    if (!isReal(values[index].type)) {
      function.body += "  " + name + " = net.constant " + printIntegers(values[index]) + "\n";
    } else if (isAlike && index == 1 && random.chance(25)) {
      text = replace(replace(text, "%b ", "%a "), "%b,", "%a,");
    } else {
      function.body += "  " + name + " = net.convert %p" + std::to_string(function.shapes.size()) + " : " +
                       test::printType(operand.shape) + " -> " + type + "\n";
      function.shapes.push_back(operand.shape);
    }
    first = index == 0 ? &operand : first;
  }
  function.body += "  " + operationCase.constant + "\n";
  function.result = cast<RankedTensorType>(result.getType()).getShape();
  function.body += "  %o:" + std::to_string(result.getOwner()->getNumResults()) + " = " + text + "\n";
  function.body += "  %r = net.convert %o#" + std::to_string(result.getResultNumber()) + " : " +
                   test::printType(function.result, printElement(result.getType())) + " -> " +
                   test::printType(function.result) + "\n";
  return function;
}

/// Lets the first parameter have a second use: its sum is added to every element of the result.
static void addSecondUse(Function &function) {
  CaseShape all(function.shapes[0].size());
  std::iota(all.begin(), all.end(), 0);
  std::string type = test::printType(function.result);
  function.body += "  %sum = net.reduce sum %p0 dims = " + printList(all) + " : " +
                   test::printType(function.shapes[0]) + " -> tensor<f64>\n";
  function.body += "  %all = net.broadcast %sum dims = [] : tensor<f64> -> " + type + "\n";
  function.body += "  %twice = net.add %r, %all : " + type + "\n";
  function.resultName = "%twice";
}

static void setParameters(Differentiated &program, const Function &function, ArrayRef<Tensor> values) {
  unsigned next = 0;
  for (auto [index, value] : llvm::enumerate(values)) {
    std::string name = std::string("  %") + static_cast<char>('a' + index) + " = net.convert";
    if (StringRef(function.body).contains(name))
      program.parameter(next++).data = value.data;
  }
}

/// Checks a case; returns whether a gradient passed the operation.
static bool checkCase(const CaseFamily &family, Random &random, int64_t round) {
  CaseSource source(random, {1, 2, 2, 3, 3, 4, random.chance(15) ? 0 : 2});
  OperationCase drawn = family.draw(source);
  OwningOpRef<ModuleOp> module = parseCase(drawn, train::getContext());
  EXPECT_TRUE(module) << drawn.text;
  if (!module)
    return false;
  Operation *op = getOperation(*module);
  std::vector<OpResult> results;
  llvm::copy_if(op->getResults(), std::back_inserter(results),
                [](OpResult result) { return isReal(result.getType()); });
  if (results.empty() || llvm::none_of(op->getOperandTypes(), isReal) || !isa<net::DerivativeOpInterface>(op))
    return false;
  std::vector<Tensor> values = drawOperands(drawn, llvm::to_vector(op->getParentRegion()->getArgumentTypes()), random);
  Function function = toFunction(drawn, values, random.choose(results), random);
  if (random.chance(30))
    addSecondUse(function);
  ScopedDiagnosticHandler handler(&train::getContext(),
                                  [&](Diagnostic &) { return success(!family.isDifferentiable); });
  Differentiated program(function);
  bool isEmpty = llvm::any_of(function.shapes, [](const CaseShape &shape) { return llvm::is_contained(shape, 0); });
  EXPECT_TRUE(program.isValid() == family.isDifferentiable || (isEmpty && !family.isDifferentiable)) << function.body;
  if (!program.isValid())
    return false;
  setParameters(program, function, values);
  std::string what = family.operation + ", " + random.describe(round) + "\n" + function.body;
  // Rounding to f32 makes steps that are not small beside the distance of a difference.
  compareWithDifferences(program, random, what, StringRef(drawn.text).contains("f32") ? 1e-3 : 1e-8);
  return true;
}

TEST(OperationDerivatives, agreeWithDifferences) {
  const char *cases = std::getenv("MESHWRIGHT_TEST_CASES");
  int64_t rounds = cases ? std::atoll(cases) : 50;
  std::map<std::string, int64_t> checked;
  for (auto [index, family] : llvm::enumerate(getCaseFamilies())) {
    for (int64_t round = 0; round < rounds; ++round) {
      Random random(static_cast<uint64_t>(index) * 1000 + static_cast<uint64_t>(round));
      checked[family.operation] += checkCase(family, random, round);
      if (::testing::Test::HasFailure())
        return;
    }
  }
  // The floor: every operation that has a derivative.
  for (RegisteredOperationName name : train::getContext().getRegisteredOperations())
    if (name.hasInterface<net::DerivativeOpInterface>())
      EXPECT_GT(checked[name.getStringRef().str()], 0)
          << name.getStringRef().str() << " has a derivative but no case in test/lib/Operations that it passes";
}
