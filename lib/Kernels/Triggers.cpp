//===- Triggers.cpp - operations that recomputation waits for -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Triggers.h"
#include "dialects/Net/Net.h"
#include <limits>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// Looks for triggers from the last operation to the first.
class TriggerFinder {
public:
  TriggerFinder(OpForms &forms, llvm::function_ref<bool(Operation *)> isMaterialized)
      : forms(forms), isMaterialized(isMaterialized) {}

  llvm::DenseMap<Operation *, Operation *> run(Block &block);

private:
  /// The position of the first user, and of what users read besides, the last first.
  struct Wait {
    unsigned firstUser = std::numeric_limits<unsigned>::max();
    SmallVector<unsigned> besides;
  };

  static bool isClone(Operation *op) { return net::kRecomputesAttr.isOn(op); }
  Operation *findMaker(Value value);
  Wait makeWait(Operation *op);

  OpForms &forms;
  llvm::function_ref<bool(Operation *)> isMaterialized;
  llvm::DenseMap<Operation *, unsigned> positions;
  llvm::DenseMap<Operation *, Wait> waits;
};

} // namespace

/// The operation that computes `value`, before it is only put elsewhere.
Operation *TriggerFinder::findMaker(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && forms.get(op).kind == OpForm::Move && !isMaterialized(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// Adds up what the users of `op` wait for and read besides.
TriggerFinder::Wait TriggerFinder::makeWait(Operation *op) {
  /// Only the last counts, but a first user that is found later may rule it out.
  constexpr size_t kMost = 8;
  Wait wait;
  for (Operation *user : op->getUsers()) {
    if (auto known = waits.find(user); known != waits.end()) {
      wait.firstUser = std::min(wait.firstUser, known->second.firstUser);
      llvm::append_range(wait.besides, known->second.besides);
      continue;
    }
    wait.firstUser = std::min(wait.firstUser, positions.lookup(user));
    for (Value operand : user->getOperands())
      if (Operation *maker = findMaker(operand); maker && !isClone(maker) && net::getRole(maker) == net::Role::Backward)
        wait.besides.push_back(positions.lookup(maker));
  }
  llvm::erase_if(wait.besides, [&](unsigned position) { return position >= wait.firstUser; });
  llvm::sort(wait.besides, std::greater<>());
  wait.besides.erase(llvm::unique(wait.besides), wait.besides.end());
  wait.besides.truncate(std::min(wait.besides.size(), kMost));
  return wait;
}

llvm::DenseMap<Operation *, Operation *> TriggerFinder::run(Block &block) {
  SmallVector<Operation *, 0> all;
  for (Operation &op : block) {
    positions[&op] = all.size();
    all.push_back(&op);
  }
  llvm::DenseMap<Operation *, Operation *> triggers;
  for (Operation *op : llvm::reverse(all)) {
    // A layout operation on a clone's result waits like the clone.
    if (!isClone(op) && forms.get(op).kind != OpForm::Move)
      continue;
    Wait wait = makeWait(op);
    if (isClone(op) && !wait.besides.empty())
      triggers[op] = all[wait.besides.front()];
    waits[op] = std::move(wait);
  }
  return triggers;
}

llvm::DenseMap<Operation *, Operation *> schedule::findTriggers(Block &block, OpForms &forms,
                                                                llvm::function_ref<bool(Operation *)> isMaterialized) {
  return TriggerFinder(forms, isMaterialized).run(block);
}
