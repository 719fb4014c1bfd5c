//===- LinearFormTest.cpp - indices as linear forms -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/LinearForm.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// The value of `form` for loop variables `values`.
int64_t evaluate(const LinearForm &form, const Variables &variables, llvm::ArrayRef<int64_t> values) {
  int64_t sum = form.constant;
  for (auto [index, coefficient] : form.terms) {
    const Variables::Variable &variable = variables[index];
    int64_t value = 0;
    if (variable.kind == Variables::Loop) {
      value = values[index];
    } else {
      int64_t base = evaluate(variable.base, variables, values);
      int64_t quotient = base / variable.divisor - (base % variable.divisor < 0);
      value = variable.kind == Variables::Quotient ? quotient : base - quotient * variable.divisor;
    }
    sum += coefficient * value;
  }
  return sum;
}

llvm::SmallVector<int64_t> randomShape(test::Random &random, int64_t elements) {
  llvm::SmallVector<int64_t> shape;
  while (elements > 1 || shape.empty()) {
    llvm::SmallVector<int64_t> divisors;
    for (int64_t divisor = 1; divisor <= elements; ++divisor)
      if (elements % divisor == 0)
        divisors.push_back(divisor);
    shape.push_back(divisors[random.pick(0, divisors.size() - 1)]);
    elements /= shape.back();
  }
  return shape;
}

} // namespace

TEST(LinearForm, DividesWhatComesOutEven) {
  Variables variables;
  unsigned i = variables.add(Variables::Loop, 12), j = variables.add(Variables::Loop, 64);
  LinearForm form = LinearForm::variable(i) * 64 + LinearForm::variable(j);
  EXPECT_EQ(variables.floorDiv(form, 64), LinearForm::variable(i));
  EXPECT_EQ(variables.mod(form, 64), LinearForm::variable(j));
  EXPECT_EQ(variables.size(), 2u);
}

TEST(LinearForm, QuotientsAndRemaindersOfAReshapeMeetAgain) {
  Variables variables;
  unsigned i = variables.add(Variables::Loop, 1024), j = variables.add(Variables::Loop, 768);
  LinearForm indices[] = {LinearForm::variable(i), LinearForm::variable(j)};
  LinearForm position = variables.linearize(indices, {1024, 768});
  auto split = variables.delinearize(position, {8, 128, 12, 64});
  EXPECT_EQ(variables.linearize(split, {8, 128, 12, 64}), position);
}

TEST(LinearForm, RandomReshapesKeepPositions) {
  test::Random random;
  for (int round = 0; round < 200; ++round) {
    Variables variables;
    int64_t elements = 1 + random.pick(0, 72 - 1);
    llvm::SmallVector<int64_t> shape = randomShape(random, elements), values;
    llvm::SmallVector<LinearForm> indices;
    for (int64_t extent : shape) {
      indices.push_back(LinearForm::variable(variables.add(Variables::Loop, extent)));
      values.push_back(random.pick(0, extent - 1));
    }
    LinearForm position = variables.linearize(indices, shape);
    int64_t expected = evaluate(position, variables, values);
    for (int step = 0; step < 3; ++step) {
      llvm::SmallVector<int64_t> other = randomShape(random, elements);
      auto split = variables.delinearize(position, other);
      for (auto [index, extent] : llvm::zip(split, other)) {
        int64_t value = evaluate(index, variables, values);
        ASSERT_GE(value, 0);
        ASSERT_LT(value, extent);
      }
      position = variables.linearize(split, other);
      ASSERT_EQ(evaluate(position, variables, values), expected) << "round " << round;
    }
  }
}
