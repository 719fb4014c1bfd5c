//===- Effects.cpp - warnings about strategies without effect -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All settings warned of here are valid, so checks of the schema and the graph accept them. Each function runs after
// the stage that makes its effect visible.
//
//===----------------------------------------------------------------------===//

#include "Effects.h"
#include "StrategyChecks.h"
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

/// Warns of globs of what decays where nothing does: every weight of the optimizer, and of the groups that take it over
/// with weights of their own, is 0.
static void warnOfUnusedDecay(MLIRContext *context, const StrategyFile &file) {
  const strategy::Train &train = file.get().train();
  auto warn = [&](const DecayGlobs &decay) {
    if (!decay.globs.empty() && decay.weight == 0)
      emitWarning(file.getLoc(context, decay.path + "[0]"))
          << decay.path << " has no effect: the weights of decay are 0";
  };
  DecayGlobs common = getDecayGlobs(train, "train");
  for (auto [index, group] : llvm::enumerate(train.group())) {
    DecayGlobs own = getDecayGlobs(group, llvm::formatv("train.group[{0}]", index).str());
    DecayGlobs &decay = group.optimizer_case() == 0 ? common : own;
    if (&decay == &own && group.has_weight_decay())
      own.weight = group.weight_decay();
    decay.weight = std::max({decay.weight, std::abs(group.weight_decay()), std::abs(group.l2())});
    warn(own);
  }
  warn(common);
}

void meshwright::warnOfUnusedFields(MLIRContext *context, const StrategyFile &file) {
  const strategy::Strategy &strategy = file.get();
  const auto &accumulation = strategy.train().gradient_accumulation();
  const auto &precision = strategy.train().precision();
  const auto &offload = strategy.offload();
  const auto &pipeline = strategy.pipeline();
  bool accumulates = accumulation.steps() > 1 || accumulation.slices() > 1;
  bool fetches = strategy.has_zero() && strategy.zero().stage() == 3;
  struct Field {
    bool isUnused;
    const char *path, *reason;
  } fields[] = {
      {accumulation.has_average() && accumulation.steps() <= 1, "train.gradient_accumulation.average",
       "gradients of one step are accumulated"},
      {accumulation.has_reduce() && !accumulates && !strategy.has_pipeline(), "train.gradient_accumulation.reduce",
       "gradients of one step and one slice are accumulated"},
      {precision.keep_f32_size() > 0 && precision.compute() == strategy::Precision::WRITTEN,
       "train.precision.keep_f32[0]", "compute is WRITTEN, so that everything keeps its type"},
      {offload.match().empty() && offload.has_prefetch(), "offload.prefetch", "match names nothing to offload"},
      {offload.match().empty() && offload.has_max_live_megabytes(), "offload.max_live_megabytes",
       "match names nothing to offload"},
      {offload.match().empty() && offload.has_max_in_flight(), "offload.max_in_flight",
       "match names nothing to offload"},
      {pipeline.keep() == strategy::Pipeline::STEP && !fetches, "pipeline.keep",
       "no parameters are fetched without stage 3 of zero"},
      {strategy.has_reduce() && strategy.data().axes().empty() && !strategy.has_zero() && !accumulates &&
           !strategy.has_pipeline(),
       "reduce", "data names no axes over which gradients are reduced"},
      {strategy.tensor().sequence() && strategy.tensor().split().empty(), "tensor.sequence",
       "no parameter is split by tensor.split"}};
  for (const Field &field : fields)
    if (field.isUnused)
      emitWarning(file.getLoc(context, field.path))
          << StringRef(field.path).split('[').first << " has no effect: " << field.reason;
  warnOfUnusedDecay(context, file);
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

namespace {

/// A list of globs of the strategy, which is warned of where one of them changes nothing.
class WatchedGlobs {
public:
  template <typename Globs>
  WatchedGlobs(const Globs &globs, std::string path)
      : texts(globs.begin(), globs.end()), globs(texts), path(std::move(path)) {}
  WatchedGlobs(const WatchedGlobs &) = delete;
  WatchedGlobs(WatchedGlobs &&) = default;

  bool match(StringRef name, bool isChanged = true) { return globs.match(name, isChanged); }

  /// True if a glob changed something, so that the list is not without effect as a whole.
  bool hasEffect() const { return globs.findWithoutEffect().size() < texts.size(); }

  void warn(MLIRContext *context, const StrategyFile &file, StringRef reason) const {
    for (unsigned index : globs.findWithoutEffect()) {
      std::string place = path + "[" + std::to_string(index) + "]";
      emitWarning(file.getLoc(context, place)) << place << " has no effect: " << reason;
    }
  }

private:
  std::vector<std::string> texts;
  GlobList globs;
  std::string path;
};

/// The settings of some parameters: those of `train`, or of a group.
struct WatchedSettings {
  WatchedSettings(ArrayRef<std::string> globs, const google::protobuf::Message &settings, const std::string &path)
      : match(globs, path + ".match"), decay(getDecayGlobs(settings, path).globs, getDecayGlobs(settings, path).path) {}

  WatchedGlobs match, decay;
};

} // namespace

static constexpr StringLiteral kEarlierMatch = "earlier globs match all that it matches";

/// Warns of globs of parameters that come too late: in the lists of the model, of groups, and of what decays.
static void warnOfParameterGlobs(ModuleOp module, const StrategyFile &file) {
  const strategy::Strategy &strategy = file.get();
  WatchedGlobs parameters(strategy.model().parameters(), "model.parameters");
  WatchedGlobs frozen(strategy.model().frozen(), "model.frozen");
  WatchedSettings common({}, strategy.train(), "train");
  std::vector<WatchedSettings> groups;
  for (auto [index, group] : llvm::enumerate(strategy.train().group()))
    groups.emplace_back(llvm::to_vector_of<std::string>(group.match()), group,
                        llvm::formatv("train.group[{0}]", index).str());
  for (auto variable : module.getOps<net::VariableOp>()) {
    if (variable.getKind() != net::VariableKind::Parameter)
      continue;
    StringRef name = variable.getSymName();
    parameters.match(name);
    frozen.match(name);
    WatchedSettings *settings = nullptr;
    for (WatchedSettings &group : groups)
      if (group.match.match(name, !settings) && !settings)
        settings = &group;
    // A group without an optimizer of its own has that of `train`.
    bool isCommon = !settings || strategy.train().group(settings - groups.data()).optimizer_case() == 0;
    common.decay.match(name, isCommon);
    for (WatchedSettings &group : groups)
      group.decay.match(name, &group == settings);
  }
  MLIRContext *context = module.getContext();
  parameters.warn(context, file, kEarlierMatch);
  frozen.warn(context, file, kEarlierMatch);
  constexpr StringLiteral reason = "earlier globs, or other groups, match all that it matches";
  common.decay.warn(context, file, reason);
  for (const WatchedSettings &group : groups) {
    group.decay.warn(context, file, reason);
    if (group.match.hasEffect())
      group.match.warn(context, file, reason);
  }
}

/// Warns of globs of inputs that come too late.
static void warnOfInputGlobs(ModuleOp module, const StrategyFile &file) {
  SmallVector<StringRef> inputs;
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      if (auto name = func.getArgAttrOfType<StringAttr>(index, net::kNameAttr))
        inputs.push_back(name);
  llvm::StringSet<> matched;
  for (auto [index, batch] : llvm::enumerate(file.get().model().batch())) {
    WatchedGlobs globs(batch.inputs(), llvm::formatv("model.batch[{0}].inputs", index).str());
    for (StringRef name : inputs)
      if (globs.match(name, !matched.contains(name)))
        matched.insert(name);
    globs.warn(module.getContext(), file, kEarlierMatch);
  }
}

void meshwright::warnOfUnusedRules(ModuleOp module, const StrategyFile &file) {
  const strategy::Strategy &strategy = file.get();
  SmallVector<StringRef> variables;
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
  warnOfParameterGlobs(module, file);
  warnOfInputGlobs(module, file);
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
    for (dist::DigitsAttr digits : mapping.getDims())
      for (dist::DigitAttr digit : digits)
        if (!digit.isPlain())
          names.insert(digit.getAxis().getValue());
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
    for (StringRef name : std::initializer_list<StringRef>{kResultsAttr, kComputesAttr, kMappingAttr})
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
