//===- StageCost.cpp - measures parameters, FLOPs, bytes of blocks --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations without a block count with the block before them, in program order; a variable counts with the block that
// reads it first. Sizes of variables are per rank, with the splits that the strategy has already placed, because the
// bound on a stage's memory is one per rank.
//
//===----------------------------------------------------------------------===//

#include "StageCost.h"
#include "Storage.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Interfaces.h"
#include "meshwright/Support/Bytes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::annotate;
using namespace meshwright::dist;

namespace {

/// Adds up the costs of each block.
class Meter {
public:
  Meter(const StageProgram &program, const llvm::DenseMap<Operation *, int64_t> &blockOf, int64_t numBlocks,
        const Mesh &mesh)
      : program(program), blockOf(blockOf), mesh(mesh), costs(numBlocks),
        inBackward(program.backward.begin(), program.backward.end()) {}

  SmallVector<BlockCost, 0> run();

private:
  void addForward(Operation *op, BlockCost &cost);
  void addVariable(net::ReadOp read, BlockCost &cost);
  void collectLike(ModuleOp module);

  const StageProgram &program;
  const llvm::DenseMap<Operation *, int64_t> &blockOf;
  const Mesh &mesh;
  SmallVector<BlockCost, 0> costs;
  llvm::DenseSet<Operation *> inBackward;
  SymbolTableCollection symbols;
  llvm::DenseSet<Attribute> seen;
  llvm::DenseMap<Attribute, SmallVector<net::VariableOp>> like;
};

} // namespace

void Meter::collectLike(ModuleOp module) {
  for (auto variable : module.getOps<net::VariableOp>())
    if (variable.getLike())
      like[StringAttr::get(variable.getContext(), *variable.getLike())].push_back(variable);
}

/// Adds a parameter and its state, split as the parameter is.
void Meter::addVariable(net::ReadOp read, BlockCost &cost) {
  auto variable = symbols.lookupNearestSymbolFrom<net::VariableOp>(read, read.getVariableAttr());
  if (!seen.insert(variable.getSymNameAttr()).second)
    return;
  ArrayRef<int64_t> shape = variable.getTensorType().getShape();
  Placement placement = Placement::replicated(shape.size());
  if (auto mapping = kMappingAttr.get(variable))
    if (auto resolved = Placement::resolve(mapping, mesh, shape, [&] { return variable.emitError(); });
        succeeded(resolved))
      placement = *resolved;
  auto addBytes = [&](net::VariableOp held) {
    ArrayRef<int64_t> heldShape = held.getTensorType().getShape();
    Placement heldPlacement = annotate::placeLike(placement, heldShape, shape);
    cost.variableBytes += meshwright::getBytes(held.getTensorType().clone(heldPlacement.getLocalShape(heldShape)));
  };
  cost.elements += variable.getTensorType().getNumElements();
  addBytes(variable);
  llvm::for_each(like[variable.getSymNameAttr()], addBytes);
}

/// Adds the operations of `op`, saturating at the largest number.
static void addFlops(Operation *op, BlockCost &cost) {
  if (llvm::AddOverflow(cost.flops, dist::getFlops(op), cost.flops))
    cost.flops = std::numeric_limits<int64_t>::max();
}

void Meter::addForward(Operation *op, BlockCost &cost) {
  addFlops(op, cost);
  for (Value result : op->getResults())
    if (llvm::any_of(result.getUsers(), [&](Operation *user) { return inBackward.contains(user); }))
      cost.keptBytes += annotate::getBytes(result);
  for (Operation *read : program.getReads(op))
    addVariable(cast<net::ReadOp>(read), cost);
}

SmallVector<BlockCost, 0> Meter::run() {
  func::FuncOp func = program.func;
  collectLike(func->getParentOfType<ModuleOp>());
  int64_t block = 0;
  for (Operation *op : program.forward) {
    if (program.isOfVariables(op))
      continue;
    if (auto found = blockOf.find(op); found != blockOf.end())
      block = found->second;
    addForward(op, costs[block]);
  }
  block = static_cast<int64_t>(costs.size()) - 1;
  for (Operation *op : program.backward) {
    if (auto found = blockOf.find(op); found != blockOf.end())
      block = found->second;
    addFlops(op, costs[block]);
  }
  return std::move(costs);
}

SmallVector<BlockCost, 0> annotate::measureBlocks(const StageProgram &program,
                                                  const llvm::DenseMap<Operation *, int64_t> &blockOf,
                                                  int64_t numBlocks, const Mesh &mesh) {
  return Meter(program, blockOf, numBlocks, mesh).run();
}
