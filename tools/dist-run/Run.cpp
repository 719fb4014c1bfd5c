//===- Run.cpp - runs a package for some steps ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a run: what it needs, then data, step, checks, metrics, evaluation and checkpoints for each step, then
// the files of the end. A run that stops early leaves the numbers of the steps that it did.
//
//===----------------------------------------------------------------------===//

#include "Run.h"
#include "Interrupt.h"
#include "Steps.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

static Progress createProgress(const Options &options, const World &world) {
  auto shown = !world.isFirst() ? Progress::Shown::Nothing
               : options.quiet  ? Progress::Shown::Warnings
                                : Progress::Shown::Everything;
  bool dataOnOutput = options.metrics == "-" || options.outputs == "-" || options.save == "-" ||
                      options.timeline == "-" || options.trace == "-" || options.report == "-" ||
                      options.profile == "-";
  return Progress(shown, dataOnOutput, options.steps);
}

/// Runs the steps from the first to the last, and evaluates between them.
static Status runSteps(RunParts &parts, const Options &options, StepLog &log, Steps &steps) {
  stopAtInterrupts();
  for (uint64_t step = parts.start.step; step != options.steps; ++step) {
    if (isInterrupted()) {
      MW_TRY(log.addSteps(*parts.session, parts.writer.get(), *parts.watch, 0));
      return Status(Code::Fault, fmt::format("interrupted before step {}", step));
    }
    MW_TRY(steps.run(step));
    // After the last step results come first: evaluation works where they lie.
    if (step + 1 != options.steps)
      MW_TRY(steps.evaluate(step + 1));
  }
  return {};
}

/// Saves or inspects the last state, where no step did.
static Status inspectLastState(RunParts &parts, const Options &options, Steps &steps) {
  if (parts.start.isUnsaved)
    return steps.save(parts.start.step);
  // Fetching the variables of GPUs for an inspection alone would cost time; a run that saves them fetches them anyway.
  bool isNear = !parts.session->runsAhead() || !options.save.empty();
  if (parts.hasStepsToRun(options) && !getEvents(options, options.steps - 1).isSaved && isNear)
    return parts.watch->inspectState("after the last step").status();
  return {};
}

/// Writes the files of the end; all processes learn how that went.
static Status writeFiles(RunParts &parts, const Options &options, World &world, Progress &progress, StepLog &log,
                         Steps &steps) {
  logPlans(log.getPlans(), progress);
  bool ran = parts.hasStepsToRun(options);
  if (!options.outputs.empty() && !ran)
    return usageError("--outputs wants the outputs of a step, but --steps={} runs none", options.steps);
  Status written = writeResults(options, *parts.session, log.getPlans(), steps.getTraced(), progress);
  if (written.ok() && ran)
    written = steps.evaluate(options.steps);
  if (written.ok())
    written = log.commit();
  return world.agree(written);
}

/// Everything but the report, for which `parts` stay.
static Status runParts(const LoadedPackage &package, const Options &options, Instruments &instruments,
                       Progress &progress, StepLog &log, RunParts &parts) {
  World &world = instruments.getWorld();
  MW_TRY(prepare(package, options, instruments, progress, log, parts));
  if (!options.calibrate.empty())
    return {};
  Steps steps(parts, options, world, progress, log);
  MW_TRY(runSteps(parts, options, log, steps));
  MW_TRY_ASSIGN(std::string straggler, instruments.getFlights().findStraggler(world, log.getSeconds()));
  if (!straggler.empty())
    progress.log(straggler);
  MW_TRY(inspectLastState(parts, options, steps));
  if (parts.writer)
    MW_TRY(parts.writer->finish());
  return writeFiles(parts, options, world, progress, log, steps);
}

Status meshwright::tool::run(const LoadedPackage &package, const Options &options, Instruments &instruments) {
  World &world = instruments.getWorld();
  if (!world.isAlone() && (options.serial || options.link || options.hostLink))
    return usageError("{} is for one process, but the run has {}",
                      options.serial ? "--serial"
                      : options.link ? "--link"
                                     : "--host-link",
                      world.getNumProcesses());
  Progress progress = createProgress(options, world);
  StepLog log{options, progress};
  RunParts parts;
  std::optional<OutputFile> reportFile;
  auto runAll = [&]() -> Status {
    if (!options.report.empty() && world.isFirst()) {
      MW_TRY_ASSIGN(reportFile, OutputFile::create(options.report));
    }
    return runParts(package, options, instruments, progress, log, parts);
  };
  Status end = runAll();
  if (!end.ok())
    instruments.reportFailure(end);
  instruments.endRun();
  if (!end.ok() && log.hasSteps())
    (void)log.commit();
  if (!reportFile)
    return end;
  Status written =
      log.getReport().write(*reportFile, package, parts.session.get(), parts.writer.get(), log.getPlans(), end);
  return end.ok() ? written : end;
}
