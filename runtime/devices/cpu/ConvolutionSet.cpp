//===- ConvolutionSet.cpp - the convolutions of a program ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans the blocks of each distinct problem once: the rows and columns of a block of patches, the products over it,
// and the scratch memory that all convolutions of a thread share. Convolutions with many small groups are computed by a
// direct loop over the groups, where products would be too small for the library. Threads take whole blocks, with
// products on one thread each, so that the order of sums does not depend on their number.
//
//===----------------------------------------------------------------------===//

#include "ConvolutionSet.h"
#include "AmxMatmul.h"
#include "PatchBlocks.h"
#include "Threads.h"
#include "meshwright/runtime/Arena.h"
#include <algorithm>
#include <utility>

using namespace meshwright;
using namespace meshwright::runtime;

/// A block of patches has at most so many elements, which fit the second-level cache, so many columns, and rows within
/// these bounds.
static constexpr int64_t blockElements = 1 << 17, maxBlockDepth = 2048, minBlockRows = 64, maxBlockRows = 1024;
/// So many groups, with fewer products of a channel and a feature each, are computed beside each other.
static constexpr int64_t minGroups = 8, minGroupProducts = 32;

/// The columns of a block: whole runs of neighbours, where they fit.
static int64_t chooseDepth(const ConvolutionProblem &problem) {
  int64_t depth = problem.getDepth(), run = canJoin(problem.depth) ? problem.depth.back().extent : 1;
  if (depth <= maxBlockDepth)
    return depth;
  return run <= maxBlockDepth ? maxBlockDepth / run * run : maxBlockDepth;
}

Result<std::unique_ptr<ConvolutionSet>> ConvolutionSet::create(int threads, ConvolutionWays ways) {
  std::unique_ptr<ConvolutionSet> set(new ConvolutionSet(threads, ways));
  for (Worker &worker : set->workers) {
    MW_TRY_ASSIGN(worker.products, MatmulSet::create());
  }
  return set;
}

Result<uint32_t> ConvolutionSet::prepareProduct(const Plan &plan, int64_t rows, int64_t depth,
                                                const std::string &name) {
  const ConvolutionProblem &p = plan.problem;
  Matmul matmul;
  matmul.set_lhs_dtype(p.lhsType);
  matmul.set_rhs_dtype(p.rhsType);
  matmul.set_out_dtype(plan.writesOut ? p.outType : p.getSumType());
  matmul.set_parts(p.ordered);
  if (p.rounded != DTYPE_INVALID)
    matmul.set_rounded_dtype(plan.writesOut || p.rounded == F64 ? p.rounded : F32);
  matmul.set_m(rows);
  matmul.set_n(p.features);
  matmul.set_k(depth);
  matmul.add_lhs_strides(plan.alongDepth ? depth : 1);
  matmul.add_lhs_strides(plan.alongDepth ? 1 : rows);
  matmul.add_rhs_strides(plan.rhsStride ? *plan.rhsStride : p.features);
  matmul.add_rhs_strides(plan.rhsStride ? p.rhsFeature : 1);
  matmul.add_out_strides(plan.writesOut ? *findStride(p.rows) : p.features);
  matmul.add_out_strides(1);
  uint32_t number = 0;
  for (Worker &worker : workers) {
    MW_TRY_ASSIGN(number, worker.products->prepare(matmul, nullptr, nullptr, nullptr, name));
  }
  return number;
}

/// Prepares what is computed without tiles.
Status ConvolutionSet::preparePlan(Plan &plan, const std::string &name) {
  const ConvolutionProblem &p = plan.problem;
  int64_t rows = p.getRows(), depth = p.getDepth();
  if (p.groups == 0 || rows == 0 || p.features == 0)
    return {};
  if (plan.library) {
    plan.sharedBytes = alignToLine(plan.library->getSharedBytes());
    plan.workerBytes = alignToLine(plan.library->getScratchBytes());
    return {};
  }
  // A rank may have some of the groups and features; its sums are those of all.
  plan.isGrouped = depth == 0 || (!p.ordered && p.groups >= minGroups && p.channels * p.features < minGroupProducts);
  if (plan.isGrouped) {
    plan.blocks = p.rows.front().extent;
    plan.workerBytes = alignToLine(p.groups * sizeof(double));
    return {};
  }
  plan.depth = chooseDepth(p);
  plan.rows = std::min(rows, std::clamp(blockElements / plan.depth, minBlockRows, maxBlockRows));
  plan.blocks = p.groups * ((rows - 1) / plan.rows + 1);
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
  uint64_t sums = alignToLine(plan.rows * p.features * getSize(p.getSumType()));
  plan.rhsOffset = alignToLine(plan.rows * plan.depth * getSize(p.lhsType));
  plan.sumOffset = plan.rhsOffset + (plan.rhsStride ? 0 : alignToLine(plan.depth * p.features * getSize(p.rhsType)));
  plan.addendOffset = plan.sumOffset + (plan.writesOut ? 0 : sums);
  plan.workerBytes = plan.addendOffset + (plan.depth == depth ? 0 : sums);
  maxRows = std::max<size_t>(maxRows, plan.rows);
  maxDepth = std::max<size_t>(maxDepth, plan.depth);
  return {};
}

/// The way of tiles, if they are the fastest one for the best form of the convolution.
static std::unique_ptr<AmxConvolution> createTiles(const Convolution &convolution, int threads) {
  if (!hasAmx() || convolution.rounded_dtype() != DTYPE_INVALID)
    return nullptr;
  std::vector<ConvolutionForm> forms = getForms(convolution);
  return forms.empty() ? nullptr : AmxConvolution::create(forms.front(), threads);
}

Result<uint32_t> ConvolutionSet::prepare(const Convolution &convolution, const std::byte *lhs, const std::byte *rhs,
                                         std::byte *out, const std::string &name) {
  Plan plan;
  plan.problem = getProblem(convolution);
  auto threads = static_cast<int>(workers.size());
  if (ways != ConvolutionWays::Gathered && !plan.problem.ordered)
    plan.library = LibraryConvolution::create(convolution, threads);
  if (ways == ConvolutionWays::Fastest && !plan.problem.ordered)
    plan.tiles = createTiles(convolution, threads);
  {
    // Each worker computes products alone.
    LibraryThreads one(1);
    MW_TRY(preparePlan(plan, name));
  }
  scratchBytes = std::max({scratchBytes, plan.sharedBytes + workers.size() * plan.workerBytes,
                           plan.tiles ? plan.tiles->getScratchBytes() : 0});
  plans.push_back(std::move(plan));
  calls.push_back({plans.size() - 1, lhs, rhs, out});
  return static_cast<uint32_t>(calls.size() - 1);
}

uint32_t ConvolutionSet::prepareAgain(uint32_t number, const std::byte *lhs, const std::byte *rhs, std::byte *out) {
  calls.push_back({calls[number].plan, lhs, rhs, out});
  return static_cast<uint32_t>(calls.size() - 1);
}

Status ConvolutionSet::finish() {
  MW_TRY(scratch.allocate(scratchBytes));
  for (Worker &worker : workers) {
    worker.rowSpans.reserve(maxRows);
    worker.depthSpans.reserve(maxDepth);
    MW_TRY(worker.products->finish());
  }
  std::vector<std::byte *> ofWorkers(workers.size());
  for (Plan &plan : plans) {
    if (!plan.library)
      continue;
    std::ranges::transform(workers, ofWorkers.begin(), [&](const Worker &worker) { return getScratch(plan, worker); });
    MW_TRY(plan.library->bind(scratch.data(), ofWorkers));
  }
  return {};
}

std::byte *ConvolutionSet::getScratch(const Plan &plan, const Worker &worker) const {
  return scratch.data() + plan.sharedBytes + (&worker - workers.data()) * plan.workerBytes;
}

uint64_t ConvolutionSet::getScratchBytes() const {
  return scratchBytes + workers.size() * workers.front().products->getScratchBytes();
}

/// Computes rows [from, to) of one group, whose operands and result are those of `call`.
Status ConvolutionSet::executeRows(Worker &worker, const Plan &plan, const Call &call, int64_t from, int64_t to) {
  const ConvolutionProblem &p = plan.problem;
  int64_t rows = to - from, total = p.getDepth();
  std::byte *scratch = getScratch(plan, worker);
  listSpans(p.rows, !plan.alongDepth, from, to, worker.rowSpans);
  std::byte *sums = plan.writesOut ? call.out + worker.rowSpans.front().other * static_cast<int64_t>(getSize(p.outType))
                                   : scratch + plan.sumOffset;
  for (int64_t begin = 0; begin < total; begin += plan.depth) {
    int64_t depth = std::min(plan.depth, total - begin);
    listSpans(p.depth, plan.alongDepth && canJoin(p.depth), begin, begin + depth, worker.depthSpans);
    gatherPatches(p, worker.rowSpans, worker.depthSpans, call.lhs, scratch, plan.alongDepth ? depth : 1,
                  plan.alongDepth ? 1 : rows);
    const std::byte *rhs =
        call.rhs + (p.rhsStart + begin * plan.rhsStride.value_or(0)) * static_cast<int64_t>(getSize(p.rhsType));
    if (!plan.rhsStride) {
      gatherKernel(p, worker.depthSpans, call.rhs, scratch + plan.rhsOffset);
      rhs = scratch + plan.rhsOffset;
    }
    std::byte *target = begin == 0 ? sums : scratch + plan.addendOffset;
    MW_TRY(worker.products->execute(plan.products[rows != plan.rows][depth != plan.depth], scratch, rhs, target));
    if (begin != 0)
      addSums(p.getSumType(), target, sums, rows * p.features);
  }
  if (!plan.writesOut)
    storeSums(p, worker.rowSpans, sums, call.out);
  return {};
}

/// Computes blocks [from, to), which count through the rows of one group after the other.
Status ConvolutionSet::executeBlocks(Worker &worker, const Call &call, int64_t from, int64_t to) {
  const Plan &plan = plans[call.plan];
  const ConvolutionProblem &p = plan.problem;
  if (plan.isGrouped) {
    convolveGroups(p, from, to, call.lhs, call.rhs, call.out, getScratch(plan, worker));
    return {};
  }
  auto getBytes = [](int64_t elements, DType type) { return elements * static_cast<int64_t>(getSize(type)); };
  int64_t blocksOfGroup = plan.blocks / p.groups;
  for (int64_t block = from; block != to; ++block) {
    int64_t group = block / blocksOfGroup, begin = block % blocksOfGroup * plan.rows;
    Call part = {call.plan, call.lhs + getBytes(group * p.lhsGroup, p.lhsType),
                 call.rhs + getBytes(group * p.rhsGroup, p.rhsType),
                 call.out + getBytes(group * p.outGroup, p.outType)};
    MW_TRY(executeRows(worker, plan, part, begin, std::min(p.getRows(), begin + plan.rows)));
  }
  return {};
}

Status ConvolutionSet::takeStatus() {
  for (Worker &worker : workers)
    MW_TRY(std::exchange(worker.status, {}));
  return {};
}

Status ConvolutionSet::executeByLibrary(const Call &call) {
  LibraryConvolution &library = *plans[call.plan].library;
  LibraryConvolution::Addresses at = {call.lhs, call.rhs, call.out};
  MW_TRY(library.begin(at));
  auto work = [&](int part, int64_t begin, int64_t end) {
    workers[part].status = library.runParts(part, at, begin, end);
  };
  {
    // A single part is not within a parallel region.
    LibraryThreads one(1);
    divide(static_cast<int>(workers.size()), library.getNumParts(), 1, work);
  }
  MW_TRY(takeStatus());
  return library.end(at);
}

Status ConvolutionSet::execute(uint32_t number) {
  const Call &call = calls[number];
  const Plan &plan = plans[call.plan];
  if (plan.tiles && plan.tiles->execute(call.lhs, call.rhs, call.out, scratch.data()))
    return {};
  if (plan.library)
    return executeByLibrary(call);
  int64_t blocks = plan.blocks;
  if (blocks == 0)
    return {};
  auto work = [&](int part, int64_t begin, int64_t end) {
    workers[part].status = executeBlocks(workers[part], call, begin, end);
  };
  divide(static_cast<int>(workers.size()), blocks, 1, work);
  return takeStatus();
}
