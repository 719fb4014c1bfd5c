//===- RandomTensor.h - random values, and how far they differ --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMTENSOR_H
#define MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMTENSOR_H

#include "test/lib/Evaluate/Tensor.h"
#include "test/unit/Random.h"
#include <cmath>

namespace meshwright::test {

/// Small numbers of `type`; integers are not negative, and booleans 0 or 1.
inline evaluate::Tensor makeTensor(Random &random, mlir::Type type) {
  evaluate::Tensor tensor(llvm::cast<mlir::RankedTensorType>(type));
  mlir::Type element = tensor.type.getElementType();
  for (evaluate::Element &entry : tensor.data) {
    if (tensor.isFloat())
      entry.f = evaluate::roundTo(element, static_cast<double>(random.pick(-100, 100)) / 50);
    else
      entry.i = random.pick(0, element.isInteger(1) ? 1 : 8);
  }
  return tensor;
}

/// The same with special values among the floats of most tensors: NaN, infinities, zeros of both signs, denormals. The
/// others are quarters, which add up without rounding, so that a sum is not zero in one order and rounding in another.
inline evaluate::Tensor makeSpecialTensor(Random &random, mlir::Type type) {
  evaluate::Tensor tensor = makeTensor(random, type);
  if (!tensor.isFloat())
    return tensor;
  mlir::Type element = tensor.type.getElementType();
  llvm::APFloat number = llvm::APFloat::getSmallest(llvm::cast<mlir::FloatType>(element).getFloatSemantics());
  bool loses;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  double smallest = number.convertToDouble();
  const std::vector<double> special{NAN, INFINITY, INFINITY, -INFINITY, -INFINITY, 0, -0.0, smallest, -smallest};
  int percent = random.choose(std::vector<int>{0, 2, 10, 40});
  for (evaluate::Element &entry : tensor.data)
    entry.f = evaluate::roundTo(element, random.chance(percent) ? random.choose(special)
                                                                : static_cast<double>(random.pick(-8, 8)) / 4);
  return tensor;
}

/// The distance of `actual` from `expected`, relative to the larger of one and its largest element; elements that are
/// not finite have to be equal.
inline double getDistance(const evaluate::Tensor &actual, const evaluate::Tensor &expected) {
  double distance = 0, scale = 1;
  for (auto [a, b] : llvm::zip_equal(actual.data, expected.data)) {
    if (!actual.isFloat()) {
      distance = std::max(distance, a.i == b.i ? 0.0 : INFINITY);
    } else if (!std::isfinite(b.f)) {
      bool isSame = a.f == b.f || (std::isnan(a.f) && std::isnan(b.f));
      distance = std::max(distance, isSame ? 0.0 : INFINITY);
    } else {
      scale = std::max(scale, std::fabs(b.f));
      distance = std::max(distance, std::isnan(a.f) ? INFINITY : std::fabs(a.f - b.f));
    }
  }
  return distance / scale;
}

} // namespace meshwright::test

#endif
