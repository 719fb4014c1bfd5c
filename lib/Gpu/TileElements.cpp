//===- TileElements.cpp - elements of planned values ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileElements.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;
using schedule::LinearForm;

bool TileElements::changes(const Node *node, ArrayRef<unsigned> loops, ArrayRef<const Node *> given,
                           llvm::DenseMap<const Node *, bool> &known) const {
  if (auto found = known.find(node); found != known.end())
    return found->second;
  auto isChanging = [&](const LinearForm &form) {
    return llvm::any_of(form.terms, [&](const auto &term) {
      return llvm::any_of(loops, [&](unsigned loop) { return plan.variables.isAlong(term.first, loop); });
    });
  };
  bool result =
      llvm::is_contained(given, node) || node->kind == Node::RowResult || isChanging(node->position) ||
      llvm::any_of(node->indexForms, [&](const auto &form) { return isChanging(form.second); }) ||
      llvm::any_of(node->operands, [&](Node *operand) { return changes(operand, loops, given, known); }) ||
      llvm::any_of(node->extracts, [&](const auto &extract) { return changes(extract.second, loops, given, known); });
  return known[node] = result;
}

void TileElements::prepare(ArrayRef<Node *> roots, ArrayRef<unsigned> changing, ArrayRef<const Node *> given) {
  llvm::DenseMap<const Node *, bool> known;
  SetVector<Node *> visited;
  visited.insert(roots.begin(), roots.end());
  inColumns = false;
  rowValues.clear();
  for (size_t next = 0; next != visited.size(); ++next) {
    Node *node = visited[next];
    if (!changes(node, changing, given, known))
      emitNode(node);
    else
      visited.insert(node->operands.begin(), node->operands.end());
  }
  inColumns = true;
}
