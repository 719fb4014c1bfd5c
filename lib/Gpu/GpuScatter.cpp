//===- GpuScatter.cpp - scatters on a GPU, ordered and without atomics ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GpuScatter.h describes the algorithm. It does not use atomics, since the order of additions would differ from run to
// run.
//
//===----------------------------------------------------------------------===//

#include "GpuScatter.h"
#include "GpuWriter.h"
#include "meshwright/Kernels/KernelBody.h"
#include "meshwright/Rules/Elements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

static constexpr unsigned kThreads = 256;
/// Flags that are read at a time, a byte each.
static constexpr unsigned kFlagsPerWord = 8;

static SmallVector<int64_t> getStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

/// The source with the elements of `value` in the same order: an argument of the kernel, or a splat constant; null if
/// there is no such source.
static Value getSource(Value value) {
  bool isBroadcast = false;
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<net::ReshapeOp, net::BroadcastOp>(op))
      break;
    isBroadcast |= isa<net::BroadcastOp>(op);
    value = op->getOperand(0);
  }
  auto constant = value.getDefiningOp<net::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return (dense && dense.isSplat()) || (isa<BlockArgument>(value) && !isBroadcast) ? value : Value();
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

GpuScatter::GpuScatter(dist::KernelOp kernel, net::ScatterOp scatter) : kernel(kernel), scatter(scatter) {
  net::ScatterDimsAttr dims = scatter.getDims();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(scatter.getUpdates().getType()).getShape();
  ArrayRef<int64_t> operandShape = cast<RankedTensorType>(scatter.getOperand().getType()).getShape();
  SmallVector<int64_t> strides = getStrides(shape), operandStrides = getStrides(operandShape), offsetDims;
  for (int64_t dim = 0; dim < static_cast<int64_t>(operandShape.size()); ++dim)
    if (!llvm::is_contained(dims.getInsertedDims(), dim) && !llvm::is_contained(dims.getOperandBatchingDims(), dim))
      offsetDims.push_back(dim);
  size_t next = 0;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isOffset = llvm::is_contained(dims.getUpdateWindowDims(), static_cast<int64_t>(dim));
    (isOffset ? windowSize : numWindows) *= size;
    if (isOffset)
      window.push_back({size, strides[dim], operandStrides[offsetDims[next++]]});
    else
      batch.push_back({size, strides[dim], 0});
  }
  // The dimensions of the indices, but for the index vector, are those of the windows' numbers.
  for (auto [dim, indicesDim] : llvm::zip(dims.getOperandBatchingDims(), dims.getIndicesBatchingDims()))
    batch[indicesDim - (indicesDim > dims.getIndexVectorDim() ? 1 : 0)].inOperand = operandStrides[dim];
}

/// Windows are one element wide where indices say where they begin.
bool GpuScatter::windowsMeetWhole() {
  net::ScatterDimsAttr dims = scatter.getDims();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(scatter.getUpdates().getType()).getShape();
  size_t next = 0;
  for (int64_t dim = 0; dim < cast<RankedTensorType>(scatter.getOperand().getType()).getRank(); ++dim) {
    if (llvm::is_contained(dims.getInsertedDims(), dim) || llvm::is_contained(dims.getOperandBatchingDims(), dim))
      continue;
    int64_t size = shape[dims.getUpdateWindowDims()[next++]];
    if (size != 1 && llvm::is_contained(dims.getScatterDimsToOperandDims(), dim))
      return false;
  }
  return true;
}

std::optional<GpuScatter> GpuScatter::match(dist::KernelOp kernel) {
  net::ScatterOp scatter;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isa<net::BroadcastOp, net::ConstantOp, net::ReshapeOp>(op))
      continue;
    if (scatter || !isa<net::ScatterOp>(op))
      return std::nullopt;
    scatter = cast<net::ScatterOp>(op);
  }
  if (!scatter || kernel.getNumResults() != 1 ||
      kernel.getBody().front().getTerminator()->getOperand(0) != scatter.getResult() ||
      !llvm::all_of(scatter->getOperands(), getSource))
    return std::nullopt;
  GpuScatter found(kernel, scatter);
  // The result may be where the operand was, but not where what is read later is.
  int64_t shared = kernel.getInPlace() ? (*kernel.getInPlace())[0] : -1;
  auto operand = dyn_cast<BlockArgument>(getSource(scatter.getOperand()));
  if (shared >= 0 && (!operand || operand.getArgNumber() != shared))
    return std::nullopt;
  if (!found.windowsMeetWhole() || found.numWindows == 0 || found.windowSize == 0)
    return std::nullopt;
  return found;
}

std::vector<GpuLaunchPlan> GpuScatter::planLaunches() {
  std::vector<GpuLaunchPlan> launches;
  if (!kernel.getInPlace() || (*kernel.getInPlace())[0] < 0) {
    GpuLaunchPlan copy;
    copy.mapping = GpuLaunchPlan::Copy;
    copy.numOuter = cast<RankedTensorType>(scatter.getType()).getNumElements();
    copy.width = kThreads;
    launches.push_back(copy);
  }
  GpuLaunchPlan launch;
  launch.mapping = GpuLaunchPlan::Scatter;
  launch.numOuter = numWindows;
  launch.numInner = windowSize;
  uint64_t threads = llvm::bit_ceil(static_cast<uint64_t>(std::max(numWindows, windowSize)));
  launch.depth = std::clamp<uint64_t>(threads, kFlagsPerWord, kThreads);
  launches.push_back(launch);
  return launches;
}

//===----------------------------------------------------------------------===//
// The code
//===----------------------------------------------------------------------===//

namespace meshwright::emit {

/// Writes what a thread does.
class ScatterWriter : GpuWriter {
public:
  ScatterWriter(GpuScatter &plan, GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder,
                ValueRange pointers)
      : GpuWriter(launch, machine, builder, pointers), plan(plan), scatter(plan.scatter) {}

  void emitCopy();
  void emitScatter();

private:
  Value read(Value tensor, Value index);
  SmallVector<Value> split(ArrayRef<GpuScatter::Dim> dims, Value number);
  Value getTarget(Value window);
  void emitFlags(Value flag);
  Value loadFlags(Value word);
  Value getNumWords() { return getIndex(launch.getNumThreads() / kFlagsPerWord); }
  void forEachFlag(function_ref<void(Value)> body);
  Value findEarlier(Value window, Value target);
  void combineAll(Value window, Value target);
  void combineWindow(Value window, Value target);

  GpuScatter &plan;
  net::ScatterOp scatter;
  /// The thread, how many there are, and a byte of shared memory for each.
  Value thread, threads, flags;
};

} // namespace meshwright::emit

/// An element of an operand of the scatter: an argument of the kernel, or a constant.
Value ScatterWriter::read(Value tensor, Value index) {
  Type element = schedule::getSignless(tensor.getType()).getElementType();
  Value source = getSource(tensor);
  if (auto argument = dyn_cast<BlockArgument>(source))
    return load(pointers[argument.getArgNumber()], element, index);
  auto dense = cast<DenseElementsAttr>(source.getDefiningOp<net::ConstantOp>().getValue());
  TypedAttr value = dense.getSplatValue<TypedAttr>();
  if (auto integer = dyn_cast<IntegerAttr>(value))
    value = builder.getIntegerAttr(element, integer.getValue());
  return arith::ConstantOp::create(builder, value);
}

void ScatterWriter::emitCopy() {
  Value first = scale(machine.getBlock(builder), launch.width), index = add(first, machine.getThread(builder));
  emitIf(isLess(index, getIndex(launch.numOuter)),
         [&] { store(pointers.back(), read(scatter.getOperand(), index), index); });
}

/// The indices of row-major number `number`.
SmallVector<Value> ScatterWriter::split(ArrayRef<GpuScatter::Dim> dims, Value number) {
  SmallVector<Value> indices(dims.size());
  for (size_t dim = dims.size(); dim-- > 0;) {
    Value size = getIndex(dims[dim].size);
    indices[dim] = arith::RemUIOp::create(builder, number, size);
    number = arith::DivUIOp::create(builder, number, size);
  }
  return indices;
}

/// The number of the operand's element at which a window begins; -1 if the window is outside.
Value ScatterWriter::getTarget(Value window) {
  net::ScatterDimsAttr dims = scatter.getDims();
  auto operand = cast<RankedTensorType>(scatter.getOperand().getType());
  auto indices = cast<RankedTensorType>(scatter.getIndices().getType());
  SmallVector<int64_t> operandStrides = getStrides(operand.getShape()), strides = getStrides(indices.getShape());
  Value target = getIndex(0), at = getIndex(0);
  size_t next = 0;
  SmallVector<Value> position = split(plan.batch, window);
  for (auto [dim, stride] : llvm::enumerate(strides)) {
    if (static_cast<int64_t>(dim) == dims.getIndexVectorDim())
      continue;
    target = add(target, scale(position[next], plan.batch[next].inOperand));
    at = add(at, scale(position[next++], stride));
  }
  bool isVector = dims.getIndexVectorDim() < indices.getRank();
  Value isInside = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
  for (auto [component, dim] : llvm::enumerate(dims.getScatterDimsToOperandDims())) {
    Value where = add(at, getIndex(isVector ? component * strides[dims.getIndexVectorDim()] : 0));
    Type element = indices.getElementType();
    Value start = kernel::toIndex(builder, read(scatter.getIndices(), where), element.isUnsignedInteger());
    isInside = arith::AndIOp::create(builder, isInside, isLess(start, getIndex(operand.getDimSize(dim))));
    target = add(target, scale(start, operandStrides[dim]));
  }
  return arith::SelectOp::create(builder, isInside, target, getIndex(-1));
}

/// Shows all threads of the block what each of them found.
void ScatterWriter::emitFlags(Value flag) {
  store(flags, flag, thread);
  machine.emitBarrier(builder);
}

/// True if an earlier window has the same target.
Value ScatterWriter::findEarlier(Value window, Value target) {
  Value none = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  auto search = buildLoop(builder, thread, window, threads, none, [&](Value iv, ValueRange found) {
    Value here = isEqual(getTarget(iv), target);
    return SmallVector<Value>{arith::OrIOp::create(builder, found[0], here)};
  });
  emitFlags(search.getResult(0));
  Value zero = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(0));
  auto gather = buildLoop(builder, getIndex(0), getNumWords(), getIndex(1), zero, [&](Value word, ValueRange found) {
    return SmallVector<Value>{arith::OrIOp::create(builder, found[0], loadFlags(word))};
  });
  machine.emitBarrier(builder);
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, gather.getResult(0), zero);
}

/// Several flags at a time, a byte each.
Value ScatterWriter::loadFlags(Value word) { return load(flags, builder.getI64Type(), word); }

/// Calls `body` for the number of each thread whose flag is set, in their order. Most words have none.
void ScatterWriter::forEachFlag(function_ref<void(Value)> body) {
  Value zero = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(0));
  buildLoop(builder, getIndex(0), getNumWords(), getIndex(1), {}, [&](Value word, ValueRange) {
    auto isLeft = [&](Value rest) -> Value {
      return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, rest, zero);
    };
    auto takeFirst = [&](Value rest) -> Value {
      Value bit = LLVM::CountTrailingZerosOp::create(builder, builder.getI64Type(), rest, /*is_zero_poison=*/true);
      Value byte = arith::DivUIOp::create(builder, kernel::toIndex(builder, bit, /*isUnsigned=*/true), getIndex(8));
      body(add(scale(word, kFlagsPerWord), byte));
      Value one = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(1));
      return arith::AndIOp::create(builder, rest, arith::SubIOp::create(builder, rest, one));
    };
    buildWhile(builder, loadFlags(word), isLeft, takeFirst);
    return SmallVector<Value>();
  });
}

/// Combines one window into what is there.
void ScatterWriter::combineWindow(Value window, Value target) {
  Value from = getIndex(0);
  for (auto [dim, index] : llvm::zip_equal(plan.batch, split(plan.batch, window)))
    from = add(from, scale(index, dim.inUpdates));
  buildLoop(builder, thread, getIndex(plan.windowSize), threads, {}, [&](Value iv, ValueRange) {
    Value update = from, place = target;
    for (auto [dim, index] : llvm::zip_equal(plan.window, split(plan.window, iv))) {
      update = add(update, scale(index, dim.inUpdates));
      place = add(place, scale(index, dim.inOperand));
    }
    Type element = schedule::getSignless(scatter.getType()).getElementType();
    Value old = load(pointers.back(), element, place);
    store(pointers.back(), kernel::combineUpdate(builder, scatter, old, read(scatter.getUpdates(), update)), place);
    return SmallVector<Value>();
  });
}

/// Goes through this window and the later ones, as many at a time as there are threads, and combines those of the same
/// target in order.
void ScatterWriter::combineAll(Value window, Value target) {
  Value end = getIndex(plan.numWindows), last = getIndex(plan.numWindows - 1);
  buildLoop(builder, window, end, threads, {}, [&](Value first, ValueRange) {
    Value mine = add(first, thread), known = arith::MinUIOp::create(builder, mine, last);
    Value meets = isEqual(getTarget(known), target);
    emitFlags(arith::AndIOp::create(builder, isLess(mine, end), meets));
    forEachFlag([&](Value number) { combineWindow(add(first, number), target); });
    machine.emitBarrier(builder);
    return SmallVector<Value>();
  });
}

void ScatterWriter::emitScatter() {
  launch.sharedBytes = launch.getNumThreads();
  flags = machine.getShared(builder);
  thread = machine.getThread(builder);
  threads = getIndex(launch.getNumThreads());
  Value window = machine.getBlock(builder), target = getTarget(window);
  // All threads of the block agree on both conditions, so all reach the barriers inside.
  Value isInside = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, target, getIndex(-1));
  emitIf(isInside, [&] {
    Value no = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
    emitIf(isEqual(findEarlier(window, target), no), [&] { combineAll(window, target); });
  });
}

void GpuScatter::emit(GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder, ValueRange pointers) {
  ScatterWriter writer(*this, launch, machine, builder, pointers);
  if (launch.mapping == GpuLaunchPlan::Copy)
    writer.emitCopy();
  else
    writer.emitScatter();
}
