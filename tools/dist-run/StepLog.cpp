//===- StepLog.cpp - what a run says of its steps -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepLog.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

Status StepLog::openMetrics(const std::string &path) {
  MW_TRY_ASSIGN(file, OutputFile::create(path));
  return {};
}

Status StepLog::commit() { return file ? file->commit() : Status(); }

Status StepLog::write(const std::string &line) {
  if (!file)
    return {};
  MW_TRY(file->write(line + "\n"));
  return file->flush();
}

Status StepLog::addSteps(Session &session, const CheckpointWriter *writer, NonFiniteWatch &watch, size_t unread) {
  while (session.getNumUnread() > unread)
    MW_TRY(addStep(session, writer, watch, next++));
  return {};
}

Status StepLog::addStep(Session &session, const CheckpointWriter *writer, NonFiniteWatch &watch, uint64_t step) {
  std::string name = fmt::format("step {}", step);
  auto read = readMetrics(session, writer, step);
  MW_TRY(read.status().within(name));
  StepMetrics &metrics = *read;
  MW_TRY(watch.inspect(metrics).within(name));
  seconds += metrics.costs.seconds;
  if (!plans.empty()) {
    PlannedVariant &planned = plans[session.getPackage().getVariant(metrics.position)];
    metrics.plan = &planned.plan;
    planned.measured.push_back(metrics.costs.seconds);
  }
  report.add(metrics);
  ++numSteps;
  MW_TRY(write(metrics.toJson()));
  std::string loss = metrics.loss ? "loss " + StepMetrics::format(*metrics.loss) : "";
  std::string nonFinite = metrics.describeNonFinite();
  progress.result(fmt::format("{}: {}{}{:.3f} s{}{}{}", name, loss, loss.empty() ? "" : ", ", metrics.costs.seconds,
                              nonFinite.empty() ? "" : ", not finite: ", nonFinite,
                              metrics.isSkipped() ? ", update skipped" : ""));
  progress.step(step + 1, loss);
  return watch.judge(name);
}

Status StepLog::addEvaluation(uint64_t done, const EvaluationMetrics &metrics) {
  MW_TRY(write(metrics.toJson()));
  std::string loss = metrics.loss ? fmt::format("loss {:.6g}, ", *metrics.loss) : "";
  progress.result(fmt::format("evaluation after step {}: {}{:.3f} s", done - 1, loss, metrics.seconds));
  return {};
}
