//===- Memory.cpp - marks offloaded variables -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Support/Glob.h"

using namespace mlir;
using namespace meshwright;

LogicalResult annotate::annotateMemory(ModuleOp module, const strategy::StrategyFile &file) {
  auto host = dist::MemoryKindAttr::get(module.getContext(), dist::MemoryKind::Host);
  for (const auto &[index, glob] : llvm::enumerate(file.get().offload().match())) {
    bool any = false, isNew = false;
    for (auto variable : module.getOps<net::VariableOp>()) {
      if (!matchGlob(glob, variable.getSymName()))
        continue;
      any = true;
      isNew |= !dist::kMemoryAttr.isOn(variable);
      dist::kMemoryAttr.set(variable, host);
    }
    Location loc = file.getLoc(module.getContext(), "offload.match[" + std::to_string(index) + "]");
    if (!any)
      return emitError(loc) << "no variable matches \"" << glob << "\"";
    if (!isNew && file.matchesAll())
      emitWarning(loc) << "offload.match[" << index << "] has no effect: earlier globs match all that it matches";
  }
  return success();
}
