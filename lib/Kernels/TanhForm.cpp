//===- TanhForm.cpp - functions of polynomials and one tanh ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TanhForm.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace meshwright::schedule;

/// Polynomials of a higher degree are no matter of GELU.
static constexpr size_t kMostTerms = 8;

TanhForm TanhForm::constant(double value) {
  TanhForm form;
  if (value != 0)
    form.plain = {value};
  return form;
}

TanhForm TanhForm::variable() {
  TanhForm form;
  form.plain = {0, 1};
  return form;
}

TanhForm::Polynomial TanhForm::add(const Polynomial &a, const Polynomial &b) {
  Polynomial sum(std::max(a.size(), b.size()), 0);
  for (auto [index, coefficient] : llvm::enumerate(a))
    sum[index] += coefficient;
  for (auto [index, coefficient] : llvm::enumerate(b))
    sum[index] += coefficient;
  while (!sum.empty() && sum.back() == 0)
    sum.pop_back();
  return sum;
}

std::optional<TanhForm::Polynomial> TanhForm::multiply(const Polynomial &a, const Polynomial &b) {
  if (a.empty() || b.empty())
    return Polynomial();
  if (a.size() + b.size() - 1 > kMostTerms)
    return std::nullopt;
  Polynomial product(a.size() + b.size() - 1, 0);
  for (auto [i, left] : llvm::enumerate(a))
    for (auto [j, right] : llvm::enumerate(b))
      product[i + j] += left * right;
  return product;
}

std::optional<double> TanhForm::getConstant() const {
  if (!factor.empty() || plain.size() > 1)
    return std::nullopt;
  return plain.empty() ? 0 : plain.front();
}

std::optional<TanhForm> TanhForm::operator+(const TanhForm &other) const {
  if (!factor.empty() && !other.factor.empty() && inner != other.inner)
    return std::nullopt;
  TanhForm sum;
  sum.plain = add(plain, other.plain);
  sum.factor = add(factor, other.factor);
  if (!sum.factor.empty())
    sum.inner = factor.empty() ? other.inner : inner;
  return sum;
}

std::optional<TanhForm> TanhForm::operator*(const TanhForm &other) const {
  if (!factor.empty() && !other.factor.empty())
    return std::nullopt;
  const TanhForm &bent = factor.empty() ? other : *this, &straight = factor.empty() ? *this : other;
  std::optional<Polynomial> newPlain = multiply(bent.plain, straight.plain),
                            newFactor = multiply(bent.factor, straight.plain);
  if (!newPlain || !newFactor)
    return std::nullopt;
  TanhForm product;
  product.plain = *newPlain;
  product.factor = *newFactor;
  if (!product.factor.empty())
    product.inner = bent.inner;
  return product;
}

std::optional<TanhForm> TanhForm::operator/(const TanhForm &other) const {
  std::optional<double> divisor = other.getConstant();
  if (!divisor || *divisor == 0)
    return std::nullopt;
  return *this * constant(1 / *divisor);
}

std::optional<TanhForm> TanhForm::power(const TanhForm &exponent) const {
  std::optional<double> times = exponent.getConstant();
  if (!times || *times < 0 || *times >= kMostTerms || *times != std::floor(*times))
    return std::nullopt;
  std::optional<TanhForm> product = constant(1);
  for (int i = 0; product && i < *times; ++i)
    product = *product * *this;
  return product;
}

std::optional<TanhForm> TanhForm::tanh() const {
  if (!factor.empty())
    return std::nullopt;
  TanhForm form;
  // tanh(0) is 0.
  if (plain.empty())
    return form;
  form.factor = {1};
  form.inner = plain;
  return form;
}

TanhForm TanhForm::negate() const { return *(*this * constant(-1)); }

bool TanhForm::isVariable() const { return factor.empty() && plain.size() == 2 && plain[0] == 0 && plain[1] == 1; }

bool TanhForm::isGelu(double tolerance) const {
  const double slope = std::sqrt(2 / std::acos(-1.0));
  auto isNear = [&](const Polynomial &found, const Polynomial &wanted) {
    return llvm::equal(found, wanted, [&](double a, double b) { return std::abs(a - b) <= tolerance * std::abs(b); });
  };
  return isNear(plain, {0, 0.5}) && isNear(factor, {0, 0.5}) && isNear(inner, {0, slope, 0, slope * 0.044715});
}
