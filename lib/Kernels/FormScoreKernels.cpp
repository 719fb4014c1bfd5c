//===- FormScoreKernels.cpp - attention as one kernel ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel makes what others read of a region of scores: its sums along an axis, and its products. Operations on these
// alone stay outside. Layout operations before the region go into the kernel, which then reads through them.
//
//===----------------------------------------------------------------------===//

#include "BodyBuilder.h"
#include "ScoreArithmetic.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Traits.h"
#include "meshwright/Kernels/Passes.h"
#include "meshwright/Kernels/ScorePlan.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Tiling/VisibleColumns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_FORMSCOREKERNELSPASS
#include "meshwright/Kernels/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using tiling::isWide;
using tiling::kColumns;
using tiling::kRows;
using tiling::Labels;
using tiling::Member;
using tiling::ScoreRegion;
using tiling::VisibleColumns;

namespace {

/// Puts one region into a kernel.
class KernelFormer {
public:
  /// `visible` has the columns that each 64 neighbouring rows read, as `scores` of a kernel has them.
  KernelFormer(const ScoreRegion &region, ArrayRef<int64_t> visible) : region(region), visible(visible) {}

  /// False, and nothing is changed, if the operations are not of the planned forms, as with floats of 32 bits.
  bool form();

private:
  bool findResults();
  void findNeeded();
  dist::KernelOp build();
  void replace(dist::KernelOp kernel);

  const ScoreRegion &region;
  ArrayRef<int64_t> visible;
  /// The makers of the kernel's results, in the order of the block.
  SmallVector<Operation *> results;
  /// The dependent members that stay outside; the members that go into the kernel.
  llvm::SetVector<Operation *> outside, needed;
};

} // namespace

/// The columns that each 64 neighbouring rows of `region` read.
static SmallVector<int64_t> listVisible(const ScoreRegion &region, const VisibleColumns &visible) {
  SmallVector<int64_t> bounds;
  int64_t numRows = region.sizes[kRows];
  for (int64_t first = 0; first < numRows; first += dist::kRowsOfVisible) {
    tiling::Columns columns = visible.find(region, first, std::min(first + dist::kRowsOfVisible, numRows));
    bounds.append({columns.begin, columns.end});
  }
  return bounds;
}

/// True if `member` makes less of scores than scores.
static bool isTarget(const Member &member) {
  return llvm::any_of(member.operands, isWide) && llvm::none_of(member.results, isWide);
}

/// Finds the results: the targets that others read, also by way of operations on them alone.
bool KernelFormer::findResults() {
  for (const Member &member : llvm::reverse(region.members)) {
    bool isRead = llvm::any_of(member.op->getUsers(), [&](Operation *user) {
      return !region.inside.contains(user) || outside.contains(user);
    });
    if (!member.dependent || !isRead)
      continue;
    if (isTarget(member))
      results.push_back(member.op);
    else if (llvm::any_of(member.results, isWide))
      return false;
    else
      outside.insert(member.op);
  }
  std::reverse(results.begin(), results.end());
  return !results.empty();
}

void KernelFormer::findNeeded() {
  needed.insert(results.begin(), results.end());
  for (size_t next = 0; next != needed.size(); ++next)
    for (Value operand : needed[next]->getOperands())
      if (Operation *maker = operand.getDefiningOp(); region.inside.contains(maker))
        needed.insert(maker);
}

/// True if a kernel reads through `op`, or makes its value anew.
static bool isRead(Operation *op) {
  auto constant = dyn_cast<net::ConstantOp>(op);
  if (constant ? isa<SplatElementsAttr>(constant.getValue()) : isa<net::IotaOp>(op))
    return true;
  return op->getNumOperands() == 1 && op->getNumResults() == 1 && net::getMovement(op).has_value();
}

dist::KernelOp KernelFormer::build() {
  Operation *last = nullptr;
  for (const Member &member : region.members)
    if (member.dependent)
      last = member.op;
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  SmallVector<Value> outputs = llvm::map_to_vector(results, [](Operation *op) -> Value { return op->getResult(0); });
  const Labels &labels =
      llvm::find_if(region.members, [&](const Member &member) { return member.op == region.product; })->results.front();
  auto scores = dist::ScoresAttr::get(builder.getContext(), labels[kRows]->dim, labels[kColumns]->dim, visible);
  auto kernel = dist::KernelOp::create(builder, region.product->getLoc(), ValueRange(outputs).getTypes(), ValueRange(),
                                       /*in_place=*/nullptr, scores);
  auto isInside = [&](Operation *op) { return region.inside.contains(op) || isRead(op); };
  BodyBuilder body(kernel, isInside);
  // In the order of the block, so that the first product is that of the axes.
  for (const Member &member : region.members)
    if (needed.contains(member.op))
      body.get(member.op->getResult(0));
  kernel.getInputsMutable().assign(body.finish(outputs));
  return kernel;
}

void KernelFormer::replace(dist::KernelOp kernel) {
  inherit(kernel, region.product, Inherit::Replacement);
  net::kRecomputedAttr.remove(kernel);
  net::kRecomputesAttr.remove(kernel);
  for (auto [op, result] : llvm::zip_equal(results, kernel.getResults()))
    op->getResult(0).replaceUsesWithIf(result, [&](OpOperand &use) {
      return use.getOwner() != kernel && (!region.inside.contains(use.getOwner()) || outside.contains(use.getOwner()));
    });
  SmallVector<Operation *> later(region.readers);
  later.append(outside.begin(), outside.end());
  llvm::sort(later, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Operation *after = kernel->getNextNode();
  for (Operation *op : later)
    op->moveBefore(after);
  for (const Member &member : llvm::reverse(region.members))
    if (member.dependent && !outside.contains(member.op))
      member.op->erase();
}

bool KernelFormer::form() {
  if (!findResults())
    return false;
  findNeeded();
  if (!needed.contains(region.product))
    return false;
  dist::KernelOp kernel = build();
  invertDivisors(kernel);
  if (!ScorePlan::create(kernel)) {
    kernel.erase();
    return false;
  }
  replace(kernel);
  return true;
}

namespace {

struct FormScoreKernelsPass : schedule::impl::FormScoreKernelsPassBase<FormScoreKernelsPass> {
  using FormScoreKernelsPassBase::FormScoreKernelsPassBase;

  void runOnOperation() override {
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      // The order of sums is fixed there.
      if (!func.isExternal() && !net::kSumPartsAttr.isOn(func))
        form(func.getBody().front());
    widenScores(getOperation());
  }

  void form(Block &block) {
    SmallVector<ScoreRegion, 0> regions = tiling::findRegionsWithMasks(block, {.minBytes = minBytes});
    VisibleColumns visible(regions);
    SmallVector<SmallVector<int64_t>> bounds =
        llvm::map_to_vector(regions, [&](const ScoreRegion &region) { return listVisible(region, visible); });
    tiling::replaceRegions(regions, [&](size_t index) {
      bool isFormed = KernelFormer(regions[index], bounds[index]).form();
      numKernels += isFormed;
      return isFormed;
    });
  }
};

} // namespace
