//===- ConvolutionSet.cpp - the convolutions of a program ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans the blocks of each distinct problem once: the rows and columns of a block of patches, the products over it,
// and the scratch memory that all convolutions of a rank share. Convolutions with many small groups are computed by a
// direct loop over the groups, where products would be too small for the library.
//
//===----------------------------------------------------------------------===//

#include "ConvolutionSet.h"
#include "PatchBlocks.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

/// A block of patches has at most so many elements, which fit the second-level cache, so many columns, and rows within
/// these bounds.
static constexpr int64_t blockElements = 1 << 17, maxBlockDepth = 2048, minBlockRows = 64, maxBlockRows = 1024;
/// So many groups, with fewer products of a channel and a feature each, are computed beside each other.
static constexpr int64_t minGroups = 8, minGroupProducts = 32;

static uint64_t align(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// The columns of a block: whole runs of neighbours, where they fit.
static int64_t chooseDepth(const ConvolutionProblem &problem) {
  int64_t depth = problem.getDepth(), run = canJoin(problem.depth) ? problem.depth.back().extent : 1;
  if (depth <= maxBlockDepth)
    return depth;
  return run <= maxBlockDepth ? maxBlockDepth / run * run : maxBlockDepth;
}

Result<uint32_t> ConvolutionSet::prepareProduct(const Plan &plan, int64_t rows, int64_t depth,
                                                const std::string &name) {
  const ConvolutionProblem &p = plan.problem;
  Matmul matmul;
  matmul.set_lhs_dtype(p.lhsType);
  matmul.set_rhs_dtype(p.rhsType);
  matmul.set_out_dtype(plan.writesOut ? p.outType : p.getSumType());
  matmul.set_m(rows);
  matmul.set_n(p.features);
  matmul.set_k(depth);
  matmul.add_lhs_strides(plan.alongDepth ? depth : 1);
  matmul.add_lhs_strides(plan.alongDepth ? 1 : rows);
  matmul.add_rhs_strides(plan.rhsStride ? *plan.rhsStride : p.features);
  matmul.add_rhs_strides(plan.rhsStride ? p.rhsFeature : 1);
  matmul.add_out_strides(plan.writesOut ? *findStride(p.rows) : p.features);
  matmul.add_out_strides(1);
  return products.prepare(matmul, nullptr, nullptr, nullptr, name);
}

Status ConvolutionSet::preparePlan(Plan &plan, const std::string &name) {
  const ConvolutionProblem &p = plan.problem;
  int64_t rows = p.getRows(), depth = p.getDepth();
  if (p.groups == 0 || rows == 0 || p.features == 0)
    return {};
  plan.isGrouped = depth == 0 || (p.groups >= minGroups && p.channels * p.features < minGroupProducts);
  if (plan.isGrouped) {
    scratchBytes = std::max<uint64_t>(scratchBytes, p.groups * sizeof(double));
    return {};
  }
  plan.depth = chooseDepth(p);
  plan.rows = std::min(rows, std::clamp(blockElements / plan.depth, minBlockRows, maxBlockRows));
  plan.alongDepth = canJoin(p.depth) || !canJoin(p.rows);
  std::optional<int64_t> stride = findStride(p.depth);
  if (stride && *stride > 0 &&
      ((p.rhsFeature == 1 && *stride >= p.features) || (*stride == 1 && p.rhsFeature >= depth)))
    plan.rhsStride = stride;
  std::optional<int64_t> outStride = findStride(p.rows);
  plan.writesOut = plan.depth == depth && p.outFeature == 1 && outStride && *outStride >= p.features;
  int64_t lastRows = rows % plan.rows, lastDepth = depth % plan.depth;
  for (auto [isLastRow, rowsOfBlock] : {std::pair(0, plan.rows), std::pair(1, lastRows)})
    for (auto [isLastDepth, depthOfBlock] : {std::pair(0, plan.depth), std::pair(1, lastDepth)})
      if (rowsOfBlock != 0 && depthOfBlock != 0) {
        MW_TRY_ASSIGN(plan.products[isLastRow][isLastDepth], prepareProduct(plan, rowsOfBlock, depthOfBlock, name));
      }
  uint64_t sums = align(plan.rows * p.features * getSize(p.getSumType()));
  plan.rhsOffset = align(plan.rows * plan.depth * getSize(p.lhsType));
  plan.sumOffset = plan.rhsOffset + (plan.rhsStride ? 0 : align(plan.depth * p.features * getSize(p.rhsType)));
  plan.addendOffset = plan.sumOffset + (plan.writesOut ? 0 : sums);
  scratchBytes = std::max(scratchBytes, plan.addendOffset + (plan.depth == depth ? 0 : sums));
  maxRows = std::max<size_t>(maxRows, plan.rows);
  maxDepth = std::max<size_t>(maxDepth, plan.depth);
  return {};
}

Result<uint32_t> ConvolutionSet::prepare(const Convolution &convolution, const std::byte *lhs, const std::byte *rhs,
                                         std::byte *out, const std::string &name) {
  Plan plan;
  plan.problem = getProblem(convolution);
  MW_TRY(preparePlan(plan, name));
  plans.push_back(std::move(plan));
  calls.push_back({plans.size() - 1, lhs, rhs, out});
  return static_cast<uint32_t>(calls.size() - 1);
}

uint32_t ConvolutionSet::prepareAgain(uint32_t number, const std::byte *lhs, const std::byte *rhs, std::byte *out) {
  calls.push_back({calls[number].plan, lhs, rhs, out});
  return static_cast<uint32_t>(calls.size() - 1);
}

Status ConvolutionSet::finish() {
  rowSpans.reserve(maxRows);
  depthSpans.reserve(maxDepth);
  return scratch.allocate(scratchBytes);
}

/// Computes rows [from, to) of one group, whose operands and result are those of `call`.
Status ConvolutionSet::executeRows(const Plan &plan, const Call &call, int64_t from, int64_t to) {
  const ConvolutionProblem &p = plan.problem;
  int64_t rows = to - from, total = p.getDepth();
  listSpans(p.rows, !plan.alongDepth, from, to, rowSpans);
  std::byte *sums = plan.writesOut ? call.out + rowSpans.front().other * static_cast<int64_t>(getSize(p.outType))
                                   : scratch.data() + plan.sumOffset;
  for (int64_t begin = 0; begin < total; begin += plan.depth) {
    int64_t depth = std::min(plan.depth, total - begin);
    listSpans(p.depth, plan.alongDepth && canJoin(p.depth), begin, begin + depth, depthSpans);
    gatherPatches(p, rowSpans, depthSpans, call.lhs, scratch.data(), plan.alongDepth ? depth : 1,
                  plan.alongDepth ? 1 : rows);
    const std::byte *rhs =
        call.rhs + (p.rhsStart + begin * plan.rhsStride.value_or(0)) * static_cast<int64_t>(getSize(p.rhsType));
    if (!plan.rhsStride) {
      gatherKernel(p, depthSpans, call.rhs, scratch.data() + plan.rhsOffset);
      rhs = scratch.data() + plan.rhsOffset;
    }
    std::byte *target = begin == 0 ? sums : scratch.data() + plan.addendOffset;
    MW_TRY(products.execute(plan.products[rows != plan.rows][depth != plan.depth], scratch.data(), rhs, target));
    if (begin != 0)
      addSums(p.getSumType(), target, sums, rows * p.features);
  }
  if (!plan.writesOut)
    storeSums(p, rowSpans, sums, call.out);
  return {};
}

Status ConvolutionSet::execute(uint32_t number) {
  const Call &call = calls[number];
  const Plan &plan = plans[call.plan];
  const ConvolutionProblem &p = plan.problem;
  if (plan.isGrouped) {
    convolveGroups(p, call.lhs, call.rhs, call.out, scratch.data());
    return {};
  }
  int64_t rows = p.features == 0 ? 0 : p.getRows();
  auto getBytes = [](int64_t elements, DType type) { return elements * static_cast<int64_t>(getSize(type)); };
  for (int64_t group = 0; group != p.groups; ++group) {
    Call part = {call.plan, call.lhs + getBytes(group * p.lhsGroup, p.lhsType),
                 call.rhs + getBytes(group * p.rhsGroup, p.rhsType),
                 call.out + getBytes(group * p.outGroup, p.outType)};
    for (int64_t from = 0; from < rows; from += plan.rows)
      MW_TRY(executeRows(plan, part, from, std::min(rows, from + plan.rows)));
  }
  return {};
}
