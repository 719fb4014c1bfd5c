//===- EmitPass.cpp - emission as a pass ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Emit/Emit.h"
#include "meshwright/Emit/Passes.h"

namespace meshwright::emit {
#define GEN_PASS_DEF_EMITPACKAGEPASS
#include "meshwright/Emit/Passes.h.inc"
} // namespace meshwright::emit

using namespace meshwright;

namespace {

struct EmitPackagePass : emit::impl::EmitPackagePassBase<EmitPackagePass> {
  using EmitPackagePassBase::EmitPackagePassBase;

  void runOnOperation() override {
    if (path.empty()) {
      getOperation().emitError() << "no folder was named for the package";
      return signalPassFailure();
    }
    emit::EmitOptions options;
    options.path = path;
    options.gpuReport = gpuReport;
    options.kernelCache = kernelCache;
    if (!targets.empty())
      options.targets.assign(targets.begin(), targets.end());
    if (failed(emit::emitPackage(getOperation(), nullptr, options)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
