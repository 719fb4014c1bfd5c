//===- Evaluation.cpp - runs the programs that evaluate -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"
#include "meshwright/runtime/Json.h"
#include <chrono>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

std::string EvaluationMetrics::toJson() const {
  OrderedJson json = OrderedJson::object();
  json["step"] = step;
  if (loss)
    json["eval/loss"] = *loss;
  json["eval/outputs"] = OrderedJson::object();
  for (const auto &[name, value] : outputs)
    json["eval/outputs"][name] = value;
  json["eval/batches"] = batches;
  json["eval/seconds"] = seconds;
  return toText(json);
}

/// The number of steps between evaluations; nothing if neither the package nor the options ask for evaluation.
static std::optional<uint64_t> findEvery(const LoadedPackage &package, const Options &options) {
  uint64_t every = package.message().evaluate_every();
  bool isFed = !options.evalFeed.empty() || !options.evalData.empty();
  if (options.evalEvery)
    return *options.evalEvery == 0 ? std::nullopt : options.evalEvery;
  return every != 0 || isFed ? std::optional(every) : std::nullopt;
}

Result<std::unique_ptr<Evaluation>> Evaluation::create(const Session &trained, const Options &options,
                                                       SessionOptions sessionOptions) {
  const LoadedPackage *package = trained.getPackage().getEvaluation();
  std::optional<uint64_t> every = findEvery(trained.getPackage(), options);
  if (!package && (options.evalEvery || !options.evalFeed.empty() || !options.evalData.empty()))
    return usageError("the package has nothing to evaluate; dist-opt --eval, or eval in the strategy, would give it "
                      "something");
  if (!package || !every)
    return std::unique_ptr<Evaluation>();
  if (options.evalFeed.empty() && options.evalData.empty() && package->message().inputs_size() != 0)
    return usageError("the package evaluates \"{}\" and more, but neither --eval-feed nor --eval-data says of what; "
                      "--eval-every=0 would not evaluate",
                      package->message().inputs(0).name());
  std::unique_ptr<Evaluation> evaluation(new Evaluation(*every, options.evalSteps));
  sessionOptions.beside = &trained;
  // Modelled links, the flight recorder and plans belong to the session that trains.
  sessionOptions.link = sessionOptions.platform.hostLink = std::nullopt;
  sessionOptions.flights = nullptr;
  MW_TRY_ASSIGN(evaluation->session, Session::create(*package, sessionOptions));
  MW_TRY_ASSIGN(evaluation->feeder,
                Feeder::create(evaluation->session->getPackage(), options.evalFeed, options.evalData));
  if (options.checkSerial) {
    MW_TRY_ASSIGN(evaluation->check, SerialCheck::create(*evaluation->session, sessionOptions));
  }
  return evaluation;
}

/// Adds the scalar results of the batch that was run.
Status Evaluation::addScalars(EvaluationMetrics &metrics) const {
  const meshwright::Package &message = session->getPackage().message();
  std::vector<std::string> names = {message.metrics().loss()};
  for (const Port &port : message.outputs())
    names.push_back(port.name());
  MW_TRY_ASSIGN(std::vector<std::optional<double>> values, readScalars(*session, names));
  if (values[0])
    metrics.loss = metrics.loss.value_or(0) + *values[0] / static_cast<double>(batches);
  bool isFirst = metrics.outputs.empty();
  for (size_t i = 1, known = 0; i != names.size(); ++i) {
    if (!values[i])
      continue;
    if (isFirst)
      metrics.outputs.push_back({names[i], 0});
    metrics.outputs[known++].second += *values[i] / static_cast<double>(batches);
  }
  return {};
}

Status Evaluation::runBatch(uint64_t number, EvaluationMetrics &metrics) {
  MW_TRY(feeder->load(number));
  feeder->scatter(*session);
  MW_TRY(session->step());
  MW_TRY(session->synchronize());
  MW_TRY(addScalars(metrics));
  if (!check)
    return {};
  MW_TRY_ASSIGN(metrics.checks.emplace_back(), check->check(*feeder));
  return {};
}

Result<EvaluationMetrics> Evaluation::run(uint64_t done) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  EvaluationMetrics metrics;
  metrics.step = done;
  metrics.batches = batches;
  MW_TRY(session->resume());
  if (check)
    MW_TRY(check->synchronize());
  for (uint64_t number = 0; number != batches; ++number)
    MW_TRY(runBatch(number, metrics).within(fmt::format("evaluation after step {}, batch {}", done, number)));
  metrics.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return metrics;
}
