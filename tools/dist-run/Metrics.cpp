//===- Metrics.cpp - numbers of each step ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Metrics.h"
#include "meshwright/runtime/Json.h"
#include <cassert>
#include <cmath>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// JSON has no such numbers, so they stand as text.
static OrderedJson listNonFinite(const std::vector<StepMetrics::NonFinite> &values) {
  OrderedJson list = OrderedJson::array();
  for (const StepMetrics::NonFinite &value : values) {
    OrderedJson entry = {{"name", value.name}, {"value", value.value}};
    if (!value.ranks.empty())
      entry["ranks"] = value.ranks;
    list.push_back(std::move(entry));
  }
  return list;
}

std::string StepMetrics::format(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value); }

std::string StepMetrics::describeNonFinite() const {
  std::string text;
  for (const NonFinite &value : nonFinite)
    if (value.ranks.empty())
      text += (text.empty() ? "" : ", ") + value.name;
  return nonFiniteText.empty() ? text : text + (text.empty() ? "" : ", ") + nonFiniteText;
}

std::string StepMetrics::toJson() const {
  OrderedJson json = OrderedJson::object();
  json["step"] = step;
  if (update)
    json["update"] = *update;
  if (loss)
    json["loss"] = *loss;
  json["outputs"] = OrderedJson::object();
  for (const auto &[name, value] : outputs)
    json["outputs"][name] = value;
  if (gradNorm)
    json["grad_norm"] = *gradNorm;
  if (foundInf)
    json["found_inf"] = *foundInf;
  if (lossScale)
    json["loss_scale"] = *lossScale;
  if (skippedSteps)
    json["skipped_steps"] = *skippedSteps;
  if (learningRate)
    json["lr"] = *learningRate;
  if (!nonFinite.empty())
    json["non_finite"] = listNonFinite(nonFinite);
  double seconds = costs.seconds;
  json["seconds"] = seconds;
  if (plan) {
    json["planned_seconds"] = plan->seconds;
    json["planned_compute_seconds"] = plan->computeSeconds;
    json["planned_communication_seconds"] = plan->communicationSeconds;
    if (plan->copySeconds > 0)
      json["planned_copy_seconds"] = plan->copySeconds;
    json["planned_exposed_seconds"] = plan->exposedSeconds;
  }
  if (tokens > 0 && seconds > 0)
    json["tokens_per_s"] = tokens / seconds;
  if (modelFlops > 0 && seconds > 0)
    json["model_flops_per_s"] = modelFlops / seconds;
  json["peak_bytes"] = peakBytes;
  if (hostBytes > 0)
    json["host_bytes"] = hostBytes;
  json["allocations"] = costs.allocations;
  json["library_allocations"] = costs.libraryAllocations;
  json["host_syncs"] = costs.hostSyncs;
  return toText(json);
}

/// The names of what metrics have keys of their own for, then those of the scalar results.
static constexpr size_t numNamed = 6;
static std::vector<std::string> listNames(const meshwright::Package &message) {
  const meshwright::Metrics &named = message.metrics();
  std::vector<std::string> names = {named.loss(),       named.grad_norm(),     named.found_inf(),
                                    named.loss_scale(), named.skipped_steps(), named.learning_rate()};
  assert(names.size() == numNamed && "results come after them");
  for (const Port &port : message.outputs())
    if (port.result())
      names.push_back(port.name());
  return names;
}

Status meshwright::tool::prepareMetrics(Session &session) {
  return session.prepareReadings(listNames(session.getPackage().message()));
}

/// Sets the bytes of the rank that uses the most.
static void setMemory(const Session &session, const CheckpointWriter *writer, StepMetrics &metrics) {
  for (int64_t rank = 0; rank != session.getNumRanks(); ++rank) {
    const RankMemory &memory = session.getMemory(rank);
    uint64_t bytes = memory.arena + memory.scratch + (writer ? writer->getCopyBytes(rank) : 0);
    metrics.peakBytes = std::max(metrics.peakBytes, bytes);
    metrics.hostBytes = std::max(metrics.hostBytes, memory.hostArena);
  }
}

Result<StepMetrics> meshwright::tool::readMetrics(Session &session, const CheckpointWriter *writer, uint64_t step) {
  const meshwright::Package &message = session.getPackage().message();
  MW_TRY_ASSIGN(StepReading reading, session.readStep());
  StepMetrics metrics;
  metrics.step = step;
  metrics.position = reading.position;
  if (session.getPackage().getAccumulationSteps() > 1)
    metrics.update = reading.isUpdate;
  metrics.costs = reading.costs;
  std::vector<std::string> names = listNames(message);
  for (size_t i = numNamed; i != names.size(); ++i)
    if (reading.scalars[i])
      metrics.outputs.push_back({names[i], *reading.scalars[i]});
  metrics.loss = reading.scalars[0];
  if (!metrics.loss && metrics.outputs.size() == 1)
    metrics.loss = metrics.outputs[0].second;
  metrics.gradNorm = reading.scalars[1];
  metrics.foundInf = reading.scalars[2];
  metrics.lossScale = reading.scalars[3];
  metrics.skippedSteps = reading.scalars[4];
  metrics.learningRate = reading.scalars[5];
  metrics.modelFlops = message.metrics().model_flops_per_step();
  metrics.tokens = message.metrics().tokens_per_step();
  setMemory(session, writer, metrics);
  return metrics;
}
