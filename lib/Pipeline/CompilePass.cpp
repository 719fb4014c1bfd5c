//===- CompilePass.cpp - the whole compiler as a pass ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/CompileModule.h"
#include "meshwright/Pipeline/Passes.h"
#include "meshwright/Pipeline/Pipeline.h"

namespace meshwright {
#define GEN_PASS_DEF_COMPILEPASS
#include "meshwright/Pipeline/Passes.h.inc"
} // namespace meshwright

using namespace mlir;
using namespace meshwright;

namespace {

struct CompilePass : meshwright::impl::CompilePassBase<CompilePass> {
  using CompilePassBase::CompilePassBase;

  void getDependentDialects(DialectRegistry &registry) const override { registerAllDialects(registry); }

  void runOnOperation() override {
    StageOptions options;
    std::optional<Stage> last = parseStage(to);
    if (!last || *last == Stage::Emit) {
      getOperation().emitError() << "no stage before Emit is called \"" << to << "\"";
      return signalPassFailure();
    }
    options.emit = emit;
    options.to = emit.empty() ? *last : Stage::Emit;
    auto file = strategy::StrategyFile::read(strategy, &getContext());
    if (failed(file) || failed(file->check(ranks, &getContext())))
      return signalPassFailure();
    FailureOr<Compiled> compiled = compile(getOperation(), *file, options);
    if (failed(compiled))
      return signalPassFailure();
    getOperation().getBodyRegion().takeBody((*compiled->step).getBodyRegion());
    getOperation()->setAttrs((*compiled->step)->getAttrDictionary());
  }
};

} // namespace
