//===- StageCut.cpp - cuts by balance, by ends, by globs ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks are the repeated parts of the network. A stage consists of consecutive blocks, in the order of forward. The
// strategy cuts by balance (`balanced`), by the ends of stages (`ends_with`), or by a glob per stage (`match`).
//
//===----------------------------------------------------------------------===//

#include "StageCut.h"
#include "StageCost.h"
#include "StagePartition.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Glob.h"
#include "meshwright/Support/Scopes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::annotate;
using strategy::Stages;

std::optional<int64_t> StageCut::getPlace(Operation *op) const {
  auto place = ofPlace.find(op);
  if (place == ofPlace.end() || place->second.first != place->second.last)
    return std::nullopt;
  return place->second.first;
}

namespace {

/// Cuts one program.
class Cutter {
public:
  Cutter(const StageProgram &program, const strategy::StrategyFile &file, const schedule::TaskOrder &order,
         StageBound *bound)
      : program(program), file(file), stages(file.get().pipeline().stages()), order(order), bound(bound),
        numStages(order.getNumStages()) {}

  FailureOr<StageCut> run();

private:
  InFlightDiagnostic error(const Twine &field = "") const {
    func::FuncOp func = program.func;
    return emitError(file.getLoc(func.getContext(), ("pipeline.stages" + field).str()));
  }
  void findBlocks();
  void findBlocksOfVariables();
  int64_t addBlock(StringRef name) { return blocks.insert({name, blocks.size()}).first->second; }
  int64_t findLastReader(Value value) const;

  LogicalResult cutBalanced();
  SmallVector<StageBlock> measure() const;
  SmallVector<double> countInFlight() const;
  std::optional<SmallVector<int64_t>> balance() const;
  LogicalResult cutBehind();
  LogicalResult addBlockEnd(int64_t block, int64_t stage, SmallVectorImpl<StageRange> &ranges);
  void addValueEnd(Operation *maker, int64_t stage);
  void narrow(Operation *op, StageRange by);
  LogicalResult cutByMatch();

  const StageProgram &program;
  const strategy::StrategyFile &file;
  const Stages &stages;
  const schedule::TaskOrder &order;
  /// Null if the memory of stages is not bounded.
  StageBound *bound;
  int64_t numStages;
  /// Blocks by name in the order of forward, and the block of each operation.
  llvm::MapVector<StringRef, int64_t> blocks;
  llvm::DenseMap<Operation *, int64_t> blockOf;
  StageCut cut;
};

} // namespace

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Cutter::findBlocks() {
  for (Operation *op : program.forward)
    if (StringRef name = findBlock(getScope(op)); !name.empty() && !program.isOfVariables(op))
      addBlock(name);
  if (blocks.empty())
    return findBlocksOfVariables();
  for (ArrayRef<Operation *> ops : {ArrayRef(program.forward), ArrayRef(program.backward)})
    for (Operation *op : ops)
      if (auto block = blocks.find(findBlock(getScope(op))); block != blocks.end())
        blockOf[op] = block->second;
}

/// The last block in which forward reads `value`; -1 if there is none.
int64_t Cutter::findLastReader(Value value) const {
  int64_t last = -1;
  for (Operation *user : value.getUsers())
    if (auto block = blockOf.find(user); block != blockOf.end() && net::getRole(user) != net::Role::Backward)
      last = std::max(last, block->second);
  return last;
}

/// Blocks of networks without scopes: operations on variables belong to the block in the variables' names, operations
/// of backward to the block whose operands they read.
void Cutter::findBlocksOfVariables() {
  for (Operation *op : program.forward)
    for (Operation *read : program.isOfVariables(op) ? SmallVector<Operation *, 1>() : program.getReads(op))
      if (StringRef name = findBlock(cast<net::ReadOp>(read).getVariable()); !name.empty())
        blockOf[op] = addBlock(name);
  for (Operation *op : program.backward) {
    int64_t block = -1;
    for (Value operand : op->getOperands())
      block = std::max(block, findLastReader(operand));
    if (block >= 0)
      blockOf[op] = block;
  }
}

//===----------------------------------------------------------------------===//
// Stages by balance
//===----------------------------------------------------------------------===//

/// The cost to balance and the memory of each block: variables, and the values kept for backward of one micro-batch. An
/// estimate that only ranks cuts; Schedule computes the memory of a rank.
SmallVector<StageBlock> Cutter::measure() const {
  dist::Mesh mesh = file.getMesh();
  double replicas = 1;
  for (const std::string &axis : file.get().data().axes())
    replicas *= static_cast<double>(mesh.getSize(*mesh.find(axis)));
  double share = 1 / (static_cast<double>(order.numMicroBatches) * replicas);
  SmallVector<StageBlock> measured;
  for (const BlockCost &cost : measureBlocks(program, blockOf, blocks.size(), mesh))
    measured.push_back({stages.balanced() == Stages::PARAMETERS ? cost.elements : cost.flops, cost.variableBytes,
                        static_cast<int64_t>(static_cast<double>(cost.keptBytes) * share)});
  return measured;
}

/// The number of micro-batches in flight per stage: that of its rank, divided by the rank's chunks.
SmallVector<double> Cutter::countInFlight() const {
  std::vector<int64_t> ofRank = schedule::simulate(order, {}).inFlight;
  SmallVector<double> inFlight;
  for (int64_t rank : order.rankOfStage)
    inFlight.push_back(static_cast<double>(ofRank[rank]) / static_cast<double>(llvm::count(order.rankOfStage, rank)));
  return inFlight;
}

/// The first block of every stage; empty if the bound is impossible.
std::optional<SmallVector<int64_t>> Cutter::balance() const {
  if (stages.balanced() == Stages::UNIFORM)
    return cutEvenly(blocks.size(), numStages);
  SmallVector<StageBlock> measured = measure();
  SmallVector<double> inFlight = countInFlight();
  auto firsts = cutByCost(measured, numStages, {inFlight, bound ? bound->bytes : kUnboundedBytes});
  if (firsts && bound)
    bound->largest = getLargestStage(measured, *firsts, inFlight);
  return firsts;
}

LogicalResult Cutter::cutBalanced() {
  if (static_cast<int64_t>(blocks.size()) < numStages)
    return error() << "there are " << numStages << " stages but the network has " << blocks.size()
                   << " blocks, which are scopes or variables whose names end in a number; give the stages by hand in "
                      "match";
  std::optional<SmallVector<int64_t>> firsts = balance();
  if (!firsts) {
    bound->isImpossible = true;
    return failure();
  }
  for (auto [op, block] : blockOf) {
    int64_t stage = llvm::upper_bound(*firsts, block) - firsts->begin() - 1;
    cut.ofPlace[op] = {stage, stage};
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Stages by their ends
//===----------------------------------------------------------------------===//

/// Narrows the allowed stages of `op`, even of light operations.
void Cutter::narrow(Operation *op, StageRange by) {
  StageRange &range = cut.ofEnd.try_emplace(op, StageRange{0, numStages - 1}).first->second;
  range = {std::max(range.first, by.first), std::min(range.last, by.last)};
}

void Cutter::addValueEnd(Operation *maker, int64_t stage) {
  narrow(maker, {0, stage});
  for (Operation *user : maker->getUsers())
    narrow(user, {stage + 1, numStages - 1});
}

LogicalResult Cutter::addBlockEnd(int64_t block, int64_t stage, SmallVectorImpl<StageRange> &ranges) {
  for (auto [number, range] : llvm::enumerate(ranges)) {
    if (static_cast<int64_t>(number) > block)
      range.first = stage + 1;
    else
      range.last = std::min(range.last, stage);
    if (range.first > range.last)
      return failure();
  }
  // After the last block, only its direct readers must be in the next stage.
  if (block + 1 == static_cast<int64_t>(ranges.size()))
    for (Operation *op : program.forward)
      if (auto found = blockOf.find(op); found != blockOf.end() && found->second == block)
        for (Operation *user : op->getUsers())
          if (!blockOf.contains(user))
            narrow(user, {stage + 1, numStages - 1});
  return success();
}

LogicalResult Cutter::cutBehind() {
  if (stages.ends_with_size() != numStages - 1)
    return error(".ends_with[0]") << "ends_with names " << stages.ends_with_size() << " ends but " << numStages
                                  << " stages have " << numStages - 1;
  llvm::StringMap<Operation *> values;
  for (Operation *op : program.forward)
    if (StringRef name = net::getUserName(op); !name.empty())
      values.try_emplace(name, op);
  SmallVector<StageRange> ranges(blocks.size(), StageRange{0, numStages - 1});
  for (auto [stage, name] : llvm::enumerate(stages.ends_with())) {
    auto field = [&] { return ".ends_with[" + std::to_string(stage) + "]"; };
    if (auto value = values.find(name); value != values.end())
      addValueEnd(value->second, stage);
    else if (auto block = blocks.find(name); block == blocks.end())
      return error(field()) << "\"" << name << "\" is neither one of the " << blocks.size()
                            << " blocks nor a value of forward";
    else if (failed(addBlockEnd(block->second, stage, ranges)))
      return error(field()) << "block \"" << name << "\" is before the end of stage " << stage - 1;
  }
  for (auto [op, block] : blockOf)
    cut.ofPlace[op] = ranges[block];
  return success();
}

//===----------------------------------------------------------------------===//
// Stages by globs
//===----------------------------------------------------------------------===//

/// The first matching glob applies; scopes precede names of values, which precede names of variables.
LogicalResult Cutter::cutByMatch() {
  if (stages.match_size() != numStages)
    return error(".match[0]") << "match has " << stages.match_size() << " globs but there are " << numStages
                              << " stages";
  SmallVector<bool> used(numStages, false);
  auto match = [&](Operation *op, llvm::function_ref<bool(StringRef)> matches) {
    for (auto [stage, glob] : llvm::enumerate(stages.match()))
      if (!cut.ofPlace.contains(op) && matches(glob)) {
        cut.ofPlace[op] = {static_cast<int64_t>(stage), static_cast<int64_t>(stage)};
        used[stage] = true;
      }
  };
  for (ArrayRef<Operation *> ops : {ArrayRef(program.forward), ArrayRef(program.backward)})
    for (Operation *op : ops) {
      match(op, [&](StringRef glob) {
        return !findScopePrefix(getScope(op), [&](StringRef prefix) { return matchGlob(glob, prefix); }).empty();
      });
      match(op, [&](StringRef glob) { return matchGlob(glob, net::getUserName(op)); });
    }
  for (Operation *op : program.forward)
    for (Operation *read : program.isOfVariables(op) ? SmallVector<Operation *, 1>() : program.getReads(op))
      match(op, [&](StringRef glob) { return matchGlob(glob, cast<net::ReadOp>(read).getVariable()); });
  for (auto [stage, glob] : llvm::enumerate(stages.match()))
    if (!used[stage])
      return error(".match[" + Twine(stage) + "]") << "\"" << glob << "\" of stage " << stage
                                                   << " matches no scope, value or variable that earlier globs leave";
  return success();
}

FailureOr<StageCut> Cutter::run() {
  if (!stages.match().empty())
    return failed(cutByMatch()) ? FailureOr<StageCut>() : std::move(cut);
  findBlocks();
  if (failed(stages.ends_with().empty() ? cutBalanced() : cutBehind()))
    return failure();
  return std::move(cut);
}

FailureOr<StageCut> annotate::findCut(const StageProgram &program, const strategy::StrategyFile &file,
                                      const schedule::TaskOrder &order, StageBound *bound) {
  return Cutter(program, file, order, bound).run();
}
