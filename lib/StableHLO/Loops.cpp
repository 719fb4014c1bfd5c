//===- Loops.cpp - unrolling and conversion of counted loops --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frameworks roll short integer loops: JAX prints the twenty rounds of threefry as five iterations of four. Unrolling
// them folds constants between iterations and lets all rounds become one kernel. A loop that computes with floats was
// written by the user, over layers or time, and stays a loop. The iteration count must be known from a counter.
//
//===----------------------------------------------------------------------===//

#include "meshwright/StableHLO/CountedLoop.h"
#include "meshwright/StableHLO/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_LOOPSPASS
#include "meshwright/StableHLO/Passes.h.inc"
} // namespace meshwright::importer

/// Limit on the operations from unrolling one loop.
static constexpr int64_t kMaxOperations = 10'000;

void importer::unroll(const CountedLoop &loop) {
  Operation *op = loop.getOp();
  OpBuilder builder(op);
  SmallVector<Value> values(op->getOperands());
  for (int64_t iteration = 0; iteration < loop.getIterations(); ++iteration) {
    IRMapping mapping;
    mapping.map(loop.getBody().getArguments(), values);
    for (Operation &inner : loop.getBodyOperations())
      builder.clone(inner, mapping);
    for (auto [index, value] : llvm::enumerate(values))
      value = mapping.lookupOrDefault(loop.getNext(index));
  }
  op->replaceAllUsesWith(values);
  op->erase();
}

/// True if the body computes with floats.
static bool computesFloats(const CountedLoop &loop) {
  auto isFloat = [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); };
  return llvm::any_of(loop.getBodyOperations(),
                      [&](Operation &inner) { return llvm::any_of(inner.getResultTypes(), isFloat); });
}

namespace {

struct Loops : importer::impl::LoopsPassBase<Loops> {
  using LoopsPassBase::LoopsPassBase;

  void runOnOperation() override {
    // Post-order: an outer loop contains straight code when it is replaced.
    SmallVector<Operation *> loops;
    getOperation().walk([&](Operation *op) {
      if (op->getName().getStringRef() == "stablehlo.while")
        loops.push_back(op);
    });
    for (Operation *op : loops)
      if (failed(replace(op)))
        return signalPassFailure();
  }

  LogicalResult replace(Operation *op) {
    std::optional<CountedLoop> loop = CountedLoop::create(op);
    if (!loop)
      return failure();
    if (unroll || loop->getIterations() < 2 || !computesFloats(*loop))
      return writeOut(*loop);
    roll(*loop);
    ++numRolled;
    return success();
  }

  LogicalResult writeOut(const CountedLoop &loop) {
    int64_t operations = loop.countOperations(), iterations = loop.getIterations();
    if (iterations * operations > kMaxOperations)
      return loop.getOp()->emitError() << "stablehlo.while runs " << operations << " operations " << iterations
                                       << " times; an unrolled loop has up to " << kMaxOperations << " operations";
    numWritten += iterations * operations;
    if (numWritten > maxOperations)
      return loop.getOp()->emitError() << "unrolling loops makes more than " << maxOperations.getValue()
                                       << " operations";
    importer::unroll(loop);
    ++numUnrolled;
    return success();
  }

  int64_t numWritten = 0;
};

} // namespace
