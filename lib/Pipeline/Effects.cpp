//===- Effects.cpp - warnings about strategies without effect -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All settings warned of here are valid, so checks of the schema and the graph accept them. Each function runs after
// the stage that makes its effect visible.
//
//===----------------------------------------------------------------------===//

#include "Effects.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"
#include "meshwright/Support/Glob.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using strategy::StrategyFile;

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

void meshwright::warnOfUnusedFields(MLIRContext *context, const StrategyFile &file) {
  const strategy::Strategy &strategy = file.get();
  const auto &merge = strategy.train().gradient_merge();
  const auto &precision = strategy.train().precision();
  const auto &offload = strategy.offload();
  const auto &pipeline = strategy.pipeline();
  bool merges = merge.steps() > 1 || merge.slices() > 1;
  bool fetches = strategy.has_zero() && strategy.zero().stage() == 3;
  struct Field {
    bool isUnused;
    const char *path, *reason;
  } fields[] = {
      {merge.has_average() && merge.steps() <= 1, "train.gradient_merge.average", "gradients of one step are merged"},
      {merge.has_reduce() && !merges && !strategy.has_pipeline(), "train.gradient_merge.reduce",
       "gradients of one step and one slice are merged"},
      {precision.keep_f32_size() > 0 && precision.compute() == strategy::Precision::WRITTEN,
       "train.precision.keep_f32[0]", "compute is WRITTEN, so that everything keeps its type"},
      {offload.match().empty() && offload.has_prefetch(), "offload.prefetch", "match names nothing to offload"},
      {offload.match().empty() && offload.has_max_live_megabytes(), "offload.max_live_megabytes",
       "match names nothing to offload"},
      {offload.match().empty() && offload.has_max_in_flight(), "offload.max_in_flight",
       "match names nothing to offload"},
      {pipeline.keep() == strategy::Pipeline::STEP && !fetches, "pipeline.keep",
       "no parameters are fetched without stage 3 of zero"},
      {strategy.has_reduce() && strategy.data().axes().empty() && !strategy.has_zero() && !merges &&
           !strategy.has_pipeline(),
       "reduce", "data names no axes over which gradients are reduced"},
      {strategy.tensor().sequence() && strategy.tensor().split().empty(), "tensor.sequence",
       "no parameter is split by tensor.split"}};
  for (const Field &field : fields)
    if (field.isUnused)
      emitWarning(file.getLoc(context, field.path))
          << StringRef(field.path).split('[').first << " has no effect: " << field.reason;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Warns of the `number` rules at `path` that match some of `names`, but none of them first.
static void warnOfShadowed(const StrategyFile &file, MLIRContext *context, ArrayRef<StringRef> names, StringRef path,
                           int number, llvm::function_ref<bool(int, StringRef)> matches) {
  SmallVector<bool> decides(number, false), matched(number, false);
  for (StringRef name : names) {
    bool isDecided = false;
    for (int index = 0; index < number; ++index) {
      if (!matches(index, name))
        continue;
      matched[index] = true;
      decides[index] = decides[index] || !isDecided;
      isDecided = true;
    }
  }
  for (int index = 0; index < number; ++index)
    if (matched[index] && !decides[index]) {
      std::string rule = (path + "[" + Twine(index) + "]").str();
      emitWarning(file.getLoc(context, rule))
          << rule << " has no effect: earlier rules decide about all that it matches; the first that matches counts";
    }
}

void meshwright::warnOfUnusedRules(ModuleOp module, const StrategyFile &file) {
  const strategy::Strategy &strategy = file.get();
  SmallVector<StringRef> variables, results;
  for (auto variable : module.getOps<net::VariableOp>())
    variables.push_back(variable.getSymName());
  MLIRContext *context = module.getContext();
  warnOfShadowed(file, context, variables, "init", strategy.init_size(),
                 [&](int index, StringRef name) { return matchGlob(strategy.init(index).match(), name); });
  warnOfShadowed(file, context, variables, "train.group", strategy.train().group_size(),
                 [&](int index, StringRef name) {
                   return llvm::any_of(strategy.train().group(index).match(),
                                       [&](const std::string &glob) { return matchGlob(glob, name); });
                 });
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

namespace {

/// The axes that placements of a module mention.
class MentionedAxes {
public:
  void add(Attribute attribute) {
    if (!attribute || !seen.insert(attribute).second)
      return;
    if (auto array = dyn_cast<ArrayAttr>(attribute))
      llvm::for_each(array, [&](Attribute inner) { add(inner); });
    else if (auto name = dyn_cast<StringAttr>(attribute))
      names.insert(name.getValue());
    else if (auto mapping = dyn_cast<MappingAttr>(attribute))
      addMapping(mapping);
  }
  bool contains(StringRef axis) const { return names.contains(axis); }

private:
  void addMapping(MappingAttr mapping) {
    add(mapping.getDims());
    add(mapping.getPartialAxes());
    for (NamedAttribute entry : mapping.getSupport())
      names.insert(entry.getName().getValue());
  }

  llvm::DenseSet<Attribute> seen;
  llvm::StringSet<> names;
};

} // namespace

void meshwright::warnOfUnusedAxes(ModuleOp module, const StrategyFile &file) {
  Mesh mesh = file.getMesh();
  if (mesh.getNumRanks() == 1)
    return;
  MentionedAxes mentioned;
  module.walk([&](Operation *op) {
    for (StringRef name : {kResultsAttr, kComputesAttr, kMappingAttr})
      mentioned.add(op->getAttr(name));
    if (auto func = dyn_cast<func::FuncOp>(op))
      for (unsigned index = 0; index < func.getNumArguments(); ++index)
        mentioned.add(func.getArgAttr(index, kMappingAttr));
  });
  const auto &axes = file.get().mesh().axes();
  for (int index = 0; index < axes.size(); ++index)
    if (const std::string &name = axes[index].name();
        axes[index].size() > 1 && !mentioned.contains(name) && name != file.getStageAxis())
      emitWarning(file.getLoc(module.getContext(), "mesh.axes[" + std::to_string(index) + "]"))
          << "axis \"" << name << "\" splits nothing: its " << axes[index].size()
          << " ranks compute and keep the same; data, tensor, zero, pipeline or place use an axis";
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

void meshwright::warnOfReplicatedWork(MLIRContext *context, const StrategyFile &file, double flopsOfRanks,
                                      double serialFlops) {
  int64_t ranks = file.getMesh().getNumRanks();
  if (ranks == 1 || serialFlops <= 0 || flopsOfRanks <= 2 * serialFlops)
    return;
  emitWarning(file.getLoc(context, "mesh"))
      << ranks << " ranks do " << llvm::formatv("{0:f1}", flopsOfRanks / serialFlops).str()
      << " times the operations of the serial step, so that "
      << llvm::formatv("{0:f0} %", 100 * (1 - serialFlops / flopsOfRanks)).str()
      << " of their work is replicated; split more of the batch or of the parameters";
}
