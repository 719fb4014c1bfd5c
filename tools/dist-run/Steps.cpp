//===- Steps.cpp - the steps of a run -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The results of a device are read one step late, so that it need not wait for the host, unless an event of the step
// needs its state.
//
//===----------------------------------------------------------------------===//

#include "Steps.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

Status Steps::run(uint64_t step) {
  std::string name = fmt::format("step {}", step);
  StepEvents events = getEvents(options, step);
  MW_TRY(parts.feeder->load(parts.start.position + (step - parts.start.step)));
  parts.feeder->scatter(*parts.session);
  if (events.isChecked && options.checkEvery != 1)
    MW_TRY(parts.check->synchronize());
  MW_TRY((events.isTraced ? trace(step) : parts.session->step()).within(name));
  // Results of a device are read one step late, so that it need not wait for the host, unless the step's events need
  // its state.
  bool isAhead = parts.session->runsAhead() && !isStateWanted(events, step);
  MW_TRY(log.addSteps(*parts.session, parts.writer.get(), *parts.watch, isAhead ? 1 : 0));
  if (events.isChecked) {
    MW_TRY(check(name));
    MW_TRY(parts.watch->inspectState(name).status());
  }
  if (events.areReplicasChecked)
    MW_TRY(checkReplicas().within(name));
  if (parts.writer)
    MW_TRY(parts.writer->poll());
  return events.isSaved ? save(step + 1) : Status();
}

bool Steps::isStateWanted(const StepEvents &events, uint64_t step) const {
  return events.wantState() || !options.faults.empty() ||
         (parts.evaluation && parts.evaluation->isDue(step + 1, options.steps));
}

Status Steps::save(uint64_t done) {
  CheckpointState state;
  state.step = done;
  state.dataPosition = parts.start.position + (done - parts.start.step);
  state.seed = parts.start.seed;
  MW_TRY_ASSIGN(state.nonFinite, parts.watch->inspectState(fmt::format("checkpoint of step {}", done)));
  return parts.writer->save(std::move(state));
}

Status Steps::trace(uint64_t step) {
  MW_TRY_ASSIGN(StepTrace trace, runtime::traceStep(*parts.session));
  traced.push_back({step, std::move(trace)});
  return {};
}

Status Steps::checkReplicas() {
  const ValueSet &variables = parts.session->getVariables();
  for (size_t i = 0; i != variables.size(); ++i)
    if (!parts.session->isIdle(i))
      MW_TRY(parts.session->checkReplicas(variables, i));
  return {};
}

Status Steps::check(const std::string &name) {
  auto report = parts.check->check(*parts.feeder);
  return report.ok() ? judge(name, *report) : report.status().within(name);
}

Status Steps::judge(const std::string &name, const CheckReport &report) {
  MW_TRY(world.agree(report.agrees() ? Status() : Status(Code::CheckFailed, name + ": " + report.toString())));
  progress.result(name + ": " + report.toString());
  return {};
}

Status Steps::evaluate(uint64_t done) {
  if (!parts.evaluation || !parts.evaluation->isDue(done, options.steps))
    return {};
  MW_TRY_ASSIGN(EvaluationMetrics metrics, parts.evaluation->run(done));
  MW_TRY(log.addEvaluation(done, metrics));
  for (const CheckReport &report : metrics.checks)
    MW_TRY(judge(fmt::format("evaluation after step {}", done - 1), report));
  return {};
}
