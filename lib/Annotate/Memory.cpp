//===- Memory.cpp - whose memory variables are kept in --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "dialects/Net/Net.h"
#include "meshwright/Support/Glob.h"

using namespace mlir;
using namespace meshwright;

LogicalResult annotate::annotateMemory(ModuleOp module, const strategy::StrategyFile &file) {
  auto host = dist::MemoryKindAttr::get(module.getContext(), dist::MemoryKind::Host);
  for (const auto &[index, glob] : llvm::enumerate(file.get().offload().match())) {
    bool any = false;
    for (auto variable : module.getOps<net::VariableOp>()) {
      if (!matchGlob(glob, variable.getSymName()))
        continue;
      any = true;
      variable->setAttr(dist::kMemoryAttr, host);
    }
    if (!any)
      return emitError(file.getLoc(module.getContext(), "offload.match[" + std::to_string(index) + "]"))
             << "no variable matches \"" << glob << "\"";
  }
  return success();
}
