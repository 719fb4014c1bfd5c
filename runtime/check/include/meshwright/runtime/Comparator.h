//===- Comparator.h - when two values agree ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that says when a distributed value agrees with the serial one: ||a - b|| <= tolerance * max(||b||, s),
// in the Euclidean norm over the whole value, with b the serial one. The scale s keeps values that are zero in exact
// arithmetic, and pure rounding in any other, from failing: 1e-3 of the norm of all gradients for a gradient, the
// learning rate for a variable. Integers and booleans agree when they are equal.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_COMPARATOR_H
#define MESHWRIGHT_RUNTIME_COMPARATOR_H

#include "meshwright/runtime/Tensor.h"

namespace meshwright::runtime {

/// The relative tolerance where the arithmetic is that of `type`: 1e-11 in f64, 1e-4 in f32. In 16 bit the yardstick is
/// 8 times the distance between the serial program and itself with its sums in another order; 8 units in the last place
/// stand for it where it has not been measured.
double getTolerance(DType type);

/// The Euclidean norm of a value of floats.
double getNorm(const TensorView &value);

/// The distance of two values.
struct Comparison {
  /// ||a - b|| / max(||b||, s); for integers the number of elements that differ. Not a number where a or b has an
  /// element that is none and the other has not, infinite where they hold different infinities.
  double difference = 0;
  double tolerance = 0;
  bool agrees() const { return difference <= tolerance; }
};

/// Compares `a` with `b`, the reference; their types and shapes are equal. `arithmetic` is the narrowest float type of
/// the program that made them; the wider one of it and the value's own tolerance counts.
///
/// `noise` is how far the reference is from itself when its program starts from values that differ by one rounding, as
/// `difference` measures it. Some results are nothing but rounding, and grown: Adam divides a gradient that is zero in
/// exact arithmetic by its own size. 8 times the noise is tolerated where that is more.
///
/// Elements that are NaN in both agree, and so do equal infinities; whether a value should be so is not asked here.
/// With `isSkipped` any two elements agree that are not finite: of a step whose update both programs leave out, an
/// overflow is infinite or, where infinities of two signs were added, NaN, as the order of the additions has it.
Comparison compare(const TensorView &a, const TensorView &b, double scale, DType arithmetic, double noise = 0,
                   bool isSkipped = false);

/// Multiplies every element of a float value by 1 + u or 1 - u, by turns that follow no pattern, with u the distance of
/// 1 from the next number of `arithmetic` or of the value's own type, whichever is wider.
void perturb(DType type, std::span<std::byte> value, DType arithmetic);

} // namespace meshwright::runtime

#endif
