//===- ConvertStableHLO.cpp - conversion of StableHLO and CHLO to net -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits the operations once, in order. No types change, so every operation is replaced as soon as its replacement is
// built; converters look at one operation at a time.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "Known.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/StableHLO/Graph.h"
#include "meshwright/StableHLO/Passes.h"
#include "meshwright/Support/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_CONVERTSTABLEHLOPASS
#include "meshwright/StableHLO/Passes.h.inc"
} // namespace meshwright::importer

static const ConverterMap &getConverters() {
  static const ConverterMap converters = [] {
    ConverterMap map;
    addElementwise(map);
    addLayout(map);
    addContraction(map);
    addReduction(map);
    addDynamic(map);
    addIndexing(map);
    addBits(map);
    addMatrix(map);
    addOrder(map);
    addAnnotations(map);
    addRandom(map);
    addWindow(map);
    addBroadcasting(map);
    addCollectives(map);
    return map;
  }();
  return converters;
}

ConvertFn importer::findConverter(StringRef name) { return getConverters().lookup(name); }

bool importer::isKnown(StringRef name) { return getConverters().contains(name); }

StringRef importer::describeUnknown(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"stablehlo.complex", "stablehlo.real", "stablehlo.imag", "chlo.conj"},
             "computes with complex numbers, which are not supported; compute real and imaginary parts separately")
      .Case("stablehlo.fft", "is a Fourier transform, which is not supported; multiply with its matrix instead")
      .Cases({"stablehlo.rng", "stablehlo.stochastic_convert"},
             "draws from a generator without a key; draw with a key, as jax.random does")
      .Cases({"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv"},
             "exchanges data with the host within a step, which is not supported; use an input or a result")
      .Case("sdy.manual_computation",
            "computes per rank (shard_map), but the graph of a serial network is wanted; export it without, or compare "
            "the two with dist-verify SERIAL PARTITIONED")
      .StartsWith("mhlo.", "is of MHLO, which is older than StableHLO; `mlir-hlo-opt --hlo-legalize-to-stablehlo` "
                           "converts it")
      .StartsWith("vhlo.", "is of VHLO, the serialized form of StableHLO; `stablehlo-translate --deserialize` "
                           "converts it")
      .Default("is not supported; docs/design/import.md lists the supported operations");
}

/// Checks that net supports the types of all operands and results.
static LogicalResult verifyTypes(Operation *op) {
  auto verify = [&](Type type) -> LogicalResult {
    if (std::optional<std::string> problem = getTypeProblem(type))
      return op->emitError() << op->getName() << " has a value of " << describeType(type) << ", " << *problem;
    return success();
  };
  for (Type type : op->getOperandTypes())
    if (failed(verify(type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(verify(type)))
      return failure();
  return success();
}

static bool isSource(Operation *op) {
  return llvm::is_contained({"stablehlo", "chlo", "sdy", "mhlo", "vhlo"}, op->getName().getDialectNamespace());
}

static LogicalResult convert(Operation *op) {
  auto found = getConverters().find(op->getName().getStringRef());
  if (found == getConverters().end())
    return op->emitError() << "operation " << op->getName() << " " << describeUnknown(op->getName().getStringRef());
  if (failed(verifyTypes(op)))
    return failure();
  Conversion conversion(op);
  Converted results = found->second(conversion);
  if (failed(results))
    return failure();
  op->replaceAllUsesWith(*results);
  op->erase();
  return success();
}

/// Erases operations without uses in reverse order, so that one traversal suffices.
static void eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa_and_nonnull<net::NetDialect>(op.getDialect()) && isOpTriviallyDead(&op))
      op.erase();
}

namespace {

struct ConvertStableHLO : importer::impl::ConvertStableHLOPassBase<ConvertStableHLO> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody()) {
        for (Operation &op : llvm::make_early_inc_range(block)) {
          if (!isSource(&op))
            continue;
          if (failed(convert(&op)))
            return signalPassFailure();
          ++numConverted;
        }
        eraseUnused(block);
      }
  }
};

} // namespace
