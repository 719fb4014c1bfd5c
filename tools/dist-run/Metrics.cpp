//===- Metrics.cpp - numbers of each step ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Metrics.h"
#include "lib/Json.h"
#include "meshwright/runtime/SerialCheck.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

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
  json["allocations"] = allocations.own;
  json["library_allocations"] = allocations.library;
  json["host_syncs"] = allocations.hostSyncs;
  return toText(json);
}

Result<StepMetrics> meshwright::tool::readMetrics(const Session &session, const CheckpointWriter *writer, uint64_t step,
                                                  double seconds) {
  const meshwright::Package &message = session.getPackage().message();
  StepMetrics metrics;
  metrics.step = step;
  if (session.getPackage().getMergeSteps() > 1)
    metrics.update = session.isUpdated();
  metrics.seconds = seconds;
  const meshwright::Metrics &named = message.metrics();
  std::vector<std::string> names = {named.loss(),       named.grad_norm(),     named.found_inf(),
                                    named.loss_scale(), named.skipped_steps(), named.learning_rate()};
  const size_t firstOutput = names.size();
  for (const Port &port : message.outputs())
    if (port.result())
      names.push_back(port.name());
  MW_TRY_ASSIGN(std::vector<std::optional<double>> values, readScalars(session, names));
  for (size_t i = firstOutput; i != names.size(); ++i)
    if (values[i])
      metrics.outputs.push_back({names[i], *values[i]});
  metrics.loss = values[0];
  if (!metrics.loss && metrics.outputs.size() == 1)
    metrics.loss = metrics.outputs[0].second;
  metrics.gradNorm = values[1];
  metrics.foundInf = values[2];
  metrics.lossScale = values[3];
  metrics.skippedSteps = values[4];
  metrics.learningRate = values[5];
  metrics.modelFlops = message.metrics().model_flops_per_step();
  metrics.tokens = message.metrics().tokens_per_step();
  for (int64_t rank = 0; rank != session.getNumRanks(); ++rank) {
    const RankMemory &memory = session.getMemory(rank);
    uint64_t bytes = memory.arena + memory.scratch + (writer ? writer->getCopyBytes(rank) : 0);
    metrics.peakBytes = std::max(metrics.peakBytes, bytes);
    metrics.hostBytes = std::max(metrics.hostBytes, memory.hostArena);
  }
  MW_TRY_ASSIGN(metrics.allocations, session.gatherStepAllocations());
  return metrics;
}
