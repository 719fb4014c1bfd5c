//===- FormKernels.cpp - operations into kernels and products -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout operations are never computed where their reader can address through them. What is left over has to be in
// memory: operands of collectives, products and kernels that stand alone, what is assigned and returned. Those are
// views of other memory where they are contiguous, and copied where they are not.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "LoopOrder.h"
#include "OpForms.h"
#include "Triggers.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Schedule/Clustering.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Schedule/PlannedKernel.h"
#include "meshwright/Schedule/ProductEpilogue.h"
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
#include "meshwright/Schedule/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using Access = ClusterProblem::Access;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {

/// Rewrites one function.
class Former {
public:
  Former(func::FuncOp func, net::LoopNest &nest, OpForms &forms, const FormKernelsPassOptions &options)
      : func(func), block(func.getBody().front()), nest(nest), forms(forms), options(options) {}

  void run();

  unsigned numKernels = 0, numProducts = 0, numCopies = 0;

private:
  // What has to be in memory.
  void joinReads();
  void separateState();
  void separateCarries();
  void separate(OpOperand &operand, Operation *place, DictionaryAttr on);
  void prepareProducts();
  void canonicalizeOperand(net::DotOp dot, bool left);
  void requireMemory();
  bool isMaterialized(Operation *op) const { return materialized.contains(op); }
  std::optional<View> findMemory(Value value);
  bool isMadeFromNothing(Value value);
  Operation *getBase(Value value);

  // The problem.
  void makeProblem();
  void addUses(Operation *op, const OpForm &form, ClusterProblem::Node &node);
  void addUse(ClusterProblem::Node &node, Value base, Access access);
  Access classify(const LinearForm &position, int64_t elements, ArrayRef<int64_t> domain, const Variables &variables);
  void endLoop(net::EndLoopOp op, ClusterProblem::Node &node);
  unsigned getOutermostEnd(unsigned node);
  void orderUpdates();
  void findFinishing();
  bool isLeaf(Operation *op);

  // The answer.
  void rebuild(const Clustering &clustering);
  void buildProduct(net::DotOp dot, const Product &product);
  void buildKernel(ArrayRef<unsigned> members);
  bool canPlan(dist::KernelOp kernel);
  Value getMemory(Value value);
  OpBuilder getViewBuilder(Value value);
  void moveToEnd(Operation *op);

  func::FuncOp func;
  Block &block;
  net::LoopNest &nest;
  OpForms &forms;
  const FormKernelsPassOptions &options;
  /// Layout operations and sources that are computed after all.
  llvm::DenseSet<Operation *> materialized;
  llvm::MapVector<Operation *, Product> products;
  /// Those that the library computes, of operands that are contiguous.
  llvm::DenseSet<Operation *> convolutions;
  ClusterProblem problem;
  /// Node and operation, both ways; and the nodes that use what a node makes.
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> nodeOf;
  SmallVector<SmallVector<unsigned>> usersOf;
  /// Nodes whose values are in memory; the others are computed wherever they are read.
  SmallVector<bool> stored;
  llvm::DenseMap<Value, int> valueIds;
  /// Of the sets of ranks and the segments that run operations, and whether those are of forward.
  llvm::DenseMap<Attribute, unsigned> memberIds;
  /// The nodes of every body, and of the loops one behind the other their number.
  llvm::DenseMap<Operation *, SmallVector<unsigned, 0>> bodies;
  llvm::DenseMap<Operation *, unsigned> loopIds;
  /// For clones of operations of forward what they are not to come before.
  llvm::DenseMap<Operation *, Operation *> triggers;
  /// Where old values are now.
  IRMapping moved;
  /// The loops that have been begun and not ended, the outermost first, and where they are now.
  SmallVector<std::pair<net::LoopOp, Operation *>> open;
  llvm::DenseMap<Attribute, bool> planned;
};

} // namespace

/// However often a variable is read, it is one piece of memory.
void Former::joinReads() {
  llvm::DenseMap<Attribute, net::ReadOp> first;
  for (auto read : llvm::make_early_inc_range(block.getOps<net::ReadOp>())) {
    auto [known, isNew] = first.try_emplace(read.getVariableAttr(), read);
    if (isNew)
      continue;
    read.replaceAllUsesWith(known->second.getResult());
    read.erase();
  }
}

/// Puts a copy of `operand` in memory of its own in front of `place`.
void Former::separate(OpOperand &operand, Operation *place, DictionaryAttr on) {
  OpBuilder builder(place);
  auto copy = net::ReshapeOp::create(builder, operand.getOwner()->getLoc(), operand.get().getType(), operand.get());
  dist::setOn(copy, on);
  nest.addBefore(copy, place);
  operand.set(copy);
  materialized.insert(copy);
}

/// What a variable or an input is is neither assigned nor returned itself: it may be overwritten before.
void Former::separateState() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<net::AssignOp, func::ReturnOp>(op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *source = getBase(operand.get());
      if (!source || isLeaf(source))
        separate(operand, &op, isa<net::AssignOp>(op) ? dist::getOn(&op) : dist::getOn(operand.get()));
    }
  }
}

/// What is carried begins in memory of its own, if it is made from nothing, so that it can stay there; and no trip
/// hands on another carried value itself, which is overwritten about the same time.
void Former::separateCarries() {
  for (net::CarryOp op : block.getOps<net::CarryOp>())
    if (isMadeFromNothing(op.getInit()))
      separate(op.getInitMutable(), nest.getLoop(op), dist::getOn(op.getOperation()));
  for (net::NextOp op : llvm::make_early_inc_range(block.getOps<net::NextOp>()))
    if (auto other = dyn_cast_or_null<net::CarryOp>(getBase(op.getValue()));
        other && other.getResult() != op.getCarry() && nest.getLoop(other) == nest.getLoop(op))
      separate(op.getValueMutable(), op, dist::getOn(op.getOperation()));
}

/// What makes the value that `value` has elements of in another order; null for an argument.
Operation *Former::getBase(Value value) {
  Variables variables;
  SmallVector<LinearForm> indices(typeOf(value).getRank());
  return traceView(value, indices, variables, forms, [](Operation *) { return false; }).base.getDefiningOp();
}

/// Variables, constants, coordinates: there from the start.
bool Former::isLeaf(Operation *op) {
  return op->getNumOperands() == 0 && !isa<net::LoopOp>(op) && forms.get(op).kind == OpForm::None &&
         op->getNumResults() > 0;
}

/// Puts a copy in the order [batch, own, sum] before `dot`.
void Former::canonicalizeOperand(net::DotOp dot, bool left) {
  ArrayRef<int64_t> batch = left ? dot.getLhsBatch() : dot.getRhsBatch();
  ArrayRef<int64_t> contract = left ? dot.getLhsContract() : dot.getRhsContract();
  SmallVector<int64_t> order(batch);
  llvm::append_range(order, left ? dot.getLhsFree() : dot.getRhsFree());
  llvm::append_range(order, contract);
  Value operand = left ? dot.getLhs() : dot.getRhs();
  SmallVector<int64_t> shape, batchDims, contractDims;
  for (int64_t dim : order)
    shape.push_back(typeOf(operand).getDimSize(dim));
  for (size_t dim = 0; dim < batch.size(); ++dim)
    batchDims.push_back(dim);
  for (size_t dim = order.size() - contract.size(); dim < order.size(); ++dim)
    contractDims.push_back(dim);
  // What a loop reads is put in order once.
  Operation *place = nest.hoist(dot, operand);
  OpBuilder builder(place);
  auto copy = net::TransposeOp::create(builder, dot.getLoc(), typeOf(operand).clone(shape), operand, order);
  nest.addBefore(copy, place);
  if (Attribute segment = dot->getAttr(dist::kSegmentAttr))
    copy->setAttr(dist::kSegmentAttr, segment);
  dist::setOn(copy, dist::getOn(dot.getOperation()));
  materialized.insert(copy);
  forms.forget(dot);
  if (left) {
    dot.getLhsMutable().assign(copy);
    dot.setLhsBatch(batchDims);
    dot.setLhsContract(contractDims);
    return;
  }
  dot.getRhsMutable().assign(copy);
  dot.setRhsBatch(batchDims);
  dot.setRhsContract(contractDims);
}

void Former::prepareProducts() {
  auto stop = [&](Operation *op) { return isMaterialized(op); };
  for (net::DotOp dot : llvm::make_early_inc_range(block.getOps<net::DotOp>())) {
    if (!isLibraryProduct(dot))
      continue;
    ProductBlockers blockers;
    FailureOr<Product> product = analyzeProduct(dot, forms, stop, blockers);
    if (failed(product)) {
      if (blockers.lhs)
        canonicalizeOperand(dot, /*left=*/true);
      if (blockers.rhs)
        canonicalizeOperand(dot, /*left=*/false);
      product = analyzeProduct(dot, forms, stop, blockers);
    }
    if (failed(product))
      continue;
    products[dot] = *product;
    if (product->transpose)
      materialized.insert(product->transpose);
  }
  for (net::ConvolutionOp convolution : block.getOps<net::ConvolutionOp>())
    if (options.libraryConvolutions && isLibraryConvolution(convolution))
      convolutions.insert(convolution);
}

/// The contiguous memory that holds `value`, where there is.
std::optional<View> Former::findMemory(Value value) {
  Variables variables;
  SmallVector<LinearForm> indices;
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  for (int64_t extent : shape)
    indices.push_back(extent == 1 ? LinearForm(0) : LinearForm::variable(variables.add(Variables::Loop, extent)));
  View view = traceView(value, indices, variables, forms, [&](Operation *op) { return isMaterialized(op); });
  if (isMadeFromNothing(view.base))
    return std::nullopt;
  LinearForm expected = variables.linearize(indices, shape);
  LinearForm start = view.position + expected * -1;
  int64_t bytes = start.constant * ((typeOf(value).getElementTypeBitWidth() + 7) / 8);
  if (!start.isConstant() || bytes % 64 != 0)
    return std::nullopt;
  view.position = start;
  return view;
}

/// Whether moves alone lead from a constant or the like to `value`.
bool Former::isMadeFromNothing(Value value) {
  Variables variables;
  SmallVector<LinearForm> indices(typeOf(value).getRank());
  View view = traceView(value, indices, variables, forms, [&](Operation *op) { return isMaterialized(op); });
  Operation *op = view.base.getDefiningOp();
  return op && !isMaterialized(op) && forms.get(op).kind == OpForm::Source;
}

/// Marks what operations need in memory that can look through nothing. What is copied hides what it was copied from, so
/// that views through it are looked at again, until no more copies are needed.
void Former::requireMemory() {
  SmallVector<Operation *> readers;
  for (Operation &op : block) {
    OpForm::Kind kind = forms.get(&op).kind;
    bool looksThrough = kind == OpForm::Move || kind == OpForm::Source || kind == OpForm::Map || kind == OpForm::Reduce;
    if (convolutions.contains(&op) || (!looksThrough && !products.contains(&op)))
      readers.push_back(&op);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : readers) {
      bool alone = forms.get(op).kind == OpForm::Alone && !convolutions.contains(op);
      for (Value operand : op->getOperands()) {
        if ((alone && isMadeFromNothing(operand)) || findMemory(operand))
          continue;
        materialized.insert(operand.getDefiningOp());
        ++numCopies;
        changed = true;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

/// How `position` in a value runs along the domain: like the domain, or once for each of its rows.
Access Former::classify(const LinearForm &position, int64_t elements, ArrayRef<int64_t> domain,
                        const Variables &variables) {
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

void Former::addUses(Operation *op, const OpForm &form, ClusterProblem::Node &node) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Variables variables;
    SmallVector<LinearForm> loops, indices;
    bool direct = node.kind != ClusterProblem::Node::Barrier && index < form.maps.size() && form.maps[index];
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
    View view = traceView(operand, indices, variables, forms, [&](Operation *op) { return isMaterialized(op); });
    int64_t elements = typeOf(view.base).getNumElements();
    addUse(node, view.base, direct ? classify(view.position, elements, form.domain, variables) : Access::Memory);
  }
}

void Former::addUse(ClusterProblem::Node &node, Value base, Access access) {
  ClusterProblem::Use use;
  use.access = access;
  use.elements = typeOf(base).getNumElements();
  if (!isMadeFromNothing(base))
    use.value = valueIds.try_emplace(base, valueIds.size()).first->second;
  // What leaves a loop is there at its end.
  Operation *producer = base.getDefiningOp();
  if (producer && net::leavesLoop(producer))
    producer = nest.getEnd(nest.getLoop(producer));
  if (producer && nodeOf.contains(producer))
    use.producer = nodeOf[producer];
  node.uses.push_back(use);
}

/// A loop ends behind everything that is in it.
void Former::endLoop(net::EndLoopOp op, ClusterProblem::Node &node) {
  net::LoopOp loop = nest.getLoop(op);
  node.behind = std::move(bodies[loop]);
}

/// The end of the outermost loop that `node` is in; the node itself where it is in none.
unsigned Former::getOutermostEnd(unsigned node) {
  net::LoopOp outermost = nest.getOutermost(ops[node]);
  return outermost ? nodeOf[nest.getEnd(outermost)] : node;
}

/// Assignments come as soon as they can, and after what reads the old value.
void Former::orderUpdates() {
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
    ClusterProblem::Node &node = problem.nodes[nodeOf[assign]];
    node.early = true;
    auto value = readers.find(assign.getVariableAttr());
    if (value == readers.end())
      continue;
    // What makes the new value waits for the readers, not the assignment, which does nothing.
    for (const ClusterProblem::Use &use : node.uses)
      if (use.producer >= 0)
        llvm::append_range(problem.nodes[use.producer].after, readersOf[value->second]);
  }
}

/// What operations of one cluster have in common: the ranks that run them, the segment that they belong to, the loop,
/// by its number, and whether they are of forward. What backward computes again is no part of a kernel of forward.
static Attribute getMembers(Operation *op, unsigned loop) {
  auto orNothing = [&](StringRef name) {
    Attribute attribute = op->getAttr(name);
    return attribute ? attribute : Attribute(UnitAttr::get(op->getContext()));
  };
  auto isForward = BoolAttr::get(op->getContext(), net::getRole(op) == net::Role::Forward);
  auto number = IntegerAttr::get(IndexType::get(op->getContext()), loop);
  return ArrayAttr::get(op->getContext(), {orNothing(dist::kOnAttr), orNothing(dist::kSegmentAttr), isForward, number});
}

void Former::makeProblem() {
  for (Operation &op : block) {
    const OpForm &form = forms.get(&op);
    bool computed = isMaterialized(&op);
    if (isLeaf(&op) || (!computed && (form.kind == OpForm::Move || form.kind == OpForm::Source)))
      continue;
    ClusterProblem::Node node;
    bool isKernel = !products.contains(&op) && !convolutions.contains(&op);
    // What a product writes in another order is the product's.
    if (computed && forms.get(&op).kind == OpForm::Move)
      if (auto dot = op.getOperand(0).getDefiningOp<net::DotOp>(); dot && products.contains(dot))
        isKernel &= products[dot].transpose != &op;
    if (isKernel && form.kind == OpForm::Reduce) {
      node.kind = ClusterProblem::Node::Reduce;
      node.kept = form.kept;
    } else if (isKernel && (form.kind == OpForm::Map || form.kind == OpForm::Move || form.kind == OpForm::Source)) {
      node.kind = ClusterProblem::Node::Map;
    }
    node.expensive = form.expensive;
    net::LoopOp loop = nest.getLoop(&op);
    unsigned loopId = loop ? loopIds.try_emplace(loop, loopIds.size() + 1).first->second : 0;
    node.members = memberIds.try_emplace(getMembers(&op, loopId), memberIds.size()).first->second;
    node.passing = op.hasAttr(dist::kFetchAtAttr) && isa<dist::CollectiveOp>(op);
    node.elements = 1;
    for (int64_t extent : form.domain)
      node.elements *= extent;
    if (auto product = products.find(&op); product != products.end()) {
      addUse(node, product->second.lhs.base, Access::Memory);
      addUse(node, product->second.rhs.base, Access::Memory);
    } else {
      addUses(&op, form, node);
    }
    if (auto end = dyn_cast<net::EndLoopOp>(op))
      endLoop(end, node);
    // A loop waits for nothing but what it reads.
    if (Operation *trigger = triggers.lookup(&op); trigger && nest.getLoop(trigger) == loop)
      if (auto known = nodeOf.find(trigger); known != nodeOf.end())
        node.trigger = static_cast<int>(known->second);
    unsigned index = problem.nodes.size();
    for (const ClusterProblem::Use &use : node.uses)
      if (use.producer >= 0)
        usersOf[use.producer].push_back(index);
    nodeOf[&op] = index;
    if (loop)
      bodies[isa<net::EndLoopOp>(op) ? nest.getParent(loop) : loop].push_back(index);
    ops.push_back(&op);
    problem.nodes.push_back(std::move(node));
    usersOf.emplace_back();
  }
}

/// What alone reads a product and adds a smaller value to it may be the library's too.
void Former::findFinishing() {
  for (auto [dot, product] : products) {
    unsigned made = nodeOf.lookup(product.transpose ? product.transpose : dot);
    if (usersOf[made].size() != 1 || !hasEpilogues(dot->getResult(0).getType()))
      continue;
    ClusterProblem::Node &node = problem.nodes[usersOf[made].front()];
    node.finishing =
        isa<net::AddOp>(ops[usersOf[made].front()]) && llvm::all_of(node.uses, [&](const ClusterProblem::Use &use) {
          bool isProduct = use.producer == static_cast<int>(made);
          return isProduct ? use.access == Access::Same : use.elements < node.elements;
        });
  }
}

//===----------------------------------------------------------------------===//
// The answer
//===----------------------------------------------------------------------===//

/// `value` in the new program, contiguous.
Value Former::getMemory(Value value) {
  if (Value known = moved.lookupOrNull(value))
    return known;
  std::optional<View> view = findMemory(value);
  Value base = moved.lookupOrDefault(view->base);
  if (base.getType() == value.getType() && view->position.constant == 0)
    return base;
  OpBuilder builder = getViewBuilder(value);
  Value part = dist::ViewOp::create(builder, value.getLoc(), value.getType(), base, view->position.constant);
  moved.map(value, part);
  return part;
}

/// Where a view of `value` is made: here, or in front of the outermost loop that it is not in, since what comes behind
/// that may read it too.
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
  matmul->setDiscardableAttrs(dot->getDiscardableAttrDictionary());
  moved.map(result->getResult(0), matmul.getResult());
  ++numProducts;
}

namespace {

/// Copies operations into the body of a kernel, with the layout operations between them; what else they read becomes
/// inputs.
struct BodyBuilder {
  OpBuilder builder;
  Block &body;
  function_ref<bool(Operation *)> isInside;
  IRMapping mapping;
  SmallVector<Value> inputs;

  Value get(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (op && isInside(op)) {
      clone(op);
      return mapping.lookup(value);
    }
    inputs.push_back(value);
    Value argument = body.addArgument(value.getType(), value.getLoc());
    mapping.map(value, argument);
    return argument;
  }

  void clone(Operation *op) {
    for (Value operand : op->getOperands())
      get(operand);
    Operation *copy = builder.clone(*op, mapping);
    copy->setDiscardableAttrs(ArrayRef<NamedAttribute>());
  }
};

} // namespace

/// Builds the kernel of `members`; one per member where the loops cannot be planned together.
void Former::buildKernel(ArrayRef<unsigned> members) {
  llvm::DenseSet<unsigned> inside(members.begin(), members.end());
  OpBuilder builder(block.getTerminator());
  SmallVector<Value> outputs;
  Operation *named = ops[members.back()];
  for (unsigned member : members) {
    if (!stored[member] || llvm::all_of(usersOf[member], [&](unsigned user) { return inside.contains(user); }))
      continue;
    llvm::append_range(outputs, ops[member]->getResults());
    named = ops[member];
  }
  // What nothing uses is not computed.
  if (outputs.empty())
    return;
  auto kernel = dist::KernelOp::create(builder, named->getLoc(), ValueRange(outputs).getTypes(), ValueRange(),
                                       DenseI64ArrayAttr());
  Block &body = kernel.getBody().emplaceBlock();
  bool alone = forms.get(named).kind == OpForm::Alone;
  auto isInside = [&](Operation *op) {
    auto node = nodeOf.find(op);
    if (node != nodeOf.end())
      return inside.contains(node->second) || !stored[node->second];
    OpForm::Kind kind = forms.get(op).kind;
    // A kernel of its own looks through nothing.
    return kind == OpForm::Source || (kind == OpForm::Move && (!alone || isMadeFromNothing(op->getResult(0))));
  };
  BodyBuilder copier{OpBuilder::atBlockEnd(&body), body, isInside, {}, {}};
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(copier.get(output));
  dist::YieldOp::create(copier.builder, named->getLoc(), yielded);
  for (Value &input : copier.inputs)
    input = getMemory(input);
  // Views that this took stand behind the kernel.
  kernel->moveBefore(block.getTerminator());
  kernel.getInputsMutable().assign(copier.inputs);
  if (members.size() > 1 && !canPlan(kernel)) {
    kernel.erase();
    for (unsigned member : members) {
      stored[member] = true;
      buildKernel(member);
    }
    return;
  }
  kernel->setDiscardableAttrs(named->getDiscardableAttrDictionary());
  moved.map(outputs, SmallVector<Value>(kernel.getResults()));
  ++numKernels;
}

bool Former::canPlan(dist::KernelOp kernel) {
  auto [known, isNew] = planned.try_emplace(StringAttr::get(kernel.getContext(), getKernelText(kernel)));
  if (isNew)
    known->second = planKernel(kernel).plan != nullptr;
  return known->second;
}

void Former::rebuild(const Clustering &clustering) {
  stored = clustering.stored;
  SmallVector<Operation *> leaves, old;
  for (Operation &op : block.without_terminator())
    (isLeaf(&op) ? leaves : old).push_back(&op);
  // What is there from the start stays, in front.
  for (Operation *op : leaves)
    op->moveBefore(block.getTerminator());
  SmallVector<Operation *> first;
  for (ArrayRef<unsigned> members : clustering.order)
    first.push_back(ops[members.front()]);
  for (unsigned item : keepBodiesTogether(first, nest)) {
    ArrayRef<unsigned> members = clustering.order[item];
    Operation *op = first[item];
    const OpForm &form = forms.get(op);
    if (convolutions.contains(op)) {
      moveToEnd(op);
      ++numProducts;
      continue;
    }
    if (problem.nodes[members.front()].kind != ClusterProblem::Node::Barrier || form.kind == OpForm::Alone) {
      buildKernel(members);
      continue;
    }
    if (auto product = products.find(op); product != products.end()) {
      buildProduct(cast<net::DotOp>(op), product->second);
      continue;
    }
    // The transposition that a product has done.
    if (form.kind == OpForm::Move)
      continue;
    moveToEnd(op);
  }
  for (Operation *op : llvm::reverse(old))
    op->erase();
  forms.forgetAll();
}

void Former::run() {
  joinReads();
  separateState();
  separateCarries();
  prepareProducts();
  requireMemory();
  triggers = findTriggers(block, forms, [&](Operation *op) { return isMaterialized(op); });
  makeProblem();
  orderUpdates();
  if (options.libraryEpilogues)
    findFinishing();
  rebuild(cluster(problem));
}

namespace {

struct FormKernelsPass : schedule::impl::FormKernelsPassBase<FormKernelsPass> {
  using FormKernelsPassBase::FormKernelsPassBase;

  void runOnOperation() override {
    OpForms forms;
    FormKernelsPassOptions options{libraryConvolutions, libraryEpilogues};
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      if (!func.getBody().hasOneBlock()) {
        func.emitError() << "function has " << func.getBody().getBlocks().size() << " blocks; a step has one";
        return signalPassFailure();
      }
      for (Operation &op : func.getBody().front())
        for (Value result : op.getResults())
          if (!isa<RankedTensorType>(result.getType())) {
            op.emitError() << "value is of " << result.getType()
                           << "; kernels are formed of tensors, before collectives are started";
            return signalPassFailure();
          }
      FailureOr<net::LoopNest> nest = net::LoopNest::find(func.getBody().front());
      if (failed(nest))
        return signalPassFailure();
      Former former(func, *nest, forms, options);
      former.run();
      numKernels += former.numKernels;
      numProducts += former.numProducts;
      numCopies += former.numCopies;
    }
  }
};

} // namespace
