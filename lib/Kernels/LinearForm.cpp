//===- LinearForm.cpp - indices as linear forms of loop variables ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quotients and remainders are interned, so that equal ones are one variable and `q · d + r` can be recognized as the
// form that was divided.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/LinearForm.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace meshwright::schedule;

int64_t LinearForm::getCoefficient(unsigned variable) const {
  for (auto [index, coefficient] : terms)
    if (index == variable)
      return coefficient;
  return 0;
}

LinearForm LinearForm::operator+(const LinearForm &other) const {
  LinearForm sum(constant + other.constant);
  const auto *left = terms.begin(), *right = other.terms.begin();
  while (left != terms.end() || right != other.terms.end()) {
    if (right == other.terms.end() || (left != terms.end() && left->first < right->first)) {
      sum.terms.push_back(*left++);
      continue;
    }
    if (left == terms.end() || right->first < left->first) {
      sum.terms.push_back(*right++);
      continue;
    }
    if (int64_t coefficient = left->second + right->second)
      sum.terms.push_back({left->first, coefficient});
    ++left, ++right;
  }
  return sum;
}

LinearForm LinearForm::operator*(int64_t factor) const {
  LinearForm product(constant * factor);
  if (factor != 0)
    for (auto [index, coefficient] : terms)
      product.terms.push_back({index, coefficient * factor});
  return product;
}

unsigned Variables::add(Kind kind, int64_t extent) {
  variables.push_back({kind, extent, LinearForm(), 1});
  return variables.size() - 1;
}

unsigned Variables::intern(Kind kind, const LinearForm &base, int64_t divisor, int64_t extent) {
  for (auto [index, variable] : llvm::enumerate(variables))
    if (variable.kind == kind && variable.divisor == divisor && variable.base == base)
      return index;
  variables.push_back({kind, extent, base, divisor});
  return variables.size() - 1;
}

void Variables::join(unsigned outer, unsigned inner) {
  variables[inner].extent *= variables[outer].extent;
  for (Variable &variable : variables)
    llvm::erase_if(variable.base.terms, [&](const auto &term) { return term.first == outer; });
}

bool Variables::isOfLoops(const LinearForm &form) const {
  return llvm::all_of(form.terms, [&](const auto &term) { return variables[term.first].kind == Loop; });
}

bool Variables::isAlong(unsigned variable, unsigned loop) const {
  const Variable &known = variables[variable];
  if (known.kind == Loop || known.kind == Computed)
    return variable == loop || known.kind == Computed;
  return llvm::any_of(known.base.terms, [&](const auto &term) { return isAlong(term.first, loop); });
}

std::optional<std::pair<int64_t, int64_t>> Variables::getRange(const LinearForm &form, const Ranges &narrowed) const {
  int64_t least = form.constant, greatest = form.constant;
  for (auto [index, coefficient] : form.terms) {
    auto range = narrowed.find(index);
    auto [from, to] = range == narrowed.end() ? std::pair(int64_t(0), variables[index].extent) : range->second;
    if (to <= from)
      return std::nullopt;
    least += coefficient * (coefficient > 0 ? from : to - 1);
    greatest += coefficient * (coefficient > 0 ? to - 1 : from);
  }
  return std::make_pair(least, greatest);
}

/// Splits `form` into a multiple of `divisor` and the rest.
static std::pair<LinearForm, LinearForm> split(const LinearForm &form, int64_t divisor) {
  int64_t quotient = llvm::divideFloorSigned(form.constant, divisor);
  LinearForm multiple(quotient), rest(form.constant - quotient * divisor);
  for (auto [index, coefficient] : form.terms) {
    if (coefficient % divisor == 0)
      multiple.terms.push_back({index, coefficient / divisor});
    else
      rest.terms.push_back({index, coefficient});
  }
  return {multiple, rest};
}

/// A factor g of `divisor`, greater than 1, such that `form` is a multiple of g and a rest between 0 and g: what
/// divides by `divisor` divides the multiple of g alone. Reshapes make such forms of the position in the row and that
/// in it. 1 where there is none.
int64_t Variables::findGrain(const LinearForm &form, int64_t divisor) const {
  for (auto [index, coefficient] : form.terms) {
    int64_t grain = std::gcd(coefficient, divisor);
    if (grain == 1)
      continue;
    auto range = getRange(split(form, grain).second);
    if (range && range->first >= 0 && range->second < grain)
      return grain;
  }
  return 1;
}

LinearForm Variables::floorDiv(const LinearForm &form, int64_t divisor) {
  if (divisor == 1)
    return form;
  auto [multiple, rest] = split(form, divisor);
  auto range = getRange(rest);
  if (range && range->first >= 0 && range->second < divisor)
    return multiple;
  if (int64_t grain = findGrain(rest, divisor); grain > 1)
    return multiple + floorDiv(split(rest, grain).first, divisor / grain);
  int64_t extent = range && range->first >= 0 ? range->second / divisor + 1 : -1;
  // A quotient of a quotient is one by the product.
  if (rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].second == 1) {
    const Variable inner = variables[rest.terms[0].first];
    if (inner.kind == Quotient)
      return multiple + LinearForm::variable(intern(Quotient, inner.base, inner.divisor * divisor, extent));
  }
  return multiple + LinearForm::variable(intern(Quotient, rest, divisor, extent));
}

LinearForm Variables::mod(const LinearForm &form, int64_t divisor) {
  if (divisor == 1)
    return 0;
  LinearForm rest = split(form, divisor).second;
  auto range = getRange(rest);
  if (range && range->first >= 0 && range->second < divisor)
    return rest;
  if (int64_t grain = findGrain(rest, divisor); grain > 1) {
    auto [multiple, part] = split(rest, grain);
    return mod(multiple, divisor / grain) * grain + part;
  }
  return LinearForm::variable(intern(Remainder, rest, divisor, divisor));
}

LinearForm Variables::evaluate(AffineExpr expr, ArrayRef<LinearForm> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  LinearForm lhs = evaluate(binary.getLHS(), dims);
  if (expr.getKind() == AffineExprKind::Add)
    return lhs + evaluate(binary.getRHS(), dims);
  int64_t rhs = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::Mod:
    return mod(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return floorDiv(lhs + (rhs - 1), rhs);
  default:
    return floorDiv(lhs, rhs);
  }
}

/// c·(b mod d) + c·d·⌊b/d⌋ is c·b.
LinearForm Variables::simplify(LinearForm form) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [index, coefficient] : decltype(form.terms)(form.terms)) {
      const Variable variable = variables[index];
      if (variable.kind != Remainder)
        continue;
      LinearForm quotient = floorDiv(variable.base, variable.divisor);
      LinearForm joined = form + LinearForm::variable(index) * -coefficient +
                          quotient * (-coefficient * variable.divisor) + variable.base * coefficient;
      if (joined.terms.size() >= form.terms.size())
        continue;
      form = joined;
      changed = true;
      break;
    }
  }
  return form;
}

LinearForm Variables::linearize(ArrayRef<LinearForm> indices, ArrayRef<int64_t> shape) {
  LinearForm position;
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    position = position + indices[dim] * stride;
    stride *= shape[dim];
  }
  return simplify(position);
}

SmallVector<LinearForm> Variables::delinearize(const LinearForm &position, ArrayRef<int64_t> shape) {
  SmallVector<LinearForm> indices(shape.size());
  LinearForm rest = position;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (dim == 0) {
      indices[0] = rest;
      break;
    }
    int64_t size = std::max<int64_t>(shape[dim], 1);
    indices[dim] = mod(rest, size);
    rest = floorDiv(rest, size);
  }
  return indices;
}
