//===- FetchInLoops.cpp - every trip exchanges what is its own ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan over layers has the parameters of all of them in a stack. Fetched in front of the loop they would all be there
// at once, which is what keeping parts of them was to avoid; and so would be their gradients, reduced behind it. Here
// the stack stays as it is kept, and what a trip takes of it, or puts into it, is converted in the body, where
// Partition makes an exchange of it:
//
//     %w = net.read @w      : kept        in a loop:  %wi = net.take %w   : kept, read by others as they compute
//     %g = net.stack %gi    : kept                    %gi                 : partial, read by the stack as it is kept
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Conversions.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Complete/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::complete {
#define GEN_PASS_DEF_FETCHINLOOPSPASS
#include "meshwright/Complete/Passes.h.inc"
} // namespace meshwright::complete

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

namespace {

struct FetchInLoopsPass : complete::impl::FetchInLoopsPassBase<FetchInLoopsPass> {
  void runOnOperation() override {
    MeshOp meshOp = findMesh(getOperation());
    if (!meshOp)
      return;
    Mesh mesh = meshOp.getMesh();
    SymbolTable symbols(getOperation());
    auto result = getOperation().walk([&](Operation *op) -> WalkResult {
      if (auto read = dyn_cast<net::ReadOp>(op))
        return sinkFetch(read, symbols.lookup<net::VariableOp>(read.getVariable()), mesh);
      if (auto stack = dyn_cast<net::StackOp>(op))
        return sinkReduction(stack, mesh);
      return success();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult sinkFetch(net::ReadOp read, net::VariableOp variable, const Mesh &mesh);
  LogicalResult sinkReduction(net::StackOp stack, const Mesh &mesh);
};

} // namespace

/// The placement of `mapping`, that of `value`, in normal form.
static FailureOr<Placement> resolve(MappingAttr mapping, Value value, const Mesh &mesh) {
  auto emit = [&] { return mlir::emitError(value.getLoc()); };
  FailureOr<Placement> placement = Placement::resolve(mapping, mesh, net::typeOf(value).getShape(), emit);
  if (failed(placement))
    return failure();
  return normalize(*placement, mesh);
}

/// The placement of one trip's part of `stack`, which is placed as `placement` says; nothing where trips are split, or
/// not all ranks hold a part of every trip.
static MappingAttr dropTrips(Placement placement, Value stack, const Mesh &mesh) {
  if (!placement.dims.front().empty() || !placement.support.empty())
    return {};
  placement.dims.erase(placement.dims.begin());
  return placement.toAttr(stack.getContext(), mesh, net::typeOf(stack).getShape().drop_front());
}

static int64_t countElements(const Placement &placement, Value value) {
  int64_t elements = 1;
  for (int64_t size : placement.getLocalShape(net::typeOf(value).getShape()))
    elements *= size;
  return elements;
}

/// Replaces the mapping of one operand, or result, in the list `name` of `op`.
static void setMapping(Operation *op, StringRef name, unsigned index, MappingAttr mapping) {
  SmallVector<Attribute> mappings(op->getAttrOfType<ArrayAttr>(name).getValue());
  mappings[index] = mapping;
  op->setAttr(name, ArrayAttr::get(op->getContext(), mappings));
}

/// The trips that read `value` or, in another type, what is made of it alone; false where anything else does.
static bool findTakes(Value value, SmallVectorImpl<net::ConvertOp> &converts, SmallVectorImpl<net::TakeOp> &takes) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto take = dyn_cast<net::TakeOp>(user)) {
      takes.push_back(take);
      return true;
    }
    auto convert = dyn_cast<net::ConvertOp>(user);
    if (!convert || !convert->hasAttr(kResultsAttr))
      return false;
    converts.push_back(convert);
    return findTakes(convert.getResult(), converts, takes);
  });
}

/// Leaves what `read` reads as it is kept where only trips of loops read it.
LogicalResult FetchInLoopsPass::sinkFetch(net::ReadOp read, net::VariableOp variable, const Mesh &mesh) {
  auto kept = variable->getAttrOfType<MappingAttr>(kMappingAttr);
  MappingAttr computed = getMapping(read.getResult());
  if (!kept || !computed || kept == computed || net::getRole(read) == net::Role::Optimize)
    return success();
  SmallVector<net::ConvertOp> converts;
  SmallVector<net::TakeOp> takes;
  if (!findTakes(read.getResult(), converts, takes) || takes.empty())
    return success();
  FailureOr<Placement> from = resolve(kept, read.getResult(), mesh), to = resolve(computed, read.getResult(), mesh);
  if (failed(from) || failed(to))
    return failure();
  MappingAttr part = dropTrips(*from, read.getResult(), mesh);
  if (!part || countElements(*from, read.getResult()) >= countElements(*to, read.getResult()))
    return success();
  setMapping(read, kResultsAttr, 0, kept);
  for (net::ConvertOp convert : converts) {
    setMapping(convert, kOperandsAttr, 0, kept);
    setMapping(convert, kResultsAttr, 0, kept);
  }
  for (net::TakeOp take : takes) {
    setMapping(take, kOperandsAttr, 0, kept);
    setMapping(take, kResultsAttr, 0, part);
  }
  ++numFetches;
  return success();
}

/// Lets every trip bring what it puts into `stack` into the placement of the whole, where ranks then hold less of it.
LogicalResult FetchInLoopsPass::sinkReduction(net::StackOp stack, const Mesh &mesh) {
  auto computes = stack->getAttrOfType<ArrayAttr>(kComputesAttr);
  if (!computes)
    return success();
  FailureOr<Placement> made = resolve(cast<MappingAttr>(computes[0]), stack.getResult(), mesh),
                       kept = resolve(getMapping(stack.getResult()), stack.getResult(), mesh);
  if (failed(made) || failed(kept))
    return failure();
  // What several slices add up is reduced over ranks once, behind all of them.
  bool isSumOverTimes = llvm::any_of(made->partialAxes, [&](Axis axis) { return axis >= mesh.getNumRankAxes(); });
  MappingAttr part = dropTrips(*kept, stack.getResult(), mesh);
  if (isSumOverTimes || !part || countElements(*kept, stack.getResult()) >= countElements(*made, stack.getResult()))
    return success();
  stack->removeAttr(kComputesAttr);
  setMapping(stack, kOperandsAttr, 0, part);
  ++numReductions;
  return success();
}
