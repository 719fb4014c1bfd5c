//===- Run.cpp - runs a package for some steps ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main loop of dist-run: initial values or a checkpoint, then data, step, checks, metrics, evaluation and
// checkpoints for each step, then the files of the end. Metrics of a step are read while the device computes the next
// one.
//
//===----------------------------------------------------------------------===//

#include "Run.h"
#include "Allocations.h"
#include "CompareProcesses.h"
#include "Evaluation.h"
#include "Interrupt.h"
#include "Results.h"
#include "StartPoint.h"
#include "StepEvents.h"
#include "StepLog.h"
#include "meshwright/runtime/Calibration.h"
#include "meshwright/runtime/CheckpointWriter.h"
#include "meshwright/runtime/SerialCheck.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// The model's size and each rank's share of it.
static void logModel(const Session &session, const CheckpointWriter *writer, Progress &progress) {
  double parameters = 0, parameterBytes = 0, bytes = 0;
  const ValueSet &variables = session.getVariables();
  for (size_t i = 0; i != variables.size(); ++i) {
    bytes += variables.getBytes(i);
    if (session.getPackage().message().variables(static_cast<int>(i)).kind() != Variable::PARAMETER)
      continue;
    parameters += *getNumElements(variables.getShape(i));
    parameterBytes += variables.getBytes(i);
  }
  progress.log(fmt::format("model: {:.0f} parameters of {}, {} variables of {}{}", parameters,
                           formatBytes(parameterBytes), variables.size(), formatBytes(bytes),
                           session.getTarget().empty() ? "" : ", kernels for " + session.getTarget()));
  // Ranks of one program have one share.
  std::vector<std::string> lines;
  for (int64_t rank = 0; rank != session.getNumRanks(); ++rank) {
    const RankMemory &memory = session.getMemory(rank);
    lines.push_back(fmt::format(
        "{} persistent, {} in all, {} of scratch{}", formatBytes(memory.persistent), formatBytes(memory.arena),
        formatBytes(memory.scratch),
        writer ? fmt::format(", {} of copies for checkpoints", formatBytes(writer->getCopyBytes(rank))) : ""));
  }
  for (size_t begin = 0, end; begin != lines.size(); begin = end) {
    for (end = begin + 1; end != lines.size() && lines[end] == lines[begin];)
      ++end;
    progress.log(begin + 1 == end ? fmt::format("rank {}: {}", begin, lines[begin])
                                  : fmt::format("ranks {} to {}, each: {}", begin, end - 1, lines[begin]));
  }
}

/// Says which initial values come from elsewhere than --init.
static void reportInitial(const InitialReport &report, const Options &options, Progress &progress) {
  auto list = [](const std::vector<std::string> &names) {
    return fmt::format("\"{}\"{}", names[0], names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1));
  };
  if (!report.notInFile.empty())
    progress.log(
        fmt::format("{} does not have {}: initializers give the values", options.init, list(report.notInFile)));
  if (!report.notInPackage.empty())
    progress.warn(
        fmt::format("{} has {}, which no variable of the package is called", options.init, list(report.notInPackage)));
}

namespace {

/// One run, from the initial values to the saved ones.
class Driver {
public:
  Driver(const LoadedPackage &package, const Options &options, Instruments &instruments)
      : package(package), options(options), instruments(instruments), world(instruments.getWorld()),
        progress(!world.isFirst() ? Progress::Shown::Nothing
                 : options.quiet  ? Progress::Shown::Warnings
                                  : Progress::Shown::Everything,
                 options.metrics == "-" || options.outputs == "-" || options.save == "-" || options.timeline == "-" ||
                     options.trace == "-" || options.report == "-",
                 options.steps) {}

  /// Runs and reports. A run that stops early leaves the numbers of the steps that it did.
  Status run() {
    Status end = runSteps();
    if (!end.ok())
      instruments.reportFailure(end);
    instruments.endRun();
    if (!end.ok() && log.hasSteps())
      (void)log.commit();
    if (!reportFile)
      return end;
    Status written = log.getReport().write(*reportFile, package, session.get(), writer.get(), log.getPlans(), end);
    return end.ok() ? written : end;
  }

private:
  Status runSteps() {
    if (!options.report.empty() && world.isFirst()) {
      MW_TRY_ASSIGN(reportFile, OutputFile::create(options.report));
    }
    MW_TRY(prepare());
    if (!options.calibrate.empty())
      return {};
    stopAtInterrupts();
    for (uint64_t step = start.step; step != options.steps; ++step) {
      if (isInterrupted()) {
        MW_TRY(log.addSteps(*session, writer.get(), *watch, 0));
        return Status(Code::Fault, fmt::format("interrupted before step {}", step));
      }
      MW_TRY(runStep(step));
      // After the last step results come first: evaluation works where they lie.
      if (step + 1 != options.steps)
        MW_TRY(evaluate(step + 1));
    }
    MW_TRY_ASSIGN(std::string straggler, instruments.getFlights().findStraggler(world, log.getSeconds()));
    if (!straggler.empty())
      progress.log(straggler);
    if (start.isUnsaved)
      MW_TRY(save(start.step));
    else if (hasStepsToRun() && !getEvents(options, options.steps - 1).isSaved && isStateNear())
      MW_TRY(watch->inspectState("after the last step").status());
    if (writer)
      MW_TRY(writer->finish());
    logPlans(log.getPlans(), progress);
    if (!options.outputs.empty() && !hasStepsToRun())
      return usageError("--outputs wants the outputs of a step, but --steps={} runs none", options.steps);
    Status written = writeResults(options, *session, log.getPlans(), traced, progress);
    if (written.ok() && hasStepsToRun())
      written = evaluate(options.steps);
    if (written.ok())
      written = log.commit();
    return world.agree(written);
  }

  Status prepare() {
    SessionOptions sessionOptions;
    sessionOptions.world = &world;
    sessionOptions.serial = options.serial;
    sessionOptions.device = options.device;
    sessionOptions.platform = options.getPlatformOptions();
    sessionOptions.link = options.link;
    sessionOptions.timeoutSeconds = options.timeout;
    sessionOptions.checkCollectives = options.checkCollectives;
    sessionOptions.flights = &instruments.getFlights();
    sessionOptions.countAllocations = countAllocations;
    MW_TRY_ASSIGN(session, Session::create(package, sessionOptions));
    MW_TRY(compareKernels(*session, options));
    std::optional<SafeTensors> file;
    MW_TRY(world.agree(openInit(file)));
    const SafeTensors *source = file ? &*file : nullptr;
    MW_TRY(openStart());
    // Initial values, or those of a checkpoint.
    InitialReport report;
    auto fill = [&](Session &filled) -> Status {
      if (start.checkpoint)
        return restoreFrom(*start.checkpoint, filled, options);
      MW_TRY_ASSIGN(report, filled.initialize(source, start.seed));
      return {};
    };
    MW_TRY(fill(*session));
    watch.emplace(*session, writer.get(), options, progress);
    MW_TRY(watch->begin(start.checkpoint ? &start.checkpoint->getIndex() : nullptr));
    MW_TRY(world.agree(prepareMetrics(*session)));
    logModel(*session, writer.get(), progress);
    reportInitial(report, options, progress);
    if (world.isFirst())
      for (const std::string &warning : session->getExecutor(0).getWarnings())
        progress.warn(warning);
    MW_TRY(world.agree(openFiles()));
    if (!options.calibrate.empty())
      return calibrate();
    if (hasStepsToRun())
      MW_TRY(planSteps(fill));
    if (options.checkSerial) {
      MW_TRY_ASSIGN(check, SerialCheck::create(*session, sessionOptions));
      MW_TRY(check->initialize(fill));
    }
    if (hasStepsToRun()) {
      sessionOptions.world = &instruments.getBareWorld();
      MW_TRY_ASSIGN(evaluation, Evaluation::create(*session, options, sessionOptions));
    }
    // Nothing is filled any more, so the files need not stay open.
    start.checkpoint.reset();
    return {};
  }

  Status openInit(std::optional<SafeTensors> &init) {
    if (!options.init.empty()) {
      MW_TRY_ASSIGN(init, SafeTensors::open(options.init));
    }
    return {};
  }

  Status openFiles() {
    if (hasStepsToRun()) {
      MW_TRY_ASSIGN(feeder, Feeder::create(*session, options.feed, options.data));
    }
    return !options.metrics.empty() && world.isFirst() ? log.openMetrics(options.metrics) : Status();
  }

  /// Finds where the run begins, and opens what it saves to.
  Status openStart() {
    auto found = findStart(options, world, progress);
    MW_TRY(found.status());
    start = std::move(*found);
    instruments.getFlights().setFirstStep(start.step);
    log.setFirstStep(start.step);
    if (!options.checkpoint.empty()) {
      MW_TRY_ASSIGN(writer, CheckpointWriter::create(*session, std::move(start.folder), options.keep));
    }
    return {};
  }

  /// Measures the machine by steps of the package, and writes its model.
  Status calibrate() {
    constexpr int steps = 5;
    MW_TRY(feeder->load(start.position));
    feeder->scatter(*session);
    MW_TRY_ASSIGN(MachineModel machine, runtime::calibrate(*session, steps));
    if (!world.isFirst())
      return {};
    MW_TRY_ASSIGN(OutputFile file, OutputFile::create(options.calibrate));
    MW_TRY(file.write(machine.toText()));
    return file.commit();
  }

  /// Plans steps from the model of a machine or, with a modelled link, from steps that it runs. `fill` gives the
  /// variables their initial values again after those steps.
  Status planSteps(const std::function<Status(Session &)> &fill) {
    if (!options.machine.empty()) {
      auto machine = MachineModel::read(options.machine);
      MW_TRY(world.agree(machine.status()));
      MW_TRY_ASSIGN(std::vector<PlannedVariant> plans, planVariants(*session, *machine));
      log.setPlans(std::move(plans));
      return {};
    }
    if (!options.link && !options.hostLink)
      return {};
    MW_TRY(feeder->load(start.position));
    feeder->scatter(*session);
    MW_TRY_ASSIGN(std::vector<PlannedVariant> plans, planVariants(*session));
    log.setPlans(std::move(plans));
    return fill(*session);
  }

  Status runStep(uint64_t step) {
    std::string name = fmt::format("step {}", step);
    StepEvents events = getEvents(options, step);
    MW_TRY(feeder->load(start.position + (step - start.step)));
    feeder->scatter(*session);
    if (events.isChecked && options.checkEvery != 1)
      MW_TRY(check->synchronize());
    MW_TRY((events.isTraced ? traceStep(step) : session->step()).within(name));
    // Results of a device are read one step late, so that it need not wait for the host, unless the step's events need
    // its state.
    bool isAhead = session->runsAhead() && !isStateWanted(events, step);
    MW_TRY(log.addSteps(*session, writer.get(), *watch, isAhead ? 1 : 0));
    if (events.isChecked) {
      MW_TRY(checkStep(name));
      MW_TRY(watch->inspectState(name).status());
    }
    if (events.areReplicasChecked)
      MW_TRY(checkReplicas().within(name));
    if (writer)
      MW_TRY(writer->poll());
    return events.isSaved ? save(step + 1) : Status();
  }

  bool isStateWanted(const StepEvents &events, uint64_t step) const {
    return events.wantState() || !options.faults.empty() || (evaluation && evaluation->isDue(step + 1, options.steps));
  }

  /// Saves the state after so many steps, and with it which of it is not finite.
  Status save(uint64_t done) {
    CheckpointState state;
    state.step = done;
    state.dataPosition = start.position + (done - start.step);
    state.seed = start.seed;
    MW_TRY_ASSIGN(state.nonFinite, watch->inspectState(fmt::format("checkpoint of step {}", done)));
    return writer->save(std::move(state));
  }

  /// True if variables are in the host's memory or will be fetched anyway, because the run saves them. Fetching those
  /// of GPUs for an inspection alone would cost time.
  bool isStateNear() const { return !session->runsAhead() || !options.save.empty(); }

  Status traceStep(uint64_t step) {
    MW_TRY_ASSIGN(StepTrace trace, runtime::traceStep(*session));
    traced.push_back({step, std::move(trace)});
    return {};
  }

  Status checkReplicas() {
    const ValueSet &variables = session->getVariables();
    for (size_t i = 0; i != variables.size(); ++i)
      if (!session->isIdle(i))
        MW_TRY(session->checkReplicas(variables, i));
    return {};
  }

  Status checkStep(const std::string &name) {
    auto report = check->check(*feeder);
    return report.ok() ? judge(name, *report) : report.status().within(name);
  }

  Status judge(const std::string &name, const CheckReport &report) {
    MW_TRY(world.agree(report.agrees() ? Status() : Status(Code::CheckFailed, name + ": " + report.toString())));
    progress.result(name + ": " + report.toString());
    return {};
  }

  /// Evaluates if it is time for it after so many steps.
  Status evaluate(uint64_t done) {
    if (!evaluation || !evaluation->isDue(done, options.steps))
      return {};
    MW_TRY_ASSIGN(EvaluationMetrics metrics, evaluation->run(done));
    MW_TRY(log.addEvaluation(done, metrics));
    for (const CheckReport &report : metrics.checks)
      MW_TRY(judge(fmt::format("evaluation after step {}", done - 1), report));
    return {};
  }

  bool hasStepsToRun() const { return options.steps != start.step; }

  const LoadedPackage &package;
  const Options &options;
  Instruments &instruments;
  World &world;
  Progress progress;
  StepLog log{options, progress};
  StartPoint start;
  std::unique_ptr<Session> session;
  /// Ends before the session of which it writes.
  std::unique_ptr<CheckpointWriter> writer;
  std::optional<NonFiniteWatch> watch;
  std::unique_ptr<SerialCheck> check;
  std::unique_ptr<Evaluation> evaluation;
  std::optional<Feeder> feeder;
  std::optional<OutputFile> reportFile;
  std::vector<TracedStep> traced;
};

} // namespace

Status meshwright::tool::run(const LoadedPackage &package, const Options &options, Instruments &instruments) {
  const World &world = instruments.getWorld();
  if (!world.isAlone() && (options.serial || options.link || options.hostLink))
    return usageError("{} is for one process, but the run has {}",
                      options.serial ? "--serial"
                      : options.link ? "--link"
                                     : "--host-link",
                      world.getNumProcesses());
  return Driver(package, options, instruments).run();
}
