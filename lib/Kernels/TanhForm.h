//===- TanhForm.h - functions of polynomials and one tanh -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether arithmetic computes the tanh approximation of GELU is decided by what it is as a function, not by how it is
// written: sums, products and tanh of such functions are brought into one form, whose coefficients are unique.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_TANHFORM_H
#define MESHWRIGHT_LIB_KERNELS_TANHFORM_H

#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace meshwright::schedule {

/// The function plain(x) + factor(x) · tanh(inner(x)) of a number x, where all three are polynomials. Arithmetic is
/// exact but for the rounding of double; what leaves the form is nullopt.
class TanhForm {
public:
  static TanhForm constant(double value);
  static TanhForm variable();

  std::optional<TanhForm> operator+(const TanhForm &other) const;
  std::optional<TanhForm> operator*(const TanhForm &other) const;
  /// By a constant other than 0.
  std::optional<TanhForm> operator/(const TanhForm &other) const;
  /// To a power that is a constant and a small natural number.
  std::optional<TanhForm> power(const TanhForm &exponent) const;
  std::optional<TanhForm> tanh() const;
  TanhForm negate() const;

  /// True if it is x itself.
  bool isVariable() const;
  /// True if it is x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), with no coefficient off by more than `tolerance` times
  /// its size.
  bool isGelu(double tolerance) const;

private:
  /// The coefficient of x^i at i; the last one is not 0.
  using Polynomial = llvm::SmallVector<double, 4>;
  static std::optional<Polynomial> multiply(const Polynomial &a, const Polynomial &b);
  static Polynomial add(const Polynomial &a, const Polynomial &b);
  std::optional<double> getConstant() const;

  Polynomial plain, factor;
  /// The argument of the tanh; empty if `factor` is 0.
  Polynomial inner;
};

} // namespace meshwright::schedule

#endif
