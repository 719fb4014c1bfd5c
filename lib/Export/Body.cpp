//===- Body.cpp - writes the operations of a step -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop of `net` lies flat in its block, between two operations; here it becomes a region. Reads and assignments of
// variables are the arguments and results of the step, so they are no operations of the text.
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Forms.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

std::string exporter::getLocationPath(Operation *op) {
  auto scope = net::kScopeAttr.get(op);
  bool isBackward = net::getRole(op) == net::Role::Backward;
  if (!scope && !isBackward)
    return "";
  // Dots separate components unless they are escaped.
  std::string path;
  StringRef dotted = scope ? scope.getValue() : StringRef();
  for (size_t index = 0; index < dotted.size(); ++index) {
    if (dotted[index] == '\\' && index + 1 < dotted.size())
      path += dotted[++index];
    else
      path += dotted[index] == '.' ? '/' : dotted[index];
  }
  auto [first, rest] = StringRef(path).split('/');
  std::string begin = isBackward ? ("transpose(jvp(" + first + "))").str() : first.str();
  return ("jit(step)/" + begin + (rest.empty() ? "" : "/") + rest + "/" + op->getName().stripDialect()).str();
}

LogicalResult Body::writeOperation(Operation *op) {
  writer.setLocation(getLocationPath(op));
  auto form = dyn_cast<StableHLOFormInterface>(op);
  if (!form)
    return op->emitError() << op->getName()
                           << " has no form in StableHLO; attach StableHLOFormInterface to it, or leave it out";
  FailureOr<SmallVector<Term>> results = form.writeStableHLO(writer);
  if (failed(results))
    return failure();
  for (auto [result, term] : llvm::zip_equal(op->getResults(), *results)) {
    assert(term.type == result.getType() && "a form keeps the type of the result");
    writer.set(result, term);
  }
  return success();
}

/// The operation in the body of `loop` that ends it.
static Operation *findEnd(net::LoopOp loop) {
  for (Operation *user : loop.getIndex().getUsers())
    if (isa<net::EndLoopOp>(user))
      return user;
  llvm_unreachable("loops are verified");
}

LogicalResult Body::write(llvm::function_ref<bool(Operation *)> isMeant) {
  for (auto op = block.begin(); op != block.end(); ++op) {
    auto loop = dyn_cast<net::LoopOp>(*op);
    if (!isMeant(&*op)) {
      if (loop)
        op = findEnd(loop)->getIterator();
      continue;
    }
    if (isa<net::ReadOp, net::AssignOp, dist::WhenOp, dist::YieldOp, func::ReturnOp>(*op))
      continue;
    if (loop) {
      FailureOr<Operation *> end = writeLoop(loop);
      if (failed(end))
        return failure();
      op = (*end)->getIterator();
      continue;
    }
    if (failed(writeOperation(&*op)))
      return failure();
  }
  writer.setLocation("");
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {

/// A value that passes from one iteration to the next.
struct Passed {
  /// `net.carry`, `net.stack` or `net.total`.
  Operation *op;
  Term init;
  /// The result of the loop: that of `net.next`, or of `op`.
  Value result;
};

} // namespace

/// `[i, 0, 0]`: the position of the element of a stack.
static Terms getPosition(Writer &writer, const Term &index, int64_t rank) {
  Terms position = {index};
  for (int64_t dim = 1; dim < rank; ++dim)
    position.push_back(dim == 1 ? writer.integer(index.getElementType(), 0) : position.back());
  return position;
}

static SmallVector<int64_t> getElementShape(ArrayRef<int64_t> stack) {
  SmallVector<int64_t> shape(stack);
  shape.front() = 1;
  return shape;
}

static Term writeTake(Writer &writer, const Term &stack, const Term &index, ArrayRef<int64_t> shape) {
  Terms operands = {stack};
  operands.append(getPosition(writer, index, stack.type.getRank()));
  SmallVector<int64_t> element = getElementShape(stack.getShape());
  Term taken = writer.op("stablehlo.dynamic_slice", operands, stack.type.clone(element), ", sizes = " + list(element));
  return writer.reshape(taken, shape);
}

static Term writeUpdate(Writer &writer, const Term &stack, const Term &value, const Term &index) {
  Terms operands = {stack, writer.reshape(value, getElementShape(stack.getShape()))};
  operands.append(getPosition(writer, index, stack.type.getRank()));
  return writer.op("stablehlo.dynamic_update_slice", operands, stack.type);
}

/// Writes the loop as a `stablehlo.while` over its index and all values that iterations pass on. The counter runs as
/// the index does, so that elements of stacks are read and written at its value.
FailureOr<Operation *> Body::writeLoop(net::LoopOp loop) {
  Operation *end = findEnd(loop);
  writer.setLocation(getLocationPath(loop));
  SmallVector<Passed> passed;
  int depth = 0;
  for (Operation *op = loop->getNextNode(); op != end; op = op->getNextNode()) {
    depth += isa<net::LoopOp>(op) ? 1 : isa<net::EndLoopOp>(op) ? -1 : 0;
    if (depth != 0)
      continue;
    if (auto carry = dyn_cast<net::CarryOp>(op)) {
      passed.push_back({op, writer.get(carry.getInit()), net::getNext(carry).getResult()});
    } else if (isa<net::StackOp, net::TotalOp>(op)) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      passed.push_back({op, writer.splat(type.getElementType(), 0, type.getShape()), op->getResult(0)});
    }
  }
  auto writeIteration = [&](const Term &index, ArrayRef<Term> values) -> FailureOr<Terms> {
    writer.set(loop.getIndex(), index);
    llvm::DenseMap<Operation *, Term> nexts;
    for (auto [term, value] : llvm::zip_equal(values, passed)) {
      nexts[value.op] = term;
      if (auto carry = dyn_cast<net::CarryOp>(value.op))
        writer.set(carry.getResult(), term);
    }
    for (Operation *op = loop->getNextNode(); op != end; op = op->getNextNode()) {
      if (isa<net::CarryOp>(op))
        continue;
      if (auto inner = dyn_cast<net::LoopOp>(op)) {
        FailureOr<Operation *> innerEnd = writeLoop(inner);
        if (failed(innerEnd))
          return failure();
        op = *innerEnd;
        continue;
      }
      writer.setLocation(getLocationPath(op));
      if (auto take = dyn_cast<net::TakeOp>(op)) {
        writer.set(take.getResult(), writeTake(writer, writer.get(take.getStack()), index,
                                               cast<RankedTensorType>(take.getType()).getShape()));
      } else if (auto next = dyn_cast<net::NextOp>(op)) {
        nexts[next.getCarry().getDefiningOp()] = writer.get(next.getValue());
      } else if (auto stack = dyn_cast<net::StackOp>(op)) {
        nexts[op] = writeUpdate(writer, nexts[op], writer.get(stack.getValue()), index);
      } else if (auto total = dyn_cast<net::TotalOp>(op)) {
        nexts[op] = writer.binary("stablehlo.add", nexts[op], writer.get(total.getValue()));
      } else if (failed(writeOperation(op))) {
        return failure();
      }
    }
    return llvm::map_to_vector(passed, [&](const Passed &value) { return nexts[value.op]; });
  };
  Terms inits = llvm::map_to_vector(passed, [](const Passed &value) { return value.init; });
  FailureOr<Terms> results = writer.writeLoop(cast<RankedTensorType>(loop.getIndex().getType()), loop.getCount(),
                                              loop.getReverse(), inits, writeIteration);
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip_equal(passed, *results))
    writer.set(value.result, result);
  return end;
}
