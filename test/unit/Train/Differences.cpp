//===- Differences.cpp - gradients beside differences ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Train/Differences.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace meshwright;
using namespace meshwright::train;
using evaluate::Tensor;

/// A number between -1 and 1.
static double drawNumber(test::Random &random) { return static_cast<double>(random.pick(-1000000, 1000000)) / 1e6; }

/// The derivative of the loss along `direction` in one parameter, by differences that are exact to the fourth order.
static double differentiateByDifferences(Differentiated &program, unsigned index,
                                         const std::vector<double> &direction) {
  constexpr double kStep = 1e-3;
  auto at = [&](double distance) {
    Tensor saved = program.parameter(index);
    for (size_t element = 0; element < direction.size(); ++element)
      program.parameter(index).data[element].f += distance * direction[element];
    double loss = program.loss();
    program.parameter(index) = saved;
    return loss;
  };
  return (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12 * kStep);
}

void train::compareWithDifferences(Differentiated &program, test::Random &random, const std::string &what,
                                   double tolerance) {
  for (evaluate::Element &weight : program.weights.data)
    weight.f = drawNumber(random);
  for (unsigned index = 0; index < program.getNumParameters(); ++index) {
    Tensor gradient = program.gradient(index);
    // Nothing to move; and the largest of no elements is infinite.
    if (gradient.data.empty())
      continue;
    for (int attempt = 0; attempt < 3; ++attempt) {
      std::vector<double> direction;
      double expected = 0, size = 1;
      for (evaluate::Element element : gradient.data) {
        direction.push_back(drawNumber(random));
        expected += element.f * direction.back();
        size += std::abs(element.f * direction.back());
      }
      double found = differentiateByDifferences(program, index, direction);
      EXPECT_NEAR(expected, found, tolerance * size) << "parameter " << index << " of " << what;
    }
  }
}
