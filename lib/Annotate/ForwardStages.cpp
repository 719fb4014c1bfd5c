//===- ForwardStages.cpp - forward placed by the cut and by traffic -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes forward as a flow (StageFlow.h): heavy operations and operations on variables are bound to the stages of
// their block, all reads of a variable are one node, since the variable is kept in one place, and the flow decides
// about the rest. Contradictions of the strategy are reported with both operations.
//
//===----------------------------------------------------------------------===//

#include "ForwardStages.h"
#include "dialects/Dist/Interfaces.h"
#include "meshwright/Support/Stages.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::annotate;

static std::string describe(Operation *op) {
  if (StringRef name = net::getUserName(op); !name.empty())
    return "\"" + name.str() + "\"";
  StringRef scope = getScope(op);
  return "\"" + (scope.empty() ? "" : scope.str() + "/") + op->getName().stripDialect().str() + "\"";
}

/// The stages allowed for an operation of forward. Light operations without variables may leave their block's stage.
StageRange ForwardStages::getRange(Operation *op) const {
  StageRange range = {0, numStages - 1};
  auto narrow = [&](const llvm::DenseMap<Operation *, StageRange> &ranges) {
    if (auto found = ranges.find(op); found != ranges.end())
      range = {std::max(range.first, found->second.first), std::min(range.last, found->second.last)};
  };
  if (dist::isHeavy(op) || !program.getReads(op).empty())
    narrow(cut.ofPlace);
  narrow(cut.ofEnd);
  return range;
}

/// The number of `op` in the flow; all reads of a variable share one.
unsigned ForwardStages::add(Operation *op) {
  auto append = [&](StageRange range, std::optional<int64_t> preferred) {
    flow.ops.push_back({range, preferred});
    return static_cast<unsigned>(flow.ops.size()) - 1;
  };
  auto read = dyn_cast<net::ReadOp>(op);
  if (!read)
    return append(getRange(op), cut.getPlace(op));
  auto [variable, isNew] = variables.insert({read.getVariableAttr().getAttr(), 0});
  if (isNew)
    variable->second = append({0, numStages - 1}, std::nullopt);
  return variable->second;
}

/// Adds the operations of forward and the values between them.
void ForwardStages::build() {
  llvm::DenseMap<unsigned, unsigned> valueOfVariable;
  for (Operation *op : program.forward) {
    unsigned number = numberOf[op] = add(op);
    for (Value operand : llvm::SmallSetVector<Value, 4>(op->operand_begin(), op->operand_end()))
      if (auto value = valueOf.find(operand); value != valueOf.end())
        if (auto &readers = flow.values[value->second].readers; readers.empty() || readers.back() != number)
          readers.push_back(number);
    for (Value result : op->getResults()) {
      unsigned next = flow.values.size();
      unsigned value = isa<net::ReadOp>(op) ? valueOfVariable.try_emplace(number, next).first->second : next;
      if (value == next)
        flow.values.push_back({getBytes(result), number, {0, 0}, {}});
      valueOf[result] = value;
    }
  }
}

LogicalResult ForwardStages::reportConflict(Location loc, const StageConflict &conflict) const {
  auto find = [&](unsigned number) {
    return *llvm::find_if(program.forward, [&](Operation *op) { return numberOf.lookup(op) == number; });
  };
  Operation *earlier = find(conflict.earlier), *op = find(conflict.op);
  InFlightDiagnostic error = emitError(loc) << "does not cut the network: ";
  if (earlier == op)
    error << describe(op) << " is to be of stage " << conflict.first << " or later and of stage " << conflict.last
          << " or earlier";
  else
    error << describe(earlier) << " of stage " << conflict.first << " is needed for " << describe(op) << " of stage "
          << conflict.last;
  if (earlier != op)
    error.attachNote(earlier->getLoc()) << "of stage " << conflict.first;
  error.attachNote(op->getLoc()) << "of stage " << conflict.last;
  return failure();
}

/// Checks that every stage computes something.
LogicalResult ForwardStages::checkStages(Location loc) const {
  SmallVector<bool> used(numStages, false);
  for (Operation *op : program.forward)
    if (!program.isOfVariables(op))
      used[*getStage(op)] = true;
  for (auto [stage, isUsed] : llvm::enumerate(used))
    if (!isUsed)
      return emitError(loc) << "leaves stage " << stage << " of " << numStages
                            << " without any operation that computes with variables and inputs";
  return success();
}

LogicalResult ForwardStages::place(Location loc) {
  build();
  if (auto conflict = narrowRanges(flow))
    return reportConflict(loc, *conflict);
  SmallVector<int64_t, 0> stages = assignStages(flow);
  for (Operation *op : program.forward)
    setStage(op, stages[numberOf[op]]);
  for (auto [name, number] : variables)
    stagesOfVariables[name] = stages[number];
  return checkStages(loc);
}
