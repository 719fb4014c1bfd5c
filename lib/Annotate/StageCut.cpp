//===- StageCut.cpp - where the strategy cuts the network -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks are what the user's scopes repeat. A stage is some of them, one behind the other, in the order in which
// forward comes to them.
//
//===----------------------------------------------------------------------===//

#include "StageCut.h"
#include "StagePartition.h"
#include "dialects/Dist/Placement.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Glob.h"
#include "meshwright/Support/Scopes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::annotate;
using strategy::Stages;

namespace {

/// Cuts one program.
class Cutter {
public:
  Cutter(const StageProgram &program, const strategy::StrategyFile &file, int64_t numStages, int64_t inFlight)
      : program(program), file(file), stages(file.get().pipeline().stages()), numStages(numStages), inFlight(inFlight) {
  }

  FailureOr<StageCut> run();

private:
  InFlightDiagnostic error(const Twine &field = "") const {
    return emitError(file.getLoc(program.context, ("pipeline.stages" + field).str()));
  }
  void findBlocks();
  void addBlock(Operation *op, StringRef name);
  void nameByVariables();
  LogicalResult cutBalanced();

  const StageProgram &program;
  const strategy::StrategyFile &file;
  const Stages &stages;
  int64_t numStages, inFlight;
  /// Blocks by name, in the order of forward; and what lies in them.
  llvm::MapVector<StringRef, int64_t> blocks;
  llvm::DenseMap<Operation *, int64_t> blockOf;
  StageCut cut;
};

} // namespace

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Cutter::addBlock(Operation *op, StringRef name) {
  if (!name.empty())
    blockOf[op] = blocks.insert({name, blocks.size()}).first->second;
}

/// Blocks by the names of variables, for networks without scopes.
void Cutter::nameByVariables() {
  llvm::DenseMap<Value, StringRef> nameOf;
  for (Operation *op : program.forward) {
    StringRef name;
    if (auto read = dyn_cast<net::ReadOp>(op))
      name = findBlock(read.getVariable());
    for (Value operand : op->getOperands())
      if (name.empty() && operand.getDefiningOp() && program.isOfVariables(operand.getDefiningOp()))
        name = nameOf.lookup(operand);
    if (program.isOfVariables(op))
      nameOf[op->getResult(0)] = name;
    else
      addBlock(op, name);
  }
}

void Cutter::findBlocks() {
  for (Operation *op : program.forward)
    if (!program.isOfVariables(op))
      addBlock(op, findBlock(getScope(op)));
  if (blocks.empty())
    return nameByVariables();
  for (ArrayRef<Operation *> ops : {ArrayRef(program.forward), ArrayRef(program.backward)})
    for (Operation *op : ops)
      if (auto block = blocks.find(findBlock(getScope(op))); block != blocks.end())
        blockOf[op] = block->second;
}

LogicalResult Cutter::cutBalanced() {
  if (static_cast<int64_t>(blocks.size()) < numStages)
    return error()
           << "there are " << numStages << " stages but the network has " << blocks.size()
           << " blocks, which are scopes or variables whose names end in a number; match says by hand what is of "
              "which stage";
  SmallVector<int64_t> firsts = cutEvenly(blocks.size(), numStages);
  for (auto [op, block] : blockOf) {
    int64_t stage = llvm::upper_bound(firsts, block) - firsts.begin() - 1;
    cut.ofPlace[op] = {stage, stage};
  }
  return success();
}

FailureOr<StageCut> Cutter::run() {
  findBlocks();
  if (failed(cutBalanced()))
    return failure();
  return std::move(cut);
}

FailureOr<StageCut> annotate::findCut(const StageProgram &program, const strategy::StrategyFile &file,
                                      int64_t numStages, int64_t inFlight) {
  return Cutter(program, file, numStages, inFlight).run();
}
