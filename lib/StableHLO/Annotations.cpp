//===- Annotations.cpp - annotations and custom calls without computation -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// Forwards each operand as the result with the same number.
static Converted passOperands(Conversion &conversion) {
  Operation *op = conversion.getOp();
  if (failed(conversion.expect(op->getNumOperands(), op->getNumOperands())))
    return failure();
  for (auto [from, to] : llvm::zip_equal(op->getOperandTypes(), op->getResultTypes()))
    if (from != to)
      return conversion.error() << "passes " << from << " on as " << to;
  return SmallVector<Value>(op->getOperands());
}

/// True for calls that state where a value is kept or how it is laid out; the strategy and the compiler decide this.
static bool isAnnotation(StringRef target) {
  return llvm::StringSwitch<bool>(target)
      .Cases({"Sharding", "LayoutConstraint", "annotate_device_placement", "MoveToHost", "MoveToDevice", "PinToDevice"},
             true)
      .Cases({"xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier", "PropagationBarrier"}, true)
      .Default(false);
}

/// A remedy for a custom call that is not known, by its target.
static StringRef getAdvice(StringRef target) {
  if (target.starts_with("SPMD") || target.starts_with("xla.sdy."))
    return "export without manual sharding; the strategy says how the network is split";
  if (target.starts_with("lapack_") || target.starts_with("blas_"))
    return "only Cholesky factors and triangular systems of LAPACK are; leave other calls out of the network";
  if (target.starts_with("__cu") || target.starts_with("cu") || target.starts_with("__gpu"))
    return "export on a CPU (JAX_PLATFORMS=cpu), which writes the operations themselves";
  if (target.contains("callback"))
    return "a network cannot call Python; leave debug prints and callbacks out of the export";
  return "express it in operations of StableHLO";
}

static Converted convertCustomCall(Conversion &conversion) {
  FailureOr<StringRef> target = conversion.getWord("call_target_name");
  if (failed(target))
    return failure();
  if (isAnnotation(*target))
    return passOperands(conversion);
  if (*target == "ApproxTopK")
    return convertApproxTopK(conversion);
  if (*target == "lapack_spotrf_ffi" || *target == "lapack_dpotrf_ffi")
    return convertLapackCholesky(conversion);
  if (*target == "lapack_strsm_ffi" || *target == "lapack_dtrsm_ffi")
    return convertLapackSolve(conversion);
  return conversion.error() << "of @" << *target << " is not supported; " << getAdvice(*target);
}

void importer::addAnnotations(ConverterMap &converters) {
  converters["stablehlo.optimization_barrier"] = passOperands;
  converters["stablehlo.custom_call"] = convertCustomCall;
}
