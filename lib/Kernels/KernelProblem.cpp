//===- KernelProblem.cpp - states a block as a clustering problem ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates a block into the plain data of Clustering.h: one node per operation that computes, with layout operations
// folded into the way its users read. Only operations of the same ranks, segment, direction and loop may share a
// kernel.
//
//===----------------------------------------------------------------------===//

#include "KernelProblem.h"
#include "Triggers.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Kernels/ProductEpilogue.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using net::typeOf;

KernelProblem::KernelProblem(Block &block, net::LoopNest &nest, OpForms &forms, const KernelMemory &memory,
                             bool libraryEpilogues)
    : block(block), nest(nest), forms(forms), memory(memory),
      triggers(findTriggers(block, forms, [&](Operation *op) { return memory.isMaterialized(op); })) {
  for (Operation &op : block) {
    OpForm::Kind kind = forms.get(&op).kind;
    bool isRead = kind == OpForm::Move || kind == OpForm::Source;
    if (!memory.isLeaf(&op) && (memory.isMaterialized(&op) || !isRead))
      addNode(&op);
  }
  orderUpdates();
  if (libraryEpilogues)
    findFinishing();
}

std::optional<unsigned> KernelProblem::getNode(Operation *op) const {
  auto node = nodeOf.find(op);
  return node == nodeOf.end() ? std::nullopt : std::optional(node->second);
}

/// Classifies how `position` in a value runs along the domain: like the domain, or once per row of it.
static ClusterProblem::Access classify(const LinearForm &position, int64_t elements, ArrayRef<int64_t> domain) {
  using Access = ClusterProblem::Access;
  int64_t total = 1;
  for (int64_t extent : domain)
    total *= extent;
  if (elements == 0 || total % elements != 0)
    return Access::Memory;
  int64_t columns = total / elements, stride = total;
  LinearForm expected;
  for (auto [dim, extent] : llvm::enumerate(domain)) {
    stride /= extent;
    if (extent == 1)
      continue;
    if (stride >= columns && stride % columns == 0)
      expected = expected + LinearForm::variable(dim) * (stride / columns);
    else if (stride * extent > columns)
      return Access::Memory;
  }
  if (position != expected)
    return Access::Memory;
  return columns == 1 ? Access::Same : Access::Row;
}

void KernelProblem::addUses(Operation *op, const OpForm &form, Node &node) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Variables variables;
    SmallVector<LinearForm> loops, indices;
    bool direct = node.kind != Node::Barrier && index < form.maps.size() && form.maps[index];
    if (direct) {
      for (int64_t extent : form.domain) {
        unsigned variable = variables.add(Variables::Loop, extent);
        loops.push_back(extent == 1 ? LinearForm(0) : LinearForm::variable(variable));
      }
      for (AffineExpr expr : form.maps[index].getResults())
        indices.push_back(variables.evaluate(expr, loops));
    } else {
      indices.resize(typeOf(operand).getRank());
    }
    View view = memory.trace(operand, indices, variables);
    int64_t elements = typeOf(view.base).getNumElements();
    addUse(view.base, direct ? classify(view.position, elements, form.domain) : Access::Memory, node);
  }
}

void KernelProblem::addUse(Value base, Access access, Node &node) {
  ClusterProblem::Use use;
  use.access = access;
  use.elements = typeOf(base).getNumElements();
  if (!memory.isMadeFromNothing(base))
    use.value = valueIds.try_emplace(base, valueIds.size()).first->second;
  // A value that leaves a loop is available at the loop's end.
  Operation *producer = base.getDefiningOp();
  if (producer && net::leavesLoop(producer))
    producer = nest.getEnd(nest.getLoop(producer));
  if (producer && nodeOf.contains(producer))
    use.producer = nodeOf[producer];
  node.uses.push_back(use);
}

/// The ranks that run an operation, the segment that it belongs to, the loop, by its number, and whether it is of
/// forward. What backward computes again is no part of a kernel of forward.
static Attribute describeMembers(Operation *op, unsigned loop) {
  auto orNothing = [&](StringRef name) {
    Attribute attribute = op->getAttr(name);
    return attribute ? attribute : Attribute(UnitAttr::get(op->getContext()));
  };
  auto isForward = BoolAttr::get(op->getContext(), net::getRole(op) == net::Role::Forward);
  auto number = IntegerAttr::get(IndexType::get(op->getContext()), loop);
  return ArrayAttr::get(op->getContext(), {orNothing(dist::kOnAttr), orNothing(dist::kSegmentAttr), isForward, number});
}

/// A number for the properties that the operations of one kernel share: ranks, segment, forward or not, and loop.
unsigned KernelProblem::getMembers(Operation *op, net::LoopOp loop) {
  unsigned number = loop ? loopIds.try_emplace(loop, loopIds.size() + 1).first->second : 0;
  return memberIds.try_emplace(describeMembers(op, number), memberIds.size()).first->second;
}

ClusterProblem::Node::Kind KernelProblem::getKind(Operation *op, const OpForm &form) const {
  // The transposition of a GEMM's result belongs to the GEMM.
  if (memory.getProduct(op) || memory.isLibraryConvolution(op) || memory.isOfProduct(op))
    return Node::Barrier;
  switch (form.kind) {
  case OpForm::Reduce:
    return Node::Reduce;
  case OpForm::Map:
  case OpForm::Move:
  case OpForm::Source:
    return Node::Map;
  case OpForm::None:
  case OpForm::Alone:
    return Node::Barrier;
  }
  llvm_unreachable("the kinds are those above");
}

/// A loop waits for nothing but what it reads.
void KernelProblem::addTrigger(Operation *op, net::LoopOp loop, Node &node) const {
  Operation *trigger = triggers.lookup(op);
  if (!trigger || nest.getLoop(trigger) != loop)
    return;
  if (auto known = nodeOf.find(trigger); known != nodeOf.end())
    node.trigger = static_cast<int>(known->second);
}

void KernelProblem::addNode(Operation *op) {
  const OpForm &form = forms.get(op);
  net::LoopOp loop = nest.getLoop(op);
  Node node;
  node.kind = getKind(op, form);
  if (node.kind == Node::Reduce)
    node.kept = form.kept;
  node.expensive = form.expensive;
  node.members = getMembers(op, loop);
  node.looped = static_cast<bool>(loop);
  node.remote = isa<dist::CollectiveOp>(op);
  node.passing = dist::kFetchAtAttr.isOn(op) && isa<dist::CollectiveOp>(op);
  node.elements = ShapedType::getNumElements(form.domain);
  if (const Product *product = memory.getProduct(op)) {
    addUse(product->lhs.base, Access::Memory, node);
    addUse(product->rhs.base, Access::Memory, node);
  } else {
    addUses(op, form, node);
  }
  // A loop ends after everything inside it.
  bool isEnd = isa<net::EndLoopOp>(op);
  if (isEnd)
    node.predecessors = std::move(bodies[loop]);
  addTrigger(op, loop, node);
  unsigned index = problem.nodes.size();
  for (const ClusterProblem::Use &use : node.uses)
    if (use.producer >= 0)
      usersOf[use.producer].push_back(index);
  nodeOf[op] = index;
  if (loop)
    bodies[isEnd ? nest.getParent(loop) : loop].push_back(index);
  ops.push_back(op);
  problem.nodes.push_back(std::move(node));
  usersOf.emplace_back();
}

/// The end of the outermost loop that `node` is in; the node itself where it is in none.
unsigned KernelProblem::getOutermostEnd(unsigned node) const {
  net::LoopOp outermost = nest.getOutermost(ops[node]);
  return outermost ? nodeOf.at(nest.getEnd(outermost)) : node;
}

/// Assignments come as soon as they can, and after what reads the old value.
void KernelProblem::orderUpdates() {
  llvm::DenseMap<Attribute, int> readers;
  for (auto read : block.getOps<net::ReadOp>())
    if (auto value = valueIds.find(read.getResult()); value != valueIds.end())
      readers[read.getVariableAttr()] = value->second;
  llvm::DenseMap<int, SmallVector<unsigned>> readersOf;
  for (auto [index, node] : llvm::enumerate(problem.nodes))
    for (const ClusterProblem::Use &use : node.uses)
      if (use.value >= 0)
        readersOf[use.value].push_back(getOutermostEnd(index));
  for (auto assign : block.getOps<net::AssignOp>()) {
    Node &node = problem.nodes[nodeOf[assign]];
    node.assigns = true;
    auto value = readers.find(assign.getVariableAttr());
    if (value == readers.end())
      continue;
    // The maker of the new value waits for the readers of the old one; the assignment itself does nothing.
    for (const ClusterProblem::Use &use : node.uses)
      if (use.producer >= 0)
        llvm::append_range(problem.nodes[use.producer].after, readersOf[value->second]);
  }
}

/// Marks the only reader of a GEMM that adds a smaller value to it: the library may compute it with the GEMM.
void KernelProblem::findFinishing() {
  for (auto &[dot, product] : memory.getProducts()) {
    unsigned made = nodeOf.lookup(product.transpose ? product.transpose : dot);
    if (usersOf[made].size() != 1 || !hasEpilogues(dot->getResult(0).getType()))
      continue;
    unsigned user = usersOf[made].front();
    Node &node = problem.nodes[user];
    node.finishing = isa<net::AddOp>(ops[user]) && llvm::all_of(node.uses, [&](const ClusterProblem::Use &use) {
                       bool isProduct = use.producer == static_cast<int>(made);
                       return isProduct ? use.access == Access::Same : use.elements < node.elements;
                     });
  }
}
