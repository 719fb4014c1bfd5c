//===- RuleCheck.cpp - checks placements by a sharding rule ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes are independent of each other, so each is checked alone: the first digit found on it names the factor that is
// split, and every other tensor has to be split along that factor, lack it, or, for results of a reduction, be partial.
// Linear in the numbers of axes and tensors.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/RuleCheck.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

namespace {

/// Checks one axis.
class AxisChecker {
public:
  AxisChecker(const ShardingRule &rule, const Mesh &mesh, Axis axis, ArrayRef<Placement> operands,
              ArrayRef<Placement> results, llvm::function_ref<InFlightDiagnostic()> emitError)
      : rule(rule), axis(axis), n(mesh.getSize(axis)), name(mesh.getName(axis)), operands(operands), results(results),
        emitError(emitError) {}

  FailureOr<AxisPlan> check();

private:
  FailureOr<AxisPlan> checkSplit(const FactorSplit &split);
  FailureOr<AxisPlan> checkPartial();
  FailureOr<AxisPlan> checkHolder(int64_t holder);
  LogicalResult checkTensor(const TensorRule &tensor, const Placement &placement, const FactorSplit &split,
                            bool partialIfAbsent, StringRef what, unsigned index);
  InFlightDiagnostic error() { return emitError() << "cannot run in parts over axis \"" << name << "\": "; }

  const ShardingRule &rule;
  Axis axis;
  int64_t n;
  StringRef name;
  ArrayRef<Placement> operands, results;
  llvm::function_ref<InFlightDiagnostic()> emitError;
};

} // namespace

LogicalResult AxisChecker::checkTensor(const TensorRule &tensor, const Placement &placement, const FactorSplit &split,
                                       bool partialIfAbsent, StringRef what, unsigned index) {
  const FactorInfo &info = rule.factors[split.factor];
  TensorSplit expected = toTensorSplit(tensor, split, n);
  auto actual = placement.findSplit(axis);
  switch (expected.kind) {
  case TensorSplit::Kind::Illegal:
    return error() << what << " #" << index << " cannot be split where the factor of size " << info.size << " is";
  case TensorSplit::Kind::Present:
    if (!actual || actual->first != expected.dim || actual->second.extent != expected.extent ||
        actual->second.stride != expected.stride)
      return error() << what << " #" << index << " is not split in dimension " << expected.dim << " into parts of "
                     << expected.stride << " of " << expected.extent << " indices as the factor of size " << info.size
                     << " is";
    if (!info.uneven && expected.extent != expected.stride * n)
      return error() << "the factor of size " << info.size << " does not divide by " << n << " in " << what << " #"
                     << index;
    return success();
  case TensorSplit::Kind::Absent:
    if (actual)
      return error() << what << " #" << index << " is split but has no part of the factor of size " << info.size;
    if (placement.isPartial(axis) != partialIfAbsent || (partialIfAbsent && placement.partialKind != info.reduction))
      return error() << what << " #" << index << " has to be "
                     << (partialIfAbsent ? "partial of kind " + stringifyReduceKind(info.reduction).str() : "whole");
    return success();
  }
  llvm_unreachable("all kinds are covered");
}

FailureOr<AxisPlan> AxisChecker::checkSplit(const FactorSplit &split) {
  const FactorInfo &info = rule.factors[split.factor];
  if (!info.splittable)
    return error() << "the factor of size " << info.size << " has to stay whole";
  if (!keepsParts(info, split, n))
    return error() << "the factor of size " << info.size << " is summed in " << info.getNumParts() << " parts of "
                   << info.getPartSize() << " but split into pieces of " << split.stride;
  for (auto [index, tensor, placement] : llvm::enumerate(rule.operands, operands))
    if (failed(
            checkTensor(tensor, placement, split, llvm::is_contained(info.partialOperands, index), "operand", index)))
      return failure();
  for (auto [index, tensor, placement] : llvm::enumerate(rule.results, results))
    if (failed(checkTensor(tensor, placement, split, /*partialIfAbsent=*/true, "result", index)))
      return failure();
  return AxisPlan{AxisPlan::Kind::SplitFactor, split.factor};
}

FailureOr<AxisPlan> AxisChecker::checkPartial() {
  SmallVector<unsigned, 4> partial;
  for (auto [index, placement] : llvm::enumerate(operands))
    if (placement.isPartial(axis))
      partial.push_back(index);
  if (partial.empty()) {
    for (auto [index, placement] : llvm::enumerate(results))
      if (placement.isPartial(axis))
        return error() << "result #" << index << " is partial but all operands are whole";
    return AxisPlan{};
  }
  ReduceKind kind = operands[partial.front()].partialKind;
  auto fits = [&](const PartialRule &candidate) {
    SmallVector<unsigned, 4> sorted = llvm::to_vector<4>(candidate.operands);
    llvm::sort(sorted);
    return candidate.kind == kind && sorted == partial;
  };
  if (llvm::none_of(rule.partials, fits))
    return error() << "operand #" << partial.front() << " is partial of kind " << stringifyReduceKind(kind)
                   << ", which does not pass through this operation";
  for (auto [index, placement] : llvm::enumerate(results))
    if (!placement.isPartial(axis) || placement.partialKind != kind)
      return error() << "result #" << index << " has to be partial of kind " << stringifyReduceKind(kind)
                     << " as operand #" << partial.front() << " is";
  return AxisPlan{AxisPlan::Kind::Partial};
}

/// Checks the case that one coordinate, `holder`, owns a value: it then has to own all operands and all results.
FailureOr<AxisPlan> AxisChecker::checkHolder(int64_t holder) {
  auto check = [&](ArrayRef<Placement> placements, StringRef what) -> LogicalResult {
    for (auto [index, placement] : llvm::enumerate(placements))
      if (placement.getHolder(axis) != holder)
        return error() << "coordinate " << holder << " holds some of its values but not, alone, " << what << " #"
                       << index;
    return success();
  };
  if (failed(check(operands, "operand")) || failed(check(results, "result")))
    return failure();
  return AxisPlan{};
}

FailureOr<AxisPlan> AxisChecker::check() {
  for (ArrayRef<Placement> placements : {results, operands})
    for (const Placement &placement : placements)
      if (std::optional<int64_t> holder = placement.getHolder(axis))
        return checkHolder(*holder);
  // The first digit found names the factor; all other tensors are compared with it.
  auto find = [&](ArrayRef<TensorRule> tensors, ArrayRef<Placement> placements,
                  StringRef what) -> FailureOr<std::optional<FactorSplit>> {
    for (auto [index, tensor, placement] : llvm::enumerate(tensors, placements)) {
      auto digit = placement.findSplit(axis);
      if (!digit)
        continue;
      std::optional<FactorSplit> split =
          toFactorSplit(tensor, digit->first, digit->second.extent, digit->second.stride, n);
      if (!split)
        return error() << what << " #" << index << " is split in dimension " << digit->first << " into parts of "
                       << digit->second.stride << " of " << digit->second.extent
                       << " indices, which are not parts of a factor";
      return split;
    }
    return std::optional<FactorSplit>();
  };
  FailureOr<std::optional<FactorSplit>> split = find(rule.operands, operands, "operand");
  if (succeeded(split) && !*split)
    split = find(rule.results, results, "result");
  if (failed(split))
    return failure();
  return *split ? checkSplit(**split) : checkPartial();
}

FailureOr<SmallVector<AxisPlan>> meshwright::dist::checkRule(const ShardingRule &rule, const Mesh &mesh,
                                                             ArrayRef<Placement> operands, ArrayRef<Placement> results,
                                                             llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (rule.operands.size() != operands.size() || rule.results.size() != results.size())
    return emitError() << "has a sharding rule for " << rule.operands.size() << " operands and " << rule.results.size()
                       << " results but " << operands.size() << " and " << results.size() << " placements";
  SmallVector<AxisPlan> plans(mesh.getNumAxes());
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis) {
    if (mesh.getSize(axis) == 1)
      continue;
    FailureOr<AxisPlan> plan = AxisChecker(rule, mesh, axis, operands, results, emitError).check();
    if (failed(plan))
      return failure();
    plans[axis] = *plan;
  }
  return plans;
}
