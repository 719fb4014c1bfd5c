//===- StrategyOptions.cpp - pass options from a strategy -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates the messages of strategy.proto into the options of each stage's passes. Field defaults are those of the
// schema; values derived from several fields are computed here.
//
//===----------------------------------------------------------------------===//

#include "StrategyOptions.h"
#include "google/protobuf/text_format.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Units.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace meshwright;
using strategy::StrategyFile;

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

static importer::InitRule getInitRule(const strategy::Init &init) {
  using Kind = net::InitializerKind;
  switch (init.distribution_case()) {
  case strategy::Init::kNormal:
    return {init.match(), Kind::Normal, init.normal().mean(), init.normal().stddev()};
  case strategy::Init::kTruncatedNormal:
    return {init.match(), Kind::TruncatedNormal, init.truncated_normal().mean(), init.truncated_normal().stddev()};
  case strategy::Init::kUniform:
    return {init.match(), Kind::Uniform, init.uniform().min(), init.uniform().max()};
  case strategy::Init::kConstant:
  case strategy::Init::DISTRIBUTION_NOT_SET:
    break;
  }
  return {init.match(), Kind::Constant, init.constant(), 0};
}

importer::Options meshwright::getImportOptions(const strategy::Strategy &strategy) {
  importer::Options options;
  options.parameters.assign(strategy.model().parameters().begin(), strategy.model().parameters().end());
  for (const strategy::Init &init : strategy.init())
    options.inits.push_back(getInitRule(init));
  // The stages of a pipeline are cut out of straight code.
  options.unrollLoops = strategy.model().unroll_loops() || strategy.has_pipeline();
  for (const strategy::Carry &carry : strategy.model().carry())
    options.carries.push_back({carry.argument(), carry.result()});
  return options;
}

//===----------------------------------------------------------------------===//
// Train
//===----------------------------------------------------------------------===//

/// On how many ranks a batch is.
static int64_t countReplicas(const strategy::Strategy &strategy) {
  int64_t replicas = 1;
  for (const strategy::Axis &axis : strategy.mesh().axes())
    if (llvm::is_contained(strategy.data().axes(), axis.name()))
      replicas *= axis.size();
  return replicas;
}

static void setReduce(train::Options &options, const strategy::Strategy &strategy) {
  options.reduce.replicas = countReplicas(strategy);
  switch (strategy.reduce().scale()) {
  case strategy::Reduce::LOSS:
    return;
  case strategy::Reduce::BEFORE:
    options.reduce.scale = train::ReduceScale::Before;
    break;
  case strategy::Reduce::AFTER:
    options.reduce.scale = train::ReduceScale::After;
    break;
  }
  options.differentiate.seed = static_cast<double>(options.reduce.replicas);
}

static train::ReduceType getReduceType(const strategy::Reduce &reduce) {
  switch (reduce.communicate()) {
  case strategy::Reduce::GRADIENT:
    break;
  case strategy::Reduce::F32:
    return train::ReduceType::F32;
  case strategy::Reduce::BF16:
    return train::ReduceType::BF16;
  case strategy::Reduce::F16:
    return train::ReduceType::F16;
  }
  return train::ReduceType::Gradient;
}

static void setAccumulation(train::Options &options, const strategy::GradientAccumulation &accumulation) {
  options.accumulation.steps = accumulation.steps();
  options.accumulation.average = accumulation.average();
  options.accumulation.reduce = accumulation.reduce() == strategy::GradientAccumulation::EVERY_STEP
                                    ? train::AccumulationReduce::EveryStep
                                    : train::AccumulationReduce::AtUpdate;
}

static void setPrecision(train::Options &options, const strategy::Precision &precision) {
  using Type = train::ComputeType;
  options.precision.compute = precision.compute() == strategy::Precision::BF16  ? Type::BF16
                              : precision.compute() == strategy::Precision::F16 ? Type::F16
                                                                                : Type::Written;
  options.precision.keep.assign(precision.keep_f32().begin(), precision.keep_f32().end());
  const strategy::LossScale &scale = precision.loss_scale();
  if (scale.scale_case() == strategy::LossScale::SCALE_NOT_SET)
    return;
  options.differentiate.lossScale = scale.has_dynamic() ? scale.dynamic().initial() : scale.constant();
  options.differentiate.dynamicScale = options.skip.dynamic = scale.has_dynamic();
  options.skip.window = scale.dynamic().window();
  options.skip.hysteresis = scale.dynamic().hysteresis();
  options.skip.minimum = scale.dynamic().minimum();
  // The metrics report them.
  for (const char *name : {"loss_scale", "found_inf", "skipped_steps"})
    options.fetch.values.push_back(name);
}

/// Source locations of the elements of the repeated field at `path`.
static std::vector<Location> getLocs(const StrategyFile &file, MLIRContext *context, const std::string &path,
                                     int size) {
  std::vector<Location> locations;
  for (int index = 0; index < size; ++index)
    locations.push_back(file.getLoc(context, path + "[" + std::to_string(index) + "]"));
  return locations;
}

train::FetchOptions meshwright::getFetchOptions(const StrategyFile &file, MLIRContext *context) {
  const auto &values = file.get().fetch();
  train::FetchOptions options;
  options.values.assign(values.begin(), values.end());
  options.locations = getLocs(file, context, "fetch", values.size());
  return options;
}

train::Options meshwright::getTrainOptions(const StrategyFile &file, MLIRContext *context) {
  const strategy::Strategy &strategy = file.get();
  train::Options options;
  if (strategy.train().has_loss())
    options.differentiate.loss = std::to_string(strategy.train().loss());
  options.differentiate.frozen.assign(strategy.model().frozen().begin(), strategy.model().frozen().end());
  setReduce(options, strategy);
  options.reduce.communicate = getReduceType(strategy.reduce());
  setAccumulation(options, strategy.train().gradient_accumulation());
  google::protobuf::TextFormat::PrintToString(strategy.train(), &options.optimizer.train);
  options.fetch = getFetchOptions(file, context);
  // The metrics report them.
  options.fetch.values.push_back("lr");
  if (strategy.train().clip().has_global_norm())
    options.fetch.values.push_back("grad_norm");
  setPrecision(options, strategy.train().precision());
  options.keepLocations =
      getLocs(file, context, "train.precision.keep_f32", strategy.train().precision().keep_f32_size());
  return options;
}

//===----------------------------------------------------------------------===//
// Complete
//===----------------------------------------------------------------------===//

static complete::KeepPolicy getPolicy(strategy::Recompute::Policy policy) {
  switch (policy) {
  case strategy::Recompute::KEEP_NOTHING:
    break;
  case strategy::Recompute::KEEP_PRODUCTS:
    return complete::KeepPolicy::Products;
  case strategy::Recompute::KEEP_CHEAP:
    return complete::KeepPolicy::Cheap;
  }
  return complete::KeepPolicy::Nothing;
}

static void setRecomputeOptions(complete::Options &options, const StrategyFile &file, MLIRContext *context) {
  if (!file.get().train().has_recompute())
    return;
  const strategy::Recompute &recompute = file.get().train().recompute();
  options.recompute.repeatConversions = recompute.repeat_conversions();
  if (recompute.has_fit())
    return;
  options.recompute.policy = getPolicy(recompute.policy());
  options.recompute.blocks.assign(recompute.blocks().begin(), recompute.blocks().end());
  options.recompute.anchors.assign(recompute.anchors().begin(), recompute.anchors().end());
  auto locate = [&](StringRef field, int number) {
    return llvm::map_to_vector(llvm::seq(number), [&](int index) -> Location {
      return file.getLoc(context, ("train.recompute." + field + "[" + Twine(index) + "]").str());
    });
  };
  options.recomputeLocations = {locate("blocks", recompute.blocks_size()), locate("anchors", recompute.anchors_size())};
}

void meshwright::setRecompute(complete::RecomputePassOptions &options, const FitChoice &choice) {
  options.policy = complete::KeepPolicy::Cheap;
  options.flopsPerByte = {getFlopsPerByte(choice.level), getFlopsPerByte(std::max(choice.level, 1U) - 1)};
  options.ends = {choice.early, choice.late};
}

complete::Options meshwright::getCompleteOptions(const StrategyFile &file, MLIRContext *context) {
  const strategy::Zero &zero = file.get().zero();
  complete::Options options;
  // Clones read parameters, which stage 3 would have to fetch for them. Those of scores read none.
  options.recompute.scoresOnly = !file.get().train().has_recompute() && file.get().has_zero() && zero.stage() == 3;
  setRecomputeOptions(options, file, context);
  options.recompute.tiles = file.get().tiles().enabled();
  options.recompute.scoreBytes = file.get().tiles().min_bytes();
  complete::SegmentPassOptions &segment = options.segment;
  segment.segmentSize = zero.segment().megabytes();
  segment.anchors.assign(zero.segment().anchors().begin(), zero.segment().anchors().end());
  segment.prefetch = zero.prefetch();
  segment.keepWithin = zero.keep_within_megabytes();
  // Backward reads what forward has fetched; the tasks of a pipeline find that out later (KeepFetches).
  if (!file.getKeepField().empty() && file.getStageAxis().empty())
    segment.keepWithin = Megabytes::unbounded();
  segment.maxLive = zero.max_live_megabytes();
  segment.maxInFlight = zero.max_in_flight();
  segment.backwardAxes.assign(zero.backward_axes().begin(), zero.backward_axes().end());
  llvm::append_range(options.locations.anchors,
                     getLocs(file, context, "zero.segment.anchors", zero.segment().anchors_size()));
  options.locations.maxLive = file.getLoc(context, "zero.max_live_megabytes");
  return options;
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

optimize::Options meshwright::getOptimizeOptions(const StrategyFile &file) {
  return {.keepFetches = !file.getKeepField().empty()};
}

partition::LocalizeShapesPassOptions meshwright::getPartitionOptions(const strategy::Strategy &strategy) {
  partition::LocalizeShapesPassOptions options;
  options.scatterSlices =
      strategy.train().gradient_accumulation().reduce() == strategy::GradientAccumulation::EVERY_STEP;
  return options;
}

schedule::Options meshwright::getScheduleOptions(const strategy::Strategy &strategy, bool optimize) {
  // Without zero the defaults of its fields hold for plain data parallelism too.
  const strategy::Zero &zero = strategy.zero();
  schedule::Options options;
  options.overlap = optimize;
  const strategy::Tiles &tiles = strategy.tiles();
  options.tiles = {.enabled = tiles.enabled(), .minBytes = tiles.min_bytes(), .tileBytes = tiles.bytes()};
  options.communicate.bucketSize = zero.bucket_megabytes();
  options.communicate.maxInFlight = zero.max_in_flight();
  options.communicate.maxLive = zero.max_live_megabytes();
  // With the state alone distributed gradients stay whole until the update.
  options.communicate.lateReductions = strategy.has_zero() && zero.stage() == 1;
  const strategy::Offload &offload = strategy.offload();
  options.copies.prefetch = optimize ? offload.prefetch() : 0;
  options.copies.maxInFlight = offload.max_in_flight();
  options.copies.maxLive = offload.max_live_megabytes();
  return options;
}
