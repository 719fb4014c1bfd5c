//===- FetchInLoops.cpp - fetches and reductions inside loops -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan over layers keeps the parameters of all layers in one stack. A fetch before the loop would hold them all at
// once, against the purpose of sharded storage, and so would a reduction of their gradients after it. So the stack
// keeps its storage placement, and the part that an iteration takes from it or puts into it is converted in the body,
// where Partition inserts the exchange:
//
//     %w = net.read @w      : storage     in a loop:  %wi = net.take %w   : storage, users read it as they compute
//     %g = net.stack %gi    : storage                 %gi                 : partial, the stack reads it as stored
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

/// The normalized placement of `mapping` for `value`.
static FailureOr<Placement> resolve(MappingAttr mapping, Value value, const Mesh &mesh) {
  auto emit = [&] { return mlir::emitError(value.getLoc()); };
  FailureOr<Placement> placement = Placement::resolve(mapping, mesh, net::typeOf(value).getShape(), emit);
  if (failed(placement))
    return failure();
  return normalize(*placement, mesh);
}

/// The placement of one iteration's part of `stack`, given the stack's `placement`; null if iterations are split or not
/// all ranks hold a part of every iteration.
static MappingAttr dropIterations(Placement placement, Value stack, const Mesh &mesh) {
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

/// Replaces the mapping of one operand or result in the list `name` of `op`.
static void setMapping(Operation *op, StringRef name, unsigned index, MappingAttr mapping) {
  SmallVector<Attribute> mappings(op->getAttrOfType<ArrayAttr>(name).getValue());
  mappings[index] = mapping;
  op->setAttr(name, ArrayAttr::get(op->getContext(), mappings));
}

/// Collects the takes that read `value`, directly or after conversions of its type; false if it has any other use.
static bool findTakes(Value value, SmallVectorImpl<net::ConvertOp> &converts, SmallVectorImpl<net::TakeOp> &takes) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto take = dyn_cast<net::TakeOp>(user)) {
      takes.push_back(take);
      return true;
    }
    auto convert = dyn_cast<net::ConvertOp>(user);
    if (!convert || !kResultsAttr.isOn(convert))
      return false;
    converts.push_back(convert);
    return findTakes(convert.getResult(), converts, takes);
  });
}

/// Keeps the value of `read` in its storage placement if only iterations of loops read it.
LogicalResult FetchInLoopsPass::sinkFetch(net::ReadOp read, net::VariableOp variable, const Mesh &mesh) {
  auto kept = kMappingAttr.get(variable);
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
  MappingAttr part = dropIterations(*from, read.getResult(), mesh);
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

/// Makes every iteration convert its part of `stack` to the storage placement, if ranks then hold less of the stack.
LogicalResult FetchInLoopsPass::sinkReduction(net::StackOp stack, const Mesh &mesh) {
  auto computes = kComputesAttr.get(stack);
  if (!computes)
    return success();
  FailureOr<Placement> made = resolve(cast<MappingAttr>(computes[0]), stack.getResult(), mesh),
                       kept = resolve(getMapping(stack.getResult()), stack.getResult(), mesh);
  if (failed(made) || failed(kept))
    return failure();
  // A sum over several slices is reduced over ranks once, after all of them.
  bool isSumOverTimes = llvm::any_of(made->partialAxes, [&](Axis axis) { return axis >= mesh.getNumRankAxes(); });
  MappingAttr part = dropIterations(*kept, stack.getResult(), mesh);
  if (isSumOverTimes || !part || countElements(*kept, stack.getResult()) >= countElements(*made, stack.getResult()))
    return success();
  kComputesAttr.remove(stack);
  setMapping(stack, kOperandsAttr, 0, part);
  ++numReductions;
  return success();
}
