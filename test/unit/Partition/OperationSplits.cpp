//===- OperationSplits.cpp - all ways of splitting an operation -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerates the splits that a sharding rule allows: every factor by its whole range or by digits with a period, over
// several numbers of ranks, pairs of factors over two axes, and partial operands.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/OperationSplits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::test;

Mesh SplitPlan::makeMesh() const {
  std::vector<std::string> names{"x", "y"};
  names.resize(sizes.size());
  return Mesh(names, sizes);
}

std::string SplitPlan::describe() const {
  std::string text;
  for (auto [size, choice] : llvm::zip_equal(sizes, choices)) {
    text += (text.empty() ? "" : ", ") + std::to_string(size) + " ranks: ";
    if (choice.split)
      text +=
          llvm::formatv("factor {0} by {1} of {2}", choice.split->factor, choice.split->stride, choice.split->extent);
    else
      text += "partial operands " + std::to_string(choice.partial);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// The spans of a factor in the tensors that have it: more than one for slice, pad and concatenate.
static SmallVector<FactorUse> findUses(const ShardingRule &rule, unsigned factor) {
  SmallVector<FactorUse> uses;
  auto collect = [&](const TensorRule &tensor) {
    for (const auto &dim : tensor.dims)
      for (const FactorUse &use : dim)
        if (use.factor == factor && llvm::none_of(uses, [&](const FactorUse &other) {
              return other.size == use.size && other.offset == use.offset;
            }))
          uses.push_back(use);
  };
  llvm::for_each(rule.operands, collect);
  llvm::for_each(rule.results, collect);
  return uses;
}

/// A digit of `extent` indices over n coordinates, none of which is empty.
static std::optional<FactorSplit> makeDigit(unsigned factor, int64_t extent, int64_t n, bool isOpen) {
  int64_t stride = llvm::divideCeil(extent, n);
  if (extent <= stride * (n - 1))
    return std::nullopt;
  return FactorSplit{factor, extent, stride, isOpen};
}

/// The digits that split a factor over n coordinates: its whole line, and those that repeat.
static SmallVector<FactorSplit> findDigits(const ShardingRule &rule, unsigned factor, int64_t n) {
  SmallVector<FactorSplit> digits;
  auto add = [&](std::optional<FactorSplit> digit) {
    if (digit && !llvm::is_contained(digits, *digit))
      digits.push_back(*digit);
  };
  for (const FactorUse &use : findUses(rule, factor)) {
    add(makeDigit(factor, use.size, n, use.offset == 0));
    for (int64_t extent = 2; extent < use.size; ++extent)
      if (use.size % extent == 0)
        add(makeDigit(factor, extent, n, false));
  }
  return digits;
}

static SmallVector<unsigned> findSplittable(const ShardingRule &rule) {
  SmallVector<unsigned> factors;
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (factor.splittable && factor.size > 1)
      factors.push_back(index);
  return factors;
}

/// True if operands are drawn that are partial so. Sums by a tree belong to programs in which all sums have an order
/// (test/exec/reproducible.py).
static bool isDrawn(const PartialRule &partial) { return partial.kind != ReduceKind::Tree; }

/// Adds to `plans` the partial operands of each entry, alone and beside each factor.
static void addPartials(std::vector<SplitPlan> &plans, const ShardingRule &rule) {
  for (unsigned partial = 0; partial < rule.partials.size(); ++partial) {
    if (!isDrawn(rule.partials[partial]))
      continue;
    AxisChoice passed{std::nullopt, partial};
    plans.push_back({{2}, {passed}});
    plans.push_back({{3}, {passed}});
    for (unsigned factor : findSplittable(rule))
      for (const FactorSplit &digit : findDigits(rule, factor, 2))
        if (digit.open)
          plans.push_back({{2, 2}, {passed, {digit}}});
  }
}

std::vector<SplitPlan> test::enumeratePlans(const ShardingRule &rule) {
  std::vector<SplitPlan> plans;
  SmallVector<unsigned> factors = findSplittable(rule);
  auto first = [&](unsigned factor) { return findDigits(rule, factor, 2); };
  for (unsigned factor : factors) {
    for (int64_t n : {2, 3, 4})
      for (const FactorSplit &digit : findDigits(rule, factor, n))
        plans.push_back({{n}, {{digit}}});
    for (const FactorSplit &major : first(factor)) {
      if (std::optional<FactorSplit> minor = makeDigit(factor, major.stride, 2, false)) {
        plans.push_back({{2, 2}, {{major}, {*minor}}});
        plans.push_back({{2, 2}, {{*minor}, {major}}});
      }
    }
    for (unsigned other : factors)
      if (other != factor)
        for (const FactorSplit &left : first(factor))
          for (const FactorSplit &right : first(other))
            if (left.open && right.open)
              plans.push_back({{2, 2}, {{left}, {right}}});
  }
  addPartials(plans, rule);
  return plans;
}

std::vector<SplitPlan> test::enumerateSpecialPlans(const ShardingRule &rule) {
  std::vector<SplitPlan> plans;
  for (unsigned factor : findSplittable(rule))
    for (const FactorUse &use : findUses(rule, factor))
      for (int64_t n : {2, 3, 4})
        if (use.size > 0) {
          auto stride = static_cast<int64_t>(llvm::divideCeil(use.size, n));
          plans.push_back({{n}, {{FactorSplit{factor, use.size, stride, use.offset == 0}}}});
        }
  addPartials(plans, rule);
  return plans;
}

//===----------------------------------------------------------------------===//
// Coverage
//===----------------------------------------------------------------------===//

void SplitCoverage::expect(Operation *op, const ShardingRule &rule) {
  for (unsigned factor : findSplittable(rule))
    factors[describeRole(op, rule, factor)].mayBeUneven |= rule.factors[factor].uneven;
  for (const PartialRule &partial : rule.partials) {
    OperationPlacements placements(op, rule, Mesh({"x"}, {2}));
    if (isDrawn(partial) && placements.pass(0, partial))
      partials.try_emplace(describePartial(op, partial), 0);
  }
}

void SplitCoverage::count(Operation *op, const ShardingRule &rule, const SplitPlan &plan, bool isUneven) {
  bool isAlone = plan.choices.size() == 1;
  const std::optional<FactorSplit> &left = plan.choices.front().split, &right = plan.choices.back().split;
  bool isTwice = !isAlone && left && right && left->factor == right->factor;
  for (const AxisChoice &choice : plan.choices) {
    if (!choice.split) {
      ++partials[describePartial(op, rule.partials[choice.partial])];
      continue;
    }
    Count &count = factors[describeRole(op, rule, choice.split->factor)];
    ++(isTwice ? count.twice : !isAlone ? count.beside : isUneven ? count.uneven : count.even);
  }
}

std::vector<std::string> SplitCoverage::findMissing() const {
  std::vector<std::string> missing;
  for (auto &[name, count] : factors)
    if (count.even == 0 || count.twice == 0 || (count.mayBeUneven && count.uneven == 0))
      missing.push_back(name);
  for (auto &[name, count] : partials)
    if (count == 0)
      missing.push_back(name);
  return missing;
}

std::string SplitCoverage::print() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  const char *kRow = "{0,-40} {1,7} {2,7} {3,9} {4,7}\n";
  stream << llvm::formatv(kRow, "factor", "even", "uneven", "two axes", "beside");
  for (auto &[name, count] : factors)
    stream << llvm::formatv(kRow, name, count.even, count.mayBeUneven ? std::to_string(count.uneven) : "never",
                            count.twice, count.beside);
  stream << llvm::formatv("{0,-40} {1,7}\n", "partial operands", "passed");
  for (auto &[name, count] : partials)
    stream << llvm::formatv("{0,-40} {1,7}\n", name, count);
  return text;
}
