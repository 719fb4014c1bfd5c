//===- Preparation.cpp - all that a run needs before its first step -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes of a run meet while it is prepared: what only some of them do, such as opening files, they agree on before
// they go on.
//
//===----------------------------------------------------------------------===//

#include "Preparation.h"
#include "Allocations.h"
#include "CompareProcesses.h"
#include "meshwright/runtime/Calibration.h"

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

class Preparation {
public:
  Preparation(const LoadedPackage &package, const Options &options, Instruments &instruments, Progress &progress,
              StepLog &log, RunParts &parts)
      : package(package), options(options), instruments(instruments), world(instruments.getWorld()), progress(progress),
        log(log), parts(parts) {}

  Status run() {
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
    MW_TRY_ASSIGN(parts.session, Session::create(package, sessionOptions));
    MW_TRY(compareKernels(*parts.session, options));
    std::optional<SafeTensors> file;
    MW_TRY(world.agree(openInit(file)));
    const SafeTensors *source = file ? &*file : nullptr;
    MW_TRY(openStart());
    // Initial values, or those of a checkpoint.
    InitialReport report;
    auto fill = [&](Session &filled) -> Status {
      if (parts.start.checkpoint)
        return restoreFrom(*parts.start.checkpoint, filled, options);
      MW_TRY_ASSIGN(report, filled.initialize(source, parts.start.seed));
      return {};
    };
    MW_TRY(fill(*parts.session));
    parts.watch.emplace(*parts.session, parts.writer.get(), options, progress);
    MW_TRY(parts.watch->begin(parts.start.checkpoint ? &parts.start.checkpoint->getIndex() : nullptr));
    MW_TRY(world.agree(prepareMetrics(*parts.session)));
    logModel(*parts.session, parts.writer.get(), progress);
    reportInitial(report, options, progress);
    if (world.isFirst())
      for (const std::string &warning : parts.session->getExecutor(0).getWarnings())
        progress.warn(warning);
    MW_TRY(world.agree(openFiles()));
    if (!options.calibrate.empty())
      return calibrate();
    if (parts.hasStepsToRun(options))
      MW_TRY(planSteps(fill));
    if (options.checkSerial) {
      MW_TRY_ASSIGN(parts.check, SerialCheck::create(*parts.session, sessionOptions,
                                                     options.checkApart ? CheckMode::Apart : CheckMode::Together));
      if (!parts.check->hasTwin())
        progress.log("the serial program has no twin in f64 (dist-opt makes it with \"twin\" among its targets); "
                     "--check-serial measures errors from the serial program itself");
      MW_TRY(parts.check->initialize(fill));
    }
    if (parts.hasStepsToRun(options)) {
      sessionOptions.world = &instruments.getBareWorld();
      MW_TRY_ASSIGN(parts.evaluation, Evaluation::create(*parts.session, options, sessionOptions));
    }
    // Nothing is filled any more, so the files need not stay open.
    parts.start.checkpoint.reset();
    return {};
  }

private:
  Status openInit(std::optional<SafeTensors> &init) {
    if (!options.init.empty()) {
      MW_TRY_ASSIGN(init, SafeTensors::open(options.init));
    }
    return {};
  }

  /// Finds where the run begins, and opens what it saves to.
  Status openStart() {
    auto found = findStart(options, world, progress);
    MW_TRY(found.status());
    parts.start = std::move(*found);
    instruments.getFlights().setFirstStep(parts.start.step);
    log.setFirstStep(parts.start.step);
    if (!options.checkpoint.empty()) {
      MW_TRY_ASSIGN(parts.writer,
                    CheckpointWriter::create(*parts.session, std::move(parts.start.folder), options.keep));
    }
    return {};
  }

  Status openFiles() {
    if (parts.hasStepsToRun(options)) {
      MW_TRY_ASSIGN(parts.feeder, Feeder::create(package, options.feed, options.data));
    }
    return !options.metrics.empty() && world.isFirst() ? log.openMetrics(options.metrics) : Status();
  }

  /// Measures the machine by steps of the package, and writes its model.
  Status calibrate() {
    constexpr int steps = 5;
    MW_TRY(parts.feeder->load(parts.start.position));
    parts.feeder->scatter(*parts.session);
    MW_TRY_ASSIGN(MachineModel machine, runtime::calibrate(*parts.session, steps));
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
      MW_TRY_ASSIGN(std::vector<PlannedVariant> plans, planVariants(*parts.session, *machine));
      log.setPlans(std::move(plans));
      return {};
    }
    if (!options.link && !options.hostLink)
      return {};
    MW_TRY(parts.feeder->load(parts.start.position));
    parts.feeder->scatter(*parts.session);
    MW_TRY_ASSIGN(std::vector<PlannedVariant> plans, planVariants(*parts.session));
    log.setPlans(std::move(plans));
    return fill(*parts.session);
  }

  const LoadedPackage &package;
  const Options &options;
  Instruments &instruments;
  World &world;
  Progress &progress;
  StepLog &log;
  RunParts &parts;
};

} // namespace

Status tool::prepare(const LoadedPackage &package, const Options &options, Instruments &instruments, Progress &progress,
                     StepLog &log, RunParts &parts) {
  return Preparation(package, options, instruments, progress, log, parts).run();
}
