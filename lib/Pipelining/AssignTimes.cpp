//===- AssignTimes.cpp - restricts operations to the times they are needed -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times are axes of the mesh like ranks, so that an operation which runs at some of them is one which runs on some
// ranks: it says so in `dist.on`, shares no kernel with others, and Specialize leaves it out of the programs of other
// times.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Support.h"
#include "dialects/Net/Net.h"
#include "meshwright/Pipelining/Passes.h"
#include "meshwright/Support/NeededTimes.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_ASSIGNTIMESPASS
#include "meshwright/Pipelining/Passes.h.inc"
} // namespace meshwright::schedule

#define DEBUG_TYPE "dist-schedule-assign-times"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

/// True if the value of `op` exists from the start, equally at all times.
static bool isThere(Operation *op) { return isa<func::ReturnOp>(op) || isAlwaysAvailable(op); }

namespace {

struct AssignTimesPass : schedule::impl::AssignTimesPassBase<AssignTimesPass> {
  void runOnOperation() override {
    dist::MeshOp meshOp = dist::findMesh(getOperation());
    if (!meshOp)
      return;
    dist::Mesh mesh = meshOp.getMesh();
    if (mesh.getNumRankAxes() == mesh.getNumAxes())
      return;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(assign(func, mesh)))
        return signalPassFailure();
  }

  LogicalResult assign(func::FuncOp func, const dist::Mesh &mesh) {
    FailureOr<NeededTimes> times = NeededTimes::find(func, mesh);
    if (failed(times))
      return failure();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front()))) {
      DictionaryAttr when = times->get(&op);
      if (!when) {
        op.erase();
        continue;
      }
      if (!isThere(&op))
        dist::setOn(&op, dist::join(dist::getOn(&op), when));
      dist::kDuringAttr.remove(&op);
      if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
        lower(accumulate, *times, mesh, when);
      numTimed += !when.empty();
    }
    return success();
  }

  /// Adds separate operations for the value assigned before the update and for the one that the update reads: the
  /// latter then joins a kernel of the update.
  static void lower(dist::AccumulateOp op, NeededTimes &times, const dist::Mesh &mesh, DictionaryAttr when) {
    auto isAssign = [](Operation *user) { return isa<net::AssignOp>(user); };
    auto isOther = [](Operation *user) { return !isa<net::AssignOp>(user); };
    DictionaryAttr assigned = times.getOfUsers(op.getResult(), isAssign),
                   read = times.getOfUsers(op.getResult(), isOther);
    if (assigned && read && NeededTimes::areApart(assigned, read)) {
      Value sum = makeSum(op, times, mesh, assigned);
      op.getResult().replaceUsesWithIf(sum, [&](OpOperand &use) { return isAssign(use.getOwner()); });
      when = read;
    }
    op.getResult().replaceAllUsesWith(makeSum(op, times, mesh, when));
    op.erase();
  }

  /// The addend at the times at which `op` begins, the sum of both at others.
  static Value makeSum(dist::AccumulateOp op, NeededTimes &times, const dist::Mesh &mesh, DictionaryAttr when) {
    OpBuilder builder(op);
    DictionaryAttr rest = times.atSums(when, op);
    if (!rest)
      return op.getAddend();
    DictionaryAttr on = dist::getOn(op.getOperation());
    auto sum = net::AddOp::create(builder, op.getLoc(), op.getType(), op.getBefore(), op.getAddend());
    inherit(sum, op, Inherit::Replacement);
    dist::setOn(sum, dist::join(on, rest));
    // The level before this one of a tree adds separately for what it keeps. Apart from that, programs of more times
    // would not be worth it.
    if (op.getSums())
      times.set(sum, rest);
    if (rest == when)
      return sum;
    auto beginning = llvm::to_vector(llvm::seq(mesh.getSize(*mesh.find(op.getAxis()))));
    llvm::erase_if(beginning,
                   [&](int64_t time) { return op.getSums() ? llvm::is_contained(*op.getSums(), time) : time != 0; });
    DictionaryAttr begins =
        builder.getDictionaryAttr(builder.getNamedAttr(op.getAxis(), builder.getDenseI64ArrayAttr(beginning)));
    auto either = dist::EitherOp::create(builder, op.getLoc(), op.getType(), op.getAddend(), begins, sum);
    inherit(either, op, Inherit::LoopPart);
    dist::setOn(either, dist::join(on, when));
    if (op.getSums())
      times.set(either, when);
    return either.getResult();
  }
};

} // namespace
