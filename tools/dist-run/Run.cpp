//===- Run.cpp - runs a package for some steps ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Run.h"
#include "Allocations.h"
#include "CompareProcesses.h"
#include "Evaluation.h"
#include "Interrupt.h"
#include "Metrics.h"
#include "NonFiniteWatch.h"
#include "Plans.h"
#include "Progress.h"
#include "Results.h"
#include "meshwright/runtime/Calibration.h"
#include "meshwright/runtime/CheckpointWriter.h"
#include "meshwright/runtime/SerialCheck.h"
#include "report/Report.h"
#include <cerrno>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

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
    if (!end.ok() && metricsFile && hasSteps)
      (void)metricsFile->commit();
    if (!reportFile)
      return end;
    Status written = report.write(*reportFile, package, session.get(), writer.get(), plans, end);
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
    for (uint64_t step = first; step != options.steps; ++step) {
      if (isInterrupted()) {
        MW_TRY(reportSteps(0));
        return Status(Code::Fault, fmt::format("interrupted before step {}", step));
      }
      MW_TRY(runStep(step));
      // After the last step results come first: evaluation works where they lie.
      if (step + 1 != options.steps)
        MW_TRY(evaluate(step + 1));
    }
    MW_TRY_ASSIGN(std::string straggler, instruments.getFlights().findStraggler(world, stepSeconds));
    if (!straggler.empty())
      progress.log(straggler);
    if (isUnsaved)
      MW_TRY(save(first));
    else if (options.steps != first && !isSaved(options.steps - 1) && isStateNear())
      MW_TRY(watch->inspectState("after the last step").status());
    if (writer)
      MW_TRY(writer->finish());
    logPlans(plans, progress);
    if (!options.outputs.empty() && options.steps == first)
      return usageError("--outputs wants the outputs of a step, but --steps={} runs none", options.steps);
    Status written = writeResults(options, *session, plans, traced, progress);
    if (written.ok() && options.steps != first)
      written = evaluate(options.steps);
    if (written.ok() && metricsFile)
      written = metricsFile->commit();
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
    std::optional<Checkpoint> checkpoint;
    MW_TRY(prepareCheckpoints(checkpoint));
    // Initial values, or those of a checkpoint.
    InitialReport report;
    auto fill = [&](Session &filled) -> Status {
      if (checkpoint)
        return restoreFrom(*checkpoint, filled);
      MW_TRY_ASSIGN(report, filled.initialize(source, seed));
      return {};
    };
    MW_TRY(fill(*session));
    watch.emplace(*session, writer.get(), options, progress);
    MW_TRY(watch->begin(checkpoint ? &checkpoint->getIndex() : nullptr));
    MW_TRY(world.agree(prepareMetrics(*session)));
    logModel();
    warnInitial(report);
    if (world.isFirst())
      for (const std::string &warning : session->getExecutor(0).getWarnings())
        progress.warn(warning);
    MW_TRY(world.agree(openFiles()));
    if (!options.calibrate.empty())
      return calibrate();
    if (options.steps != first)
      MW_TRY(planSteps(fill));
    if (options.checkSerial) {
      MW_TRY_ASSIGN(check, SerialCheck::create(*session, sessionOptions));
      MW_TRY(check->initialize(fill));
    }
    if (options.steps != first) {
      sessionOptions.world = &instruments.getBareWorld();
      MW_TRY_ASSIGN(evaluation, Evaluation::create(*session, options, sessionOptions));
    }
    return {};
  }

  Status openInit(std::optional<SafeTensors> &init) {
    if (!options.init.empty()) {
      MW_TRY_ASSIGN(init, SafeTensors::open(options.init));
    }
    return {};
  }

  Status openFiles() {
    if (options.steps != first) {
      MW_TRY_ASSIGN(feeder, Feeder::create(*session, options.feed, options.data));
    }
    if (!options.metrics.empty() && world.isFirst()) {
      MW_TRY_ASSIGN(metricsFile, OutputFile::create(options.metrics));
    }
    return {};
  }

  /// Opens the folder of checkpoints and, to resume, the checkpoint to go on from.
  Status prepareCheckpoints(std::optional<Checkpoint> &checkpoint) {
    std::optional<CheckpointFolder> folder;
    if (options.resumeIntact)
      MW_TRY(passOverDamaged());
    MW_TRY(world.agree(openCheckpoints(folder, checkpoint)));
    MW_TRY(compareCheckpoints(checkpoint, world));
    if (!options.checkpoint.empty()) {
      MW_TRY_ASSIGN(writer, CheckpointWriter::create(*session, std::move(folder), options.keep));
    }
    return {};
  }

  Status openCheckpoints(std::optional<CheckpointFolder> &folder, std::optional<Checkpoint> &checkpoint) {
    std::vector<std::pair<uint64_t, std::string>> found;
    if (!options.checkpoint.empty()) {
      if (world.isFirst()) {
        MW_TRY_ASSIGN(folder, CheckpointFolder::open(options.checkpoint));
      }
      MW_TRY_ASSIGN(found, listCheckpoints(options.checkpoint));
    }
    if (options.resume)
      MW_TRY(openCheckpoint(checkpoint));
    else if (!found.empty())
      return inputError("{} has a checkpoint of step {}; --resume goes on from it, another folder begins anew",
                        options.checkpoint, found.back().first);
    if (!found.empty() && found.back().first > first)
      return inputError("{} has a checkpoint of step {} but the run goes on from step {}; delete the one or name "
                        "another folder",
                        options.checkpoint, found.back().first, first);
    // Where no step is left to run, a folder gets the state that the run came with.
    isUnsaved = !options.checkpoint.empty() && first == options.steps && (found.empty() || found.back().first != first);
    return {};
  }

  const std::string &getResumePath() const {
    return options.resumeFrom.empty() ? options.checkpoint : options.resumeFrom;
  }

  /// The first process reads all of the newest checkpoint, and of the one before it if that one is damaged, and so on;
  /// the others learn which of them it is.
  Status passOverDamaged() {
    auto found = world.isFirst() ? findIntact(getResumePath()) : Result<std::string>(std::string());
    MW_TRY(world.agree(found.status()));
    std::span<const std::byte> name = std::as_bytes(std::span(*found));
    MW_TRY_ASSIGN(Bytes shared, world.share(Bytes(name.begin(), name.end())));
    intact.assign(reinterpret_cast<const char *>(shared.data()), shared.size());
    return {};
  }

  /// The newest checkpoint that is whole; empty where there is none at all.
  Result<std::string> findIntact(const std::string &path) {
    MW_TRY_ASSIGN(auto found, listCheckpoints(path));
    for (size_t i = found.size(); i-- != 0;) {
      auto checkpoint = Checkpoint::open(found[i].second);
      Status status = checkpoint.ok() ? checkpoint->verify() : checkpoint.status();
      if (status.ok())
        return found[i].second;
      progress.warn(fmt::format("{} is damaged and passed over: {}", found[i].second, status.message()));
      // A folder in which the run saves has no checkpoint of a later step than it goes on from.
      std::string aside = fmt::format("{}/damaged-{}", path, getCheckpointName(found[i].first));
      if (path == options.checkpoint && std::rename(found[i].second.c_str(), aside.c_str()) != 0)
        return inputError("cannot rename {} to {}: {}", found[i].second, aside, std::strerror(errno));
    }
    return found.empty() ? Result<std::string>(std::string())
                         : inputError("none of the {} checkpoints in {} is whole", found.size(), path);
  }

  /// The same error, and how to go on from the checkpoint before a damaged one.
  Status suggestEarlier(const Status &status, const std::string &damaged) const {
    auto found = listCheckpoints(getResumePath());
    if (status.ok() || !found.ok())
      return status;
    for (size_t i = 1; i < found->size(); ++i)
      if ((*found)[i].second == damaged)
        return Status(status.code(),
                      fmt::format("{}; the checkpoint before it is {}, and --resume-intact goes on from the newest "
                                  "that is whole",
                                  status.message(), (*found)[i - 1].second));
    return status;
  }

  Status restoreFrom(const Checkpoint &checkpoint, Session &filled) const {
    Status status = restore(filled, checkpoint);
    // A package with other variables is no damage.
    return status.ok() || checkpoint.verify().ok() ? status : suggestEarlier(status, checkpoint.getFolder());
  }

  Status openCheckpoint(std::optional<Checkpoint> &checkpoint) {
    const std::string &path = intact.empty() ? getResumePath() : intact;
    MW_TRY_ASSIGN(std::optional<std::string> found, findCheckpoint(path));
    if (!found && !options.resumeFrom.empty())
      return inputError("{} has no checkpoint", path);
    if (!found) {
      progress.log(fmt::format("{} has no checkpoint: the run begins", path));
      return {};
    }
    auto opened = Checkpoint::open(*found);
    MW_TRY(suggestEarlier(opened.status(), *found));
    checkpoint.emplace(std::move(*opened));
    const CheckpointIndex &index = checkpoint->getIndex();
    if (index.step > options.steps)
      return inputError("{} is of step {} but --steps={} ends before it", *found, index.step, options.steps);
    first = index.step;
    instruments.getFlights().setFirstStep(first);
    reported = first;
    position = index.dataPosition;
    seed = index.seed;
    progress.skip(first);
    progress.log(fmt::format("{}: the run goes on at step {}", *found, first));
    return {};
  }

  /// Measures the machine by steps of the package, and writes its model.
  Status calibrate() {
    constexpr int steps = 5;
    MW_TRY(feeder->load(position));
    feeder->scatter(*session);
    MW_TRY_ASSIGN(MachineModel machine, runtime::calibrate(*session, steps));
    if (!world.isFirst())
      return {};
    MW_TRY_ASSIGN(OutputFile file, OutputFile::create(options.calibrate));
    MW_TRY(file.write(machine.toText()));
    return file.commit();
  }

  /// From the model of a machine or, where a link is modelled, from steps. Those leave nothing behind: `fill` gives the
  /// variables their values again.
  Status planSteps(const std::function<Status(Session &)> &fill) {
    if (!options.machine.empty()) {
      auto machine = MachineModel::read(options.machine);
      MW_TRY(world.agree(machine.status()));
      MW_TRY_ASSIGN(plans, planVariants(*session, *machine));
      return {};
    }
    if (!options.link && !options.hostLink)
      return {};
    MW_TRY(feeder->load(position));
    feeder->scatter(*session);
    MW_TRY_ASSIGN(plans, planVariants(*session));
    return fill(*session);
  }

  /// The model's size and each rank's share of it.
  void logModel() {
    double parameters = 0, parameterBytes = 0, bytes = 0;
    const ValueSet &variables = session->getVariables();
    for (size_t i = 0; i != variables.size(); ++i) {
      bytes += variables.getBytes(i);
      if (package.message().variables(static_cast<int>(i)).kind() != Variable::PARAMETER)
        continue;
      parameters += *getNumElements(variables.getShape(i));
      parameterBytes += variables.getBytes(i);
    }
    progress.log(fmt::format("model: {:.0f} parameters of {}, {} variables of {}{}", parameters,
                             formatBytes(parameterBytes), variables.size(), formatBytes(bytes),
                             session->getTarget().empty() ? "" : ", kernels for " + session->getTarget()));
    // Ranks of one program have one share.
    std::vector<std::string> lines;
    for (int64_t rank = 0; rank != session->getNumRanks(); ++rank) {
      const RankMemory &memory = session->getMemory(rank);
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

  void warnInitial(const InitialReport &report) {
    auto list = [](const std::vector<std::string> &names) {
      return fmt::format("\"{}\"{}", names[0], names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1));
    };
    if (!report.notInFile.empty())
      progress.log(
          fmt::format("{} does not have {}: initializers give the values", options.init, list(report.notInFile)));
    if (!report.notInPackage.empty())
      progress.warn(fmt::format("{} has {}, which no variable of the package is called", options.init,
                                list(report.notInPackage)));
  }

  Status runStep(uint64_t step) {
    std::string name = fmt::format("step {}", step);
    MW_TRY(feeder->load(position + (step - first)));
    feeder->scatter(*session);
    bool checked = isChecked(step);
    if (checked && options.checkEvery != 1)
      MW_TRY(check->synchronize());
    MW_TRY((isTraced(step) ? traceStep(step) : session->step()).within(name));
    // What a device does is read a step late, unless its state is wanted at once.
    MW_TRY(reportSteps(session->runsAhead() && !isStateWanted(step) ? 1 : 0));
    if (checked) {
      MW_TRY(checkStep(name));
      MW_TRY(watch->inspectState(name).status());
    }
    if (areReplicasChecked(step))
      MW_TRY(checkReplicas().within(name));
    if (writer)
      MW_TRY(writer->poll());
    return isSaved(step) ? save(step + 1) : Status();
  }

  /// Saves the state after so many steps, and with it which of it is not finite.
  Status save(uint64_t done) {
    CheckpointState state;
    state.step = done;
    state.dataPosition = position + (done - first);
    state.seed = seed;
    MW_TRY_ASSIGN(state.nonFinite, watch->inspectState(fmt::format("checkpoint of step {}", done)));
    return writer->save(std::move(state));
  }

  /// Whether variables are where the host reads them, or will be read anyway: those of GPUs would have to be fetched.
  bool isStateNear() const { return !session->runsAhead() || !options.save.empty(); }

  bool isTraced(uint64_t step) const { return !options.trace.empty() && options.steps - step <= options.tracedSteps; }
  bool isChecked(uint64_t step) const { return check && step % options.checkEvery == 0; }
  bool areReplicasChecked(uint64_t step) const {
    return options.checkReplicas != 0 && (step + 1) % options.checkReplicas == 0;
  }
  bool isSaved(uint64_t step) const {
    uint64_t done = step + 1;
    return writer && (done == options.steps || (options.saveEvery != 0 && done % options.saveEvery == 0));
  }

  /// Whether somebody looks at what the step leaves before the next one begins. Nothing comes after the last step, and
  /// where faults are on purpose each step is over before the next one.
  bool isStateWanted(uint64_t step) const {
    return step + 1 == options.steps || isTraced(step) || isChecked(step) || areReplicasChecked(step) ||
           isSaved(step) || !options.faults.empty() || (evaluation && evaluation->isDue(step + 1, options.steps));
  }

  /// Reports the steps that were run but so many, in their order.
  Status reportSteps(size_t unread) {
    while (session->getNumUnread() > unread)
      MW_TRY(reportStep(reported++));
    return {};
  }

  Status reportStep(uint64_t step) {
    std::string name = fmt::format("step {}", step);
    auto read = readMetrics(*session, writer.get(), step);
    MW_TRY(read.status().within(name));
    StepMetrics &metrics = *read;
    MW_TRY(watch->inspect(metrics).within(name));
    double seconds = metrics.costs.seconds;
    stepSeconds += seconds;
    if (!plans.empty()) {
      PlannedVariant &planned = plans[package.getVariant(metrics.position)];
      metrics.plan = &planned.plan;
      planned.measured.push_back(seconds);
    }
    report.add(metrics);
    hasSteps = true;
    if (metricsFile) {
      MW_TRY(metricsFile->write(metrics.toJson() + "\n"));
      MW_TRY(metricsFile->flush());
    }
    std::string loss = metrics.loss ? "loss " + StepMetrics::format(*metrics.loss) : "";
    std::string nonFinite = metrics.describeNonFinite();
    progress.result(fmt::format("{}: {}{}{:.3f} s{}{}{}", name, loss, loss.empty() ? "" : ", ", seconds,
                                nonFinite.empty() ? "" : ", not finite: ", nonFinite,
                                metrics.isSkipped() ? ", update skipped" : ""));
    progress.step(step + 1, loss);
    return watch->judge(name);
  }

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
    if (metricsFile) {
      MW_TRY(metricsFile->write(metrics.toJson() + "\n"));
      MW_TRY(metricsFile->flush());
    }
    std::string name = fmt::format("evaluation after step {}", done - 1);
    std::string loss = metrics.loss ? fmt::format("loss {:.6g}, ", *metrics.loss) : "";
    progress.result(fmt::format("{}: {}{:.3f} s", name, loss, metrics.seconds));
    for (const CheckReport &report : metrics.checks)
      MW_TRY(judge(name, report));
    return {};
  }

  const LoadedPackage &package;
  const Options &options;
  Instruments &instruments;
  World &world;
  Progress progress;
  Report report{options};
  bool hasSteps = false;
  /// The step to begin with, the batch that it takes, and the seed of the initial values.
  uint64_t first = 0, position = 0, seed = options.seed;
  /// The checkpoint to go on from, where damaged ones were passed over.
  std::string intact;
  /// The first step that is not reported.
  uint64_t reported = 0;
  /// How long all steps took.
  double stepSeconds = 0;
  /// Whether the state before the first step is to be saved.
  bool isUnsaved = false;
  std::unique_ptr<Session> session;
  /// Ends before the session of which it writes.
  std::unique_ptr<CheckpointWriter> writer;
  std::optional<NonFiniteWatch> watch;
  std::unique_ptr<SerialCheck> check;
  std::unique_ptr<Evaluation> evaluation;
  std::optional<Feeder> feeder;
  std::optional<OutputFile> metricsFile, reportFile;
  /// One per variant of the step, where a link is modelled.
  std::vector<PlannedVariant> plans;
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
