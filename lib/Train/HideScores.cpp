//===- HideScores.cpp - masks by minus infinity ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Networks hide scores by the lowest number of a type, which behaves like minus infinity as long as a row has another
// score: exp of the difference from that is 0 either way, bit for bit. Only minus infinity says so in exact arithmetic.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Traits.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Tiling/VisibleColumns.h"
#include "meshwright/Train/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::train {
#define GEN_PASS_DEF_HIDESCORESPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

#define DEBUG_TYPE "dist-train-hide-scores"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::tiling;

namespace {

/// Finds what becomes of hidden scores.
class Flow {
public:
  explicit Flow(ArrayRef<Operation *> maxima) : maxima(maxima.begin(), maxima.end()) {}

  /// True if `value` is only read by maxima of rows that have other scores, and by exponentials of differences from
  /// such maxima, possibly after additions and moves.
  bool endsInSoftmax(Value value) {
    if (auto known = ends.find(value); known != ends.end())
      return known->second;
    ends[value] = false;
    bool isGood = !value.use_empty() && llvm::all_of(value.getUses(), [&](OpOperand &use) { return isGoodUse(use); });
    return ends[value] = isGood;
  }

private:
  bool isGoodUse(OpOperand &use) {
    Operation *user = use.getOwner();
    if (net::movesWhole(user) || isa<net::AddOp>(user))
      return endsInSoftmax(user->getResult(0));
    if (auto convert = dyn_cast<net::ConvertOp>(user))
      return net::isFloat(convert.getResult()) && endsInSoftmax(convert.getResult());
    if (isa<net::ReduceOp>(user))
      return maxima.contains(user);
    if (!isa<net::SubtractOp>(user) || use.getOperandNumber() != 0)
      return false;
    return maxima.contains(getRepeated(user->getOperand(1)).getDefiningOp()) &&
           llvm::all_of(user->getUsers(), [](Operation *reader) { return isa<net::ExpOp>(reader); });
  }

  DenseSet<Operation *> maxima;
  DenseMap<Value, bool> ends;
};

struct HideScoresPass : train::impl::HideScoresPassBase<HideScoresPass> {
  void runOnOperation() override {
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        rewrite(func.getBody().front());
  }

  void rewrite(Block &block) {
    auto isMask = [](net::SelectOp select) {
      return hides(select.getOnTrue(), Hiding::Lowest) || hides(select.getOnFalse(), Hiding::Lowest);
    };
    if (llvm::none_of(block.getOps<net::SelectOp>(), isMask))
      return;
    SmallVector<ScoreRegion, 0> regions = findRegionsWithMasks(block, {.role = {}, .ignoresBackward = true});
    Flow flow(VisibleColumns(regions, Hiding::Lowest).findVisible());
    for (auto select : llvm::make_early_inc_range(block.getOps<net::SelectOp>())) {
      if (!isMask(select) || !flow.endsInSoftmax(select.getResult()))
        continue;
      OpBuilder builder(select);
      for (OpOperand *operand : {&select.getOnTrueMutable(), &select.getOnFalseMutable()}) {
        if (!hides(operand->get(), Hiding::Lowest) || hides(operand->get(), Hiding::Infinity))
          continue;
        Value infinity = net::NetBuilder(builder, select.getLoc())
                             .splatLike(operand->get(), -std::numeric_limits<double>::infinity());
        inherit(infinity.getDefiningOp(), select, Inherit::Companion);
        operand->set(infinity);
        ++numHidden;
      }
    }
  }
};

} // namespace
