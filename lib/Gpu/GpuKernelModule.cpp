//===- GpuKernelModule.cpp - lowers a kernel to functions of a GPU --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Gpu/GpuKernelModule.h"
#include "GpuEmitter.h"
#include "GpuScatter.h"
#include "GpuSearch.h"
#include "GpuTiles.h"
#include "meshwright/Codegen/LoopEmitter.h"
#include "meshwright/Kernels/PlannedKernel.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

namespace {

class GpuKernelBuilder {
public:
  GpuKernelBuilder(const KernelJob &job, const GpuMachine &machine, SmallVectorImpl<LaunchedFunction> &launches)
      : kernel(job.kernel), symbol(job.symbol), alignment(job.alignment), machine(machine), launches(launches),
        lowering(kernel) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult addFunctions();
  void addLaunches(std::vector<GpuLaunchPlan> plans,
                   function_ref<void(GpuLaunchPlan &, LoopBuilder &, ValueRange)> emit);
  /// Adds the launches of a kernel that has a mapping of its own; false if there is none.
  template <typename Mapping> bool addMatched(std::optional<Mapping> mapping);
  void addPlanned(const schedule::KernelPlan &plan, bool keptFirst);
  LogicalResult checkLaunches();
  /// The name of the next function, and that of its body.
  std::string getName() const { return (symbol + "_" + Twine(launches.size())).str(); }
  std::string getBodyName(StringRef name) const { return (name + "_body").str(); }

  dist::KernelOp kernel;
  StringRef symbol;
  int64_t alignment;
  const GpuMachine &machine;
  SmallVectorImpl<LaunchedFunction> &launches;
  KernelLowering lowering;
};

} // namespace

void GpuKernelBuilder::addLaunches(std::vector<GpuLaunchPlan> plans,
                                   function_ref<void(GpuLaunchPlan &, LoopBuilder &, ValueRange)> emit) {
  if (llvm::any_of(plans, [](const GpuLaunchPlan &launch) { return launch.usesScratch(); }))
    lowering.addScratch();
  for (GpuLaunchPlan &launch : plans) {
    std::string name = getName();
    lowering.addFunction(getBodyName(name),
                         [&](LoopBuilder &builder, ValueRange pointers) { emit(launch, builder, pointers); });
    launches.push_back({name, launch.mapping, launch.getNumBlocks(), launch.getNumThreads(), launch.sharedBytes,
                        launch.scratchBytes, launch.lanes});
  }
}

void GpuKernelBuilder::addPlanned(const schedule::KernelPlan &plan, bool keptFirst) {
  ArrayRef<RankedTensorType> types = lowering.getTypes();
  unsigned numInputs = lowering.getNumInputs();
  addLaunches(planLaunches(plan, types, numInputs, keptFirst, alignment),
              [&](GpuLaunchPlan &launch, LoopBuilder &builder, ValueRange pointers) {
                if (launch.mapping == GpuLaunchPlan::Serial)
                  LoopEmitter(plan, builder, pointers, types, numInputs).emitOneByOne();
                else
                  GpuEmitter(plan, launch, machine, builder, pointers, types, numInputs, alignment).emit();
              });
}

template <typename Mapping> bool GpuKernelBuilder::addMatched(std::optional<Mapping> mapping) {
  if (mapping)
    addLaunches(mapping->planLaunches(), [&](GpuLaunchPlan &launch, LoopBuilder &builder, ValueRange pointers) {
      mapping->emit(launch, machine, builder, pointers);
    });
  return mapping.has_value();
}

LogicalResult GpuKernelBuilder::addFunctions() {
  if (addMatched(GpuScatter::match(kernel)) || addMatched(GpuSearch::match(kernel)) ||
      addMatched(GpuTiles::match(kernel, alignment)))
    return success();
  // An operation on a sum, such as its rounding to 16 bits, needs the sum complete when the row ends.
  for (auto order : {schedule::LoopOrder::Given, schedule::LoopOrder::KeptFirst}) {
    schedule::PlannedKernel planned = schedule::planKernel(kernel, order);
    if (!planned.plan)
      continue;
    addPlanned(*planned.plan, order == schedule::LoopOrder::KeptFirst);
    return success();
  }
  std::string name = getName();
  launches.push_back({name, GpuLaunchPlan::Serial, 1, 1, 0, 0, 1});
  return lowering.addBufferized(getBodyName(name));
}

LogicalResult GpuKernelBuilder::checkLaunches() {
  constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();
  for (const LaunchedFunction &launch : launches)
    if (launch.blocks > kMostBlocks)
      return kernel->emitError() << "kernel takes " << launch.blocks << " blocks but a GPU launches at most "
                                 << kMostBlocks;
  return success();
}

OwningOpRef<ModuleOp> GpuKernelBuilder::run() {
  MathFunctions functions = kernel.getScores() ? machine.getFunctionsOfScores() : MathFunctions::Expanded;
  if (failed(addFunctions()) || failed(checkLaunches()) || failed(lowering.lower(functions, machine.roundsToBf16())))
    return nullptr;
  for (const LaunchedFunction &launch : launches)
    machine.addEntry(lowering, launch.function, getBodyName(launch.function), launch.threads);
  return lowering.takeModule();
}

OwningOpRef<ModuleOp> emit::buildGpuKernelModule(const KernelJob &job, const GpuMachine &machine,
                                                 SmallVectorImpl<LaunchedFunction> &launches) {
  return GpuKernelBuilder(job, machine, launches).run();
}
