//===- Register.cpp - dialects and passes of all stages -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Given/Given.h"
#include "dialects/Net/Net.h"
#include "meshwright/Annotate/Passes.h"
#include "meshwright/Codegen/Targets.h"
#include "meshwright/Complete/Passes.h"
#include "meshwright/Emit/Passes.h"
#include "meshwright/Export/Export.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Pipeline/Passes.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "meshwright/Rules/GivenRules.h"
#include "meshwright/Rules/Rules.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Train/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace meshwright;

void meshwright::registerCompilerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, dist::DistDialect, given::GivenDialect, net::NetDialect>();
  emit::registerKernelDialects(registry);
  registerNetCosts(registry);
  registerNetPrecisions(registry);
  registerNetFolds(registry);
  registerNetShifts(registry);
  registerNetBatches(registry);
  registerNetDerivatives(registry);
  registerNetKernels(registry);
  registerNetSharding(registry);
  exporter::registerForms(registry);
  registerGivenRules(registry);
}

void meshwright::registerAllDialects(mlir::DialectRegistry &registry) {
  registerCompilerDialects(registry);
  importer::registerSourceDialects(registry);
}

void meshwright::registerAllPasses() {
  importer::registerStableHLOPasses();
  importer::registerImportPasses();
  importer::registerImportPipeline();
  train::registerTrainPasses();
  annotate::registerAnnotatePasses();
  complete::registerCompletePasses();
  partition::registerPartitionPasses();
  optimize::registerOptimizePasses();
  schedule::registerOverlapPasses();
  schedule::registerPipeliningPasses();
  schedule::registerTilingPasses();
  schedule::registerKernelsPasses();
  schedule::registerMemoryPasses();
  schedule::registerSchedulePasses();
  emit::registerEmitPasses();
  registerPipelinePasses();
}
