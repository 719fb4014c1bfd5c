//===- KernelMemory.cpp - decides which values are in memory --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout operations need no memory as long as all readers can read through them. This file finds those that cannot
// (GEMMs with other strides, convolutions, results, carried values) and marks the operands that have to be stored for
// them, or inserts copies.
//
//===----------------------------------------------------------------------===//

#include "KernelMemory.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Uses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using net::typeOf;

KernelMemory::KernelMemory(Block &block, net::LoopNest &nest, OpForms &forms, bool libraryConvolutions)
    : block(block), nest(nest), forms(forms), libraryConvolutions(libraryConvolutions) {
  joinReads();
  separateState();
  separateCarries();
  prepareProducts();
  if (net::kSumPartsAttr.isOn(block.getParentOp()))
    keepOrders();
  requireMemory();
}

/// However often a variable is read, it is one piece of memory.
void KernelMemory::joinReads() {
  llvm::DenseMap<Attribute, net::ReadOp> first;
  for (auto read : llvm::make_early_inc_range(block.getOps<net::ReadOp>())) {
    auto [known, isNew] = first.try_emplace(read.getVariableAttr(), read);
    if (isNew)
      continue;
    read.replaceAllUsesWith(known->second.getResult());
    read.erase();
  }
}

/// Replaces `operand` by a copy in memory of its own, made before `place`.
void KernelMemory::separate(OpOperand &operand, Operation *place, DictionaryAttr on) {
  OpBuilder builder(place);
  auto copy = net::ReshapeOp::create(builder, operand.getOwner()->getLoc(), operand.get().getType(), operand.get());
  dist::setOn(copy, on);
  nest.addBefore(copy, place);
  operand.set(copy);
  materialized.insert(copy);
}

/// Copies variables and inputs before they are assigned or returned themselves: their memory may be overwritten before.
void KernelMemory::separateState() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!net::isOutput(&op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *source = getBase(operand.get());
      if (!source || isLeaf(source))
        separate(operand, &op, isa<net::AssignOp>(op) ? dist::getOn(&op) : dist::getOn(operand.get()));
    }
  }
}

/// Gives every carried value memory of its own at the start if it is made from constants, so that it can stay there,
/// and copies a carried value that an iteration hands on as another one, since both are overwritten at the same time.
void KernelMemory::separateCarries() {
  for (net::CarryOp op : block.getOps<net::CarryOp>())
    if (isMadeFromNothing(op.getInit()))
      separate(op.getInitMutable(), nest.getLoop(op), dist::getOn(op.getOperation()));
  for (net::NextOp op : llvm::make_early_inc_range(block.getOps<net::NextOp>()))
    if (auto other = dyn_cast_or_null<net::CarryOp>(getBase(op.getValue()));
        other && other.getResult() != op.getCarry() && nest.getLoop(other) == nest.getLoop(op))
      separate(op.getValueMutable(), op, dist::getOn(op.getOperation()));
}

/// The maker of the value whose elements `value` holds in another order; null for an argument.
Operation *KernelMemory::getBase(Value value) const {
  Variables variables;
  SmallVector<LinearForm> indices(typeOf(value).getRank());
  return traceView(value, indices, variables, forms, [](Operation *) { return false; }).base.getDefiningOp();
}

bool KernelMemory::isLeaf(Operation *op) const {
  return op->getNumOperands() == 0 && !isa<net::LoopOp>(op) && forms.get(op).kind == OpForm::None &&
         op->getNumResults() > 0;
}

/// Puts a copy in the order [batch, own, sum] before `dot`.
void KernelMemory::canonicalizeOperand(net::DotOp dot, bool left) {
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
  // An operand that a loop only reads is reordered once, before the loop.
  Operation *place = nest.hoist(dot, operand);
  OpBuilder builder(place);
  auto copy = net::TransposeOp::create(builder, dot.getLoc(), typeOf(operand).clone(shape), operand, order);
  nest.addBefore(copy, place);
  dist::kSegmentAttr.copy(dot, copy);
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

/// Stores the layout operation that makes an operand; false where another operation makes it, or it is stored already.
bool KernelMemory::storeOperand(Value operand) {
  Operation *maker = operand.getDefiningOp();
  return maker && forms.get(maker).kind == OpForm::Move && materialized.insert(maker).second;
}

void KernelMemory::prepareProduct(net::DotOp dot) {
  auto stop = [&](Operation *op) { return isMaterialized(op); };
  ProductBlockers blockers;
  FailureOr<Product> product = analyzeProduct(dot, forms, stop, blockers);
  if (failed(product)) {
    // An operand in its own order serves all products that read it, most often.
    bool storesLhs = blockers.lhs && storeOperand(dot.getLhs()), storesRhs = blockers.rhs && storeOperand(dot.getRhs());
    if (storesLhs || storesRhs)
      product = analyzeProduct(dot, forms, stop, blockers);
  }
  if (failed(product)) {
    if (blockers.lhs)
      canonicalizeOperand(dot, /*left=*/true);
    if (blockers.rhs)
      canonicalizeOperand(dot, /*left=*/false);
    product = analyzeProduct(dot, forms, stop, blockers);
  }
  if (failed(product))
    return;
  products[dot] = *product;
  if (product->transpose)
    materialized.insert(product->transpose);
}

void KernelMemory::prepareProducts() {
  for (net::DotOp dot : llvm::make_early_inc_range(block.getOps<net::DotOp>()))
    if (isLibraryProduct(dot))
      prepareProduct(dot);
  for (net::ConvolutionOp convolution : block.getOps<net::ConvolutionOp>())
    if (libraryConvolutions && schedule::isLibraryConvolution(convolution))
      convolutions.insert(convolution);
}

const Product *KernelMemory::getProduct(Operation *op) const {
  auto product = products.find(op);
  return product == products.end() ? nullptr : &product->second;
}

bool KernelMemory::isOfProduct(Operation *op) const {
  auto dot = op->getNumOperands() == 0 ? net::DotOp() : op->getOperand(0).getDefiningOp<net::DotOp>();
  const Product *product = dot ? getProduct(dot) : nullptr;
  return product && product->transpose == op;
}

View KernelMemory::trace(Value value, ArrayRef<LinearForm> indices, Variables &variables) const {
  return traceView(value, indices, variables, forms, [&](Operation *op) { return isMaterialized(op); });
}

std::optional<View> KernelMemory::find(Value value) const {
  Variables variables;
  SmallVector<LinearForm> indices;
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  for (int64_t extent : shape)
    indices.push_back(extent == 1 ? LinearForm(0) : LinearForm::variable(variables.add(Variables::Loop, extent)));
  View view = trace(value, indices, variables);
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

bool KernelMemory::isMadeFromNothing(Value value) const {
  Variables variables;
  SmallVector<LinearForm> indices(typeOf(value).getRank());
  View view = trace(value, indices, variables);
  Operation *op = view.base.getDefiningOp();
  return op && !isMaterialized(op) && forms.get(op).kind == OpForm::Source;
}

/// True if the elements of `value` lie next to each other in their order, or are made from nothing.
bool KernelMemory::isDense(Value value) const {
  Variables variables;
  SmallVector<LinearForm> indices;
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  for (int64_t extent : shape)
    indices.push_back(extent == 1 ? LinearForm(0) : LinearForm::variable(variables.add(Variables::Loop, extent)));
  LinearForm start = trace(value, indices, variables).position + variables.linearize(indices, shape) * -1;
  return start.isConstant() || isMadeFromNothing(value);
}

/// Copies what a sum of floats would read in another order than its own, where bits must not depend on it: the lanes of
/// a kernel follow the memory.
void KernelMemory::keepOrders() {
  for (auto reduce : block.getOps<net::ReduceOp>()) {
    bool isSum = reduce.getKind() == ReduceKind::Sum || reduce.getKind() == ReduceKind::Product;
    if (!isSum || !net::isFloat(reduce.getResult()) || isDense(reduce.getOperand()))
      continue;
    materialized.insert(reduce.getOperand().getDefiningOp());
    ++numCopies;
  }
}

/// Marks what operations need in memory that can look through nothing. What is copied hides what it was copied from, so
/// that views through it are looked at again, until no more copies are needed.
void KernelMemory::requireMemory() {
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
        if ((alone && isMadeFromNothing(operand)) || find(operand))
          continue;
        materialized.insert(operand.getDefiningOp());
        ++numCopies;
        changed = true;
      }
    }
  }
}
