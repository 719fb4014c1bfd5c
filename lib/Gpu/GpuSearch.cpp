//===- GpuSearch.cpp - searches for the best element on a GPU -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the largest or smallest element and its index, with one block per result. Ties go to the lowest index, so the
// threads may search in any order.
//
//===----------------------------------------------------------------------===//

#include "GpuSearch.h"
#include "GpuWriter.h"
#include "meshwright/Kernels/KernelBody.h"
#include "meshwright/Rules/Elements.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

static constexpr uint64_t kThreads = 256;

std::optional<GpuSearch> GpuSearch::match(dist::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto search = dyn_cast<net::ArgReduceOp>(body.front());
  if (!search || search->getNextNode() != body.getTerminator() || !isa<BlockArgument>(search.getOperand()) ||
      kernel.getInPlace())
    return std::nullopt;
  GpuSearch found;
  found.kernel = kernel;
  found.search = search;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(search.getOperand().getType()).getShape();
  found.size = shape[search.getDim()];
  for (int64_t extent : shape.drop_front(search.getDim() + 1))
    found.stride *= extent;
  return found;
}

std::vector<GpuLaunchPlan> GpuSearch::planLaunches() {
  GpuLaunchPlan launch;
  launch.mapping = GpuLaunchPlan::Search;
  launch.numOuter = cast<RankedTensorType>(search.getValue().getType()).getNumElements();
  launch.numInner = size;
  launch.depth = std::min(llvm::bit_ceil(static_cast<uint64_t>(size)), kThreads);
  return {launch};
}

namespace meshwright::emit {

/// Writes what a thread does.
class SearchWriter : GpuWriter {
public:
  SearchWriter(GpuSearch &plan, GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder,
               ValueRange pointers)
      : GpuWriter(launch, machine, builder, pointers), plan(plan), search(plan.search) {}

  void emit();

private:
  /// An element and its index.
  using Candidate = std::pair<Value, Value>;

  Value read(Value index);
  Candidate searchPart();
  void agree(Candidate mine);
  void storeResults();
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, condition, a, b); }

  GpuSearch &plan;
  net::ArgReduceOp search;
  Type element;
  Value thread, first;
  /// Shared memory for every thread's candidate.
  Value values, indices;
};

} // namespace meshwright::emit

Value SearchWriter::read(Value index) {
  auto argument = cast<BlockArgument>(search.getOperand());
  return load(pointers[argument.getArgNumber()], element, add(first, scale(index, plan.stride)));
}

/// Searches every n-th element from the thread's own number on, for n threads; threads past the end take the last
/// element.
SearchWriter::Candidate SearchWriter::searchPart() {
  Value begin = arith::MinUIOp::create(builder, thread, getIndex(plan.size - 1));
  Value threads = getIndex(launch.getNumThreads());
  auto loop = buildLoop(builder, add(begin, threads), getIndex(plan.size), threads, {read(begin), begin},
                        [&](Value iv, ValueRange best) {
                          Value other = read(iv), better = kernel::isBetter(builder, search, other, best[0]);
                          return SmallVector<Value>{select(better, other, best[0]), select(better, iv, best[1])};
                        });
  return {loop.getResult(0), loop.getResult(1)};
}

/// The upper half of the threads gives way to the lower, or the other way round, until the first has the best.
void SearchWriter::agree(Candidate mine) {
  Type integer = builder.getI64Type();
  auto put = [&](Candidate candidate) {
    store(values, candidate.first, thread);
    store(indices, arith::IndexCastOp::create(builder, integer, candidate.second), thread);
  };
  auto get = [&](Value from) -> Candidate {
    Value index = load(indices, integer, from);
    return {load(values, element, from), arith::IndexCastOp::create(builder, builder.getIndexType(), index)};
  };
  put(mine);
  machine.emitBarrier(builder);
  for (unsigned half = launch.depth / 2; half > 0; half /= 2) {
    emitIf(isLess(thread, getIndex(half)), [&] {
      Candidate here = get(thread), there = get(add(thread, getIndex(half)));
      Value better = kernel::isBetter(builder, search, there.first, here.first);
      Value worse = kernel::isBetter(builder, search, here.first, there.first);
      Value wins = select(worse, better, arith::OrIOp::create(builder, better, isLess(there.second, here.second)));
      put({select(wins, there.first, here.first), select(wins, there.second, here.second)});
    });
    machine.emitBarrier(builder);
  }
}

void SearchWriter::storeResults() {
  Value zero = getIndex(0), block = machine.getBlock(builder);
  auto index = cast<IntegerType>(schedule::getSignless(search.getIndex().getType()).getElementType());
  Operation *results = plan.kernel.getBody().front().getTerminator();
  ValueRange outputs = pointers.take_back(plan.kernel.getNumResults());
  for (auto [result, output] : llvm::zip_equal(results->getOperands(), outputs)) {
    if (result == search.getValue()) {
      store(output, load(values, element, zero), block);
      continue;
    }
    Value found = load(indices, builder.getI64Type(), zero);
    store(output, index.getWidth() == 64 ? found : arith::TruncIOp::create(builder, index, found).getResult(), block);
  }
}

void SearchWriter::emit() {
  element = schedule::getSignless(search.getOperand().getType()).getElementType();
  int64_t bytes = llvm::alignTo(launch.getNumThreads() * getMemoryType(element).getIntOrFloatBitWidth() / 8, 16);
  launch.sharedBytes = bytes + launch.getNumThreads() * 8;
  values = machine.getShared(builder);
  indices = LLVM::GEPOp::create(builder, values.getType(), builder.getI8Type(), values,
                                ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  thread = machine.getThread(builder);
  Value block = machine.getBlock(builder), stride = getIndex(plan.stride);
  Value row = arith::DivUIOp::create(builder, block, stride), column = arith::RemUIOp::create(builder, block, stride);
  first = add(scale(row, plan.size * plan.stride), column);
  agree(searchPart());
  emitIf(isEqual(thread, getIndex(0)), [&] { storeResults(); });
}

void GpuSearch::emit(GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder, ValueRange pointers) {
  SearchWriter(*this, launch, machine, builder, pointers).emit();
}
