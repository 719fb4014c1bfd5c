//===- FormKernels.cpp - groups operations into kernels and GEMMs ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values in memory are decided first (KernelMemory.h), then kernels (KernelProblem.h, Clustering.h),
// and then the block is written anew in that order.
//
//===----------------------------------------------------------------------===//

#include "BodyBuilder.h"
#include "ExpandSelections.h"
#include "KernelProblem.h"
#include "LoopOrder.h"
#include "SplitConcatenations.h"
#include "SplitReductions.h"
#include "meshwright/Kernels/Passes.h"
#include "meshwright/Kernels/PlannedKernel.h"
#include "meshwright/Support/Programs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#define DEBUG_TYPE "dist-schedule-form-kernels"

namespace meshwright::schedule {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "meshwright/Kernels/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// One function, and what of it is to be computed together.
class Former {
public:
  Former(func::FuncOp func, net::LoopNest &nest, OpForms &forms, const FormKernelsPassOptions &options)
      : block(func.getBody().front()), nest(nest), forms(forms),
        memory(block, nest, forms, options.libraryConvolutions),
        problem(block, nest, forms, memory, options.libraryEpilogues), hasFixedSums(net::kSumPartsAttr.isOn(func)) {}

  /// Writes the function anew.
  void run();

  unsigned getNumCopies() const { return memory.getNumCopies(); }
  unsigned numKernels = 0, numProducts = 0;

private:
  void build(Operation *op, ArrayRef<unsigned> members);
  void buildProduct(net::DotOp dot, const Product &product);
  void buildKernel(ArrayRef<unsigned> members);
  SmallVector<Operation *> findStored(ArrayRef<unsigned> members, const llvm::DenseSet<unsigned> &inside) const;
  bool isComputedIn(Operation *op, const llvm::DenseSet<unsigned> &inside, bool alone) const;
  bool canPlan(dist::KernelOp kernel);
  Value getMemory(Value value);
  OpBuilder getViewBuilder(Value value);
  void moveToEnd(Operation *op);

  Block &block;
  net::LoopNest &nest;
  OpForms &forms;
  KernelMemory memory;
  KernelProblem problem;
  bool hasFixedSums;
  /// Nodes whose values are in memory; the others are computed wherever they are read.
  SmallVector<bool> stored;
  /// The new values of old ones.
  IRMapping moved;
  /// The loops that have been begun and not ended, the outermost first, and where they are now.
  SmallVector<std::pair<net::LoopOp, Operation *>> open;
  llvm::DenseMap<Attribute, bool> planned;
};

} // namespace

/// `value` in the new program, contiguous.
Value Former::getMemory(Value value) {
  if (Value known = moved.lookupOrNull(value))
    return known;
  std::optional<View> view = memory.find(value);
  Value base = moved.lookupOrDefault(view->base);
  if (base.getType() == value.getType() && view->position.constant == 0)
    return base;
  OpBuilder builder = getViewBuilder(value);
  Value part = dist::ViewOp::create(builder, value.getLoc(), value.getType(), base, view->position.constant);
  moved.map(value, part);
  return part;
}

/// A builder for a view of `value`: at the present place, or before the outermost loop that does not contain the value,
/// since operations after that loop may read the view, too.
OpBuilder Former::getViewBuilder(Value value) {
  Operation *maker = value.getDefiningOp();
  for (auto [loop, place] : open)
    if (!maker || !nest.contains(loop, maker))
      return OpBuilder(place);
  return OpBuilder(block.getTerminator());
}

void Former::moveToEnd(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(getMemory(operand.get()));
    return;
  }
  OpBuilder builder(block.getTerminator());
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, getMemory(operand));
  Operation *clone = builder.clone(*op, mapping);
  moved.map(op->getResults(), clone->getResults());
  if (auto loop = dyn_cast<net::LoopOp>(op))
    open.push_back({loop, clone});
  else if (isa<net::EndLoopOp>(op))
    open.pop_back();
}

void Former::buildProduct(net::DotOp dot, const Product &product) {
  OpBuilder builder(block.getTerminator());
  Operation *result = product.transpose ? product.transpose : dot.getOperation();
  SmallVector<int64_t> lhs(product.lhs.batch), rhs(product.rhs.batch), out(product.outBatch);
  lhs.append({product.lhs.own, product.lhs.sum});
  rhs.append({product.rhs.sum, product.rhs.own});
  out.append({product.outRow, product.outColumn});
  auto matmul = dist::MatmulOp::create(builder, dot.getLoc(), result->getResult(0).getType(),
                                       moved.lookupOrDefault(product.lhs.base), moved.lookupOrDefault(product.rhs.base),
                                       product.lhs.offset, lhs, product.rhs.offset, rhs, out, product.batch, product.m,
                                       product.n, product.k);
  inherit(matmul, dot, Inherit::Replacement);
  moved.map(result->getResult(0), matmul.getResult());
  ++numProducts;
}

/// The results of `members` that other kernels read and that are in memory.
SmallVector<Operation *> Former::findStored(ArrayRef<unsigned> members, const llvm::DenseSet<unsigned> &inside) const {
  SmallVector<Operation *> found;
  for (unsigned member : members) {
    bool isRead = llvm::any_of(problem.getUsers(member), [&](unsigned user) { return !inside.contains(user); });
    if (stored[member] && isRead)
      found.push_back(problem.getOperation(member));
  }
  return found;
}

/// True if `op` is computed in the kernel of the nodes `inside`; if `alone`, that kernel does not look through layout
/// operations.
bool Former::isComputedIn(Operation *op, const llvm::DenseSet<unsigned> &inside, bool alone) const {
  if (std::optional<unsigned> node = problem.getNode(op))
    return inside.contains(*node) || !stored[*node];
  OpForm::Kind kind = forms.get(op).kind;
  return kind == OpForm::Source || (kind == OpForm::Move && (!alone || memory.isMadeFromNothing(op->getResult(0))));
}

/// Builds the kernel of `members`; one per member where the loops cannot be planned together.
void Former::buildKernel(ArrayRef<unsigned> members) {
  llvm::DenseSet<unsigned> inside(members.begin(), members.end());
  SmallVector<Operation *> makers = findStored(members, inside);
  // Unused operations are not computed.
  if (makers.empty())
    return;
  SmallVector<Value> outputs;
  for (Operation *maker : makers)
    llvm::append_range(outputs, maker->getResults());
  Operation *named = makers.back();
  OpBuilder builder(block.getTerminator());
  auto kernel = dist::KernelOp::create(builder, named->getLoc(), ValueRange(outputs).getTypes(), ValueRange(),
                                       /*in_place=*/nullptr, /*scores=*/nullptr);
  bool alone = forms.get(named).kind == OpForm::Alone;
  auto isInside = [&](Operation *op) { return isComputedIn(op, inside, alone); };
  SmallVector<Value> inputs = BodyBuilder(kernel, isInside).finish(outputs);
  for (Value &input : inputs)
    input = getMemory(input);
  // Views that this kernel read stand after it.
  kernel->moveBefore(block.getTerminator());
  kernel.getInputsMutable().assign(inputs);
  if (members.size() > 1 && !canPlan(kernel)) {
    kernel.erase();
    for (unsigned member : members) {
      stored[member] = true;
      buildKernel(member);
    }
    return;
  }
  inherit(kernel, named, Inherit::Replacement);
  moved.map(outputs, SmallVector<Value>(kernel.getResults()));
  ++numKernels;
}

/// How the elements of a sum are added: in lanes along the innermost loop, if that is one of the sum, and one by one
/// otherwise. Rows keep their lanes from one turn of the innermost loop to the next.
struct SumOrder {
  enum Kind { OneByOne, Lanes, Row } kind = OneByOne;
  /// The extent of the innermost loop.
  int64_t extent = 0;

  /// True if both orders are the same. All lanes of a row are filled by either loop if they divide both extents.
  bool operator==(const SumOrder &other) const {
    constexpr int64_t mostLanes = 16;
    bool areFull = kind == Row && extent % mostLanes == 0 && other.extent % mostLanes == 0;
    return kind == other.kind && (kind == OneByOne || areFull || extent == other.extent);
  }
};

/// The order of a kernel of `op` alone, whose operand lies in the order of its dimensions.
static SumOrder getOwnOrder(linalg::GenericOp op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  int64_t summed = 1;
  for (size_t loop = ranges.size(); loop-- > 0;) {
    if (ranges[loop] != 1 && iterators[loop] != utils::IteratorType::reduction)
      break;
    summed *= ranges[loop];
  }
  bool isRow = getKeptElements(op) >= 0;
  return {summed == 1 ? SumOrder::OneByOne : isRow ? SumOrder::Row : SumOrder::Lanes, summed};
}

/// The order in which `plan` adds.
static SumOrder getOrder(const KernelPlan &plan, const Reduction &reduction) {
  if (plan.loops.size() == plan.numRowLoops)
    return {};
  unsigned innermost = plan.loops.back();
  int64_t extent = plan.variables[innermost].extent;
  if (reduction.row)
    return {SumOrder::Row, extent};
  return {reduction.position.uses(innermost) ? SumOrder::OneByOne : SumOrder::Lanes, extent};
}

/// True if every sum of floats in a kernel of several operations has the order that it has alone.
static bool keepsOrder(const KernelPlan &plan) {
  for (const Reduction &reduction : plan.reductions)
    if (isa<arith::AddFOp, arith::MulFOp>(reduction.combiner) &&
        !(getOrder(plan, reduction) == getOwnOrder(reduction.op)))
      return false;
  // Where an accumulation has no linear position, no loop of the kernel has lanes.
  return llvm::all_of(plan.reductions, [&](const Reduction &reduction) {
    return llvm::all_of(reduction.position.terms,
                        [&](const auto &term) { return plan.variables[term.first].kind == Variables::Loop; });
  });
}

bool Former::canPlan(dist::KernelOp kernel) {
  auto [known, isNew] = planned.try_emplace(StringAttr::get(kernel.getContext(), getKernelText(kernel)));
  if (isNew) {
    PlannedKernel made = planKernel(kernel);
    known->second = made.plan && (!hasFixedSums || keepsOrder(*made.plan));
  }
  return known->second;
}

/// Builds what the nodes `members` are, the first of which is `op`.
void Former::build(Operation *op, ArrayRef<unsigned> members) {
  if (const Product *product = memory.getProduct(op))
    return buildProduct(cast<net::DotOp>(op), *product);
  if (memory.isLibraryConvolution(op)) {
    ++numProducts;
    return moveToEnd(op);
  }
  bool isKernel = problem.get().nodes[members.front()].kind != ClusterProblem::Node::Barrier;
  if (isKernel || forms.get(op).kind == OpForm::Alone)
    return buildKernel(members);
  if (!memory.isOfProduct(op))
    moveToEnd(op);
}

void Former::run() {
  Clustering clustering = cluster(problem.get());
  stored = std::move(clustering.stored);
  SmallVector<Operation *> leaves, old;
  for (Operation &op : block.without_terminator())
    (memory.isLeaf(&op) ? leaves : old).push_back(&op);
  // Values that exist from the start stay at the beginning.
  for (Operation *op : leaves)
    op->moveBefore(block.getTerminator());
  SmallVector<Operation *> first;
  for (ArrayRef<unsigned> members : clustering.order)
    first.push_back(problem.getOperation(members.front()));
  for (unsigned item : keepBodiesTogether(first, nest))
    build(first[item], clustering.order[item]);
  for (Operation *op : llvm::reverse(old))
    op->erase();
  forms.forgetAll();
}

namespace {

struct FormKernelsPass : schedule::impl::FormKernelsPassBase<FormKernelsPass> {
  using FormKernelsPassBase::FormKernelsPassBase;
#define GEN_PASS_OPTIONS_FORMKERNELSPASS
#include "meshwright/Kernels/PassOptions.h.inc"

  void runOnOperation() override {
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    OpForms forms;
    FormKernelsPassOptions options = getOptions();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      Block &block = func.getBody().front();
      for (Operation &op : block)
        for (Value result : op.getResults())
          if (!isa<RankedTensorType>(result.getType())) {
            op.emitError() << "value is of " << result.getType()
                           << "; kernels are formed of tensors, before collectives are started";
            return signalPassFailure();
          }
      splitConcatenations(block);
      splitReductions(block);
      expandSelections(block);
      FailureOr<net::LoopNest> nest = net::LoopNest::find(block);
      if (failed(nest))
        return signalPassFailure();
      Former former(func, *nest, forms, options);
      former.run();
      numKernels += former.numKernels;
      numProducts += former.numProducts;
      numCopies += former.getNumCopies();
    }
  }
};

} // namespace
