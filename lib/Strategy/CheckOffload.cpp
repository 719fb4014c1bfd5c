//===- CheckOffload.cpp - checks of offload -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"
#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/Diagnostics.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::strategy;

LogicalResult StrategyFile::checkOffload(MLIRContext *context) const {
  const Offload &offload = strategy.offload();
  auto error = [&](StringRef field) {
    return emitError(getLoc(context, ("offload" + field).str())) << "offload" << field << " ";
  };
  if (strategy.has_offload() && offload.match().empty())
    return emitError(getLoc(context, "offload")) << "offload has no match; \"*\" matches all variables";
  if (offload.prefetch() < 0)
    return error(".prefetch") << "is " << offload.prefetch() << "; it is at least 0";
  if (offload.max_in_flight() < 1)
    return error(".max_in_flight") << "is " << offload.max_in_flight() << "; it is at least 1";
  double megabytes = offload.max_live_megabytes();
  if (offload.has_max_live_megabytes() && !(megabytes > 0 && std::isfinite(megabytes)))
    return error(".max_live_megabytes") << "is " << toText(megabytes) << "; it is positive";
  return success();
}
