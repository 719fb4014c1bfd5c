//===- SelfTest.cpp - whether collectives do what they promise ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the suite in batches, each on a fresh backend: all cases of a batch are prepared together, as a package's
// collectives are, then executed and checked by every rank alone. Timings follow after the checks and are fitted to a
// model of the link.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/SelfTest.h"
#include "SelfTestRank.h"
#include "meshwright/runtime/Cpu.h"
#include "meshwright/runtime/RankTeam.h"
#include "meshwright/runtime/SchemaVersion.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

double SelfTestTiming::getBusBandwidth(int64_t numRanks) const {
  double n = static_cast<double>(numRanks), factor = 1;
  // An all-reduce sends everything twice, once to be added up and once to be spread; what is gathered, scattered or
  // exchanged sends all but the rank's own part; a value that goes the same way on all links counts once.
  if (kind == Collective::ALL_REDUCE)
    factor = 2 * (n - 1) / n;
  else if (hasOperandPerMember(kind) || hasResultPerMember(kind))
    factor = (n - 1) / n;
  return getAlgorithmBandwidth() * factor;
}

std::string SelfTestReport::formatTimings() const {
  std::string text = fmt::format("{:>10} {:>9} {:>5} {:>6} {:<16} {:>4} {:>10} {:>10} {:>10} {:>7}\n{:>10} {:>9} {:>5} "
                                 "{:>6} {:<16} {:>4} {:>10} {:>10} {:>10} {:>7}\n",
                                 "size", "count", "type", "redop", "collective", "root", "time", "algbw", "busbw",
                                 "#wrong", "(B)", "(elems)", "", "", "", "", "(us)", "(GB/s)", "(GB/s)", "");
  for (const SelfTestTiming &timing : timings)
    text += fmt::format("{:>10} {:>9} {:>5} {:>6} {:<16} {:>4} {:>10.1f} {:>10.3f} {:>10.3f} {:>7}\n", timing.bytes,
                        timing.count, "f32", isReducing(timing.kind) ? "sum" : "-", getName(timing.kind),
                        hasRoot(timing.kind) ? "0" : "-", timing.seconds * 1e6, timing.getAlgorithmBandwidth() / 1e9,
                        timing.getBusBandwidth(numRanks) / 1e9, timing.wrong);
  return text;
}

LinkModel SelfTestReport::fitLink() const {
  std::vector<LinkModel::Point> points;
  for (const SelfTestTiming &timing : timings)
    points.push_back(
        {getSentBytes(timing.kind, static_cast<uint64_t>(numRanks), timing.count * getSize(F32)), timing.seconds});
  return LinkModel::fit(points);
}

/// Programs that do nothing, for platforms that want to know whose kernels they run.
static Result<LoadedPackage> makePackage(int64_t numRanks) {
  meshwright::Package message;
  message.set_version(schemaVersion);
  Axis *axis = message.add_axes();
  axis->set_name("ranks");
  axis->set_size(numRanks);
  message.add_programs();
  for (int64_t rank = 0; rank != numRanks; ++rank)
    message.add_program_of_rank(0);
  return LoadedPackage::create(std::move(message), "", std::nullopt);
}

namespace {

/// A batch on a backend of its own.
class BatchRun {
public:
  BatchRun(World &world, const SelfTestBatch &batch) : world(world), batch(batch) {}

  /// All processes come to the end of this, whatever goes wrong on one of them.
  Status prepare(const SelfTestOptions &options) {
    auto loaded = makePackage(batch.numRanks);
    MW_TRY(world.agree(loaded.status()));
    package.emplace(std::move(*loaded));
    const DeviceKind &kind = options.device ? *options.device : cpuKind;
    MW_TRY_ASSIGN(platform, kind.createPlatform(*package, world, batch.numRanks, options.platform));
    MW_TRY(world.agree(createDevices()));
    BackendOptions backendOptions = options.backend;
    backendOptions.numRanks = batch.numRanks;
    auto made = platform->createBackend(backendOptions, devices);
    MW_TRY(world.agree(made.status()));
    backend = std::move(*made);
    MW_TRY(world.agree(prepareRanks()));
    return runStep([&](int64_t rank) { return backend->getCommunicator(rank).connect(); });
  }

  Status run(std::atomic<uint64_t> &done) {
    // All ranks do the same cases, so one of them counts.
    std::atomic<uint64_t> ignored = 0;
    return runStep([&](int64_t rank) { return getRank(rank).run(rank == backend->getRanks().begin ? done : ignored); });
  }

  /// The seconds of case i on the slowest rank of this process.
  Result<double> measure(size_t i, int times) {
    std::vector<double> seconds(ranks.size());
    MW_TRY(runStep([&](int64_t rank) -> Status {
      MW_TRY_ASSIGN(seconds[rank - backend->getRanks().begin], getRank(rank).measure(i, times));
      return {};
    }));
    return *std::max_element(seconds.begin(), seconds.end());
  }

  SelfTestFindings getFindings() const {
    SelfTestFindings all;
    for (const SelfTestRank &rank : ranks) {
      all.wrong += rank.getFindings().wrong;
      if (all.first.empty())
        all.first = rank.getFindings().first;
    }
    return all;
  }

private:
  SelfTestRank &getRank(int64_t rank) { return ranks[rank - backend->getRanks().begin]; }

  Status createDevices() {
    RankRange range = world.getRanks(batch.numRanks);
    for (int64_t rank = range.begin; rank != range.end; ++rank) {
      MW_TRY_ASSIGN(devices.emplace_back(), platform->createDevice(rank));
    }
    return {};
  }

  Status prepareRanks() {
    RankRange range = backend->getRanks();
    for (int64_t rank = range.begin; rank != range.end; ++rank)
      ranks.emplace_back(batch, *devices[rank - range.begin], backend->getCommunicator(rank), rank);
    MW_TRY_ASSIGN(team, RankTeam::create(range));
    return team->run([&](int64_t rank) { return getRank(rank).prepare(); });
  }

  Status runStep(const std::function<Status(int64_t)> &work) {
    backend->beginStep();
    Status status = team->run([&](int64_t rank) {
      Status result = work(rank);
      backend->getCommunicator(rank).finishStep(result);
      return result;
    });
    return world.agree(status);
  }

  World &world;
  const SelfTestBatch &batch;
  std::optional<LoadedPackage> package;
  std::unique_ptr<Platform> platform;
  /// The results of the ranks of this process.
  std::vector<std::unique_ptr<Device>> devices;
  std::unique_ptr<Backend> backend;
  std::vector<SelfTestRank> ranks;
  /// Last, so that its threads end before what they use.
  std::unique_ptr<RankTeam> team;
};

class Suite {
public:
  Suite(World &world, const SelfTestOptions &options) : world(world), options(options) {}

  Result<SelfTestReport> run() {
    std::vector<SelfTestBatch> batches;
    MW_TRY_ASSIGN(std::vector<int64_t> numbersOfRanks, getNumbersOfRanks());
    for (int64_t numRanks : numbersOfRanks)
      for (SelfTestBatch &batch : makeSelfTestBatches(numRanks, options.all))
        batches.push_back(std::move(batch));
    for (const SelfTestBatch &batch : batches)
      total += batch.cases.size();
    for (const SelfTestBatch &batch : batches)
      MW_TRY(runBatch(batch));
    report.cases = done;
    report.numRanks = numbersOfRanks.back();
    MW_TRY(shareFindings());
    if (!options.isTimed || !report.verdict.ok() || report.numRanks == 1)
      return std::move(report);
    MW_TRY(measure());
    MW_TRY(shareFindings());
    return std::move(report);
  }

private:
  Result<std::vector<int64_t>> getNumbersOfRanks() const {
    if (options.numRanks != 0)
      return std::vector<int64_t>{options.numRanks};
    if (world.getNumProcesses() != 1)
      return std::vector<int64_t>{world.getNumProcesses()};
    std::vector<int64_t> numbers = {1, 2, 3, 4, 8};
    if (options.all)
      numbers.push_back(16);
    const DeviceBackend *backend = options.device ? options.device->findBackend(options.platform.backend) : nullptr;
    if (backend && !backend->sharesDevice && options.device->countDevices) {
      MW_TRY_ASSIGN(int64_t devices, options.device->countDevices());
      std::erase_if(numbers, [&](int64_t number) { return number > std::max<int64_t>(devices, 1); });
    }
    return numbers;
  }

  Status runBatch(const SelfTestBatch &batch) {
    BatchRun run(world, batch);
    MW_TRY(run.prepare(options));
    MW_TRY(run.run(done));
    add(run.getFindings(), batch.numRanks);
    if (options.progress)
      options.progress(done, total);
    return {};
  }

  void add(const SelfTestFindings &next, int64_t numRanks) {
    findings.wrong += next.wrong;
    if (findings.first.empty() && !next.first.empty())
      findings.first = fmt::format("of {} ranks: {}", numRanks, next.first);
  }

  /// The first finding of the first process that has one, and the sum of all, on all processes.
  Status shareFindings() {
    Status mine = findings.wrong == 0 ? Status() : Status(Code::CheckFailed, findings.first);
    MW_TRY_ASSIGN(report.wrong, addUp(findings.wrong));
    report.verdict = world.agree(mine);
    return report.verdict.code() == Code::CheckFailed ? Status() : report.verdict;
  }

  /// On all processes, the sum of what they have.
  Result<uint64_t> addUp(uint64_t mine) {
    MW_TRY_ASSIGN(std::vector<Bytes> all, world.gather(std::as_bytes(std::span(&mine, 1))));
    uint64_t sum = 0;
    for (const Bytes &bytes : all) {
      uint64_t next = 0;
      std::memcpy(&next, bytes.data(), sizeof(next));
      sum += next;
    }
    MW_TRY(world.broadcast(std::as_writable_bytes(std::span(&sum, 1))));
    return sum;
  }

  /// On the first process, the largest of what they have.
  Result<double> findSlowest(double mine) {
    MW_TRY_ASSIGN(std::vector<Bytes> all, world.gather(std::as_bytes(std::span(&mine, 1))));
    for (const Bytes &bytes : all) {
      double next = 0;
      std::memcpy(&next, bytes.data(), sizeof(next));
      mine = std::max(mine, next);
    }
    return mine;
  }

  Status measure() {
    for (uint64_t bytes : {uint64_t(1) << 10, uint64_t(64) << 10, uint64_t(1) << 20, uint64_t(8) << 20}) {
      SelfTestBatch batch{report.numRanks, 1, {}};
      for (int kind = Collective::Kind_MIN; kind <= Collective::Kind_MAX; ++kind) {
        SelfTestCase &next = batch.cases.emplace_back();
        next.kind = static_cast<Collective::Kind>(kind);
        next.grouping.size = report.numRanks;
        next.count = getPartCount(next.kind, F32, bytes, report.numRanks);
      }
      MW_TRY(measureBatch(batch, bytes < (1 << 20) ? 50 : 5));
    }
    return {};
  }

  Status measureBatch(const SelfTestBatch &batch, int times) {
    BatchRun run(world, batch);
    MW_TRY(run.prepare(options));
    uint64_t before = 0;
    for (size_t i = 0; i != batch.cases.size(); ++i) {
      const SelfTestCase &test = batch.cases[i];
      MW_TRY_ASSIGN(double mine, run.measure(i, times));
      MW_TRY_ASSIGN(double seconds, findSlowest(mine));
      MW_TRY_ASSIGN(uint64_t wrong, addUp(run.getFindings().wrong));
      bool isSplit = hasOperandPerMember(test.kind) || hasResultPerMember(test.kind);
      report.timings.push_back(
          {test.kind, test.count * 4 * (isSplit ? batch.numRanks : 1), test.count, seconds, wrong - before});
      before = wrong;
    }
    add(run.getFindings(), batch.numRanks);
    return {};
  }

  World &world;
  const SelfTestOptions &options;
  SelfTestReport report;
  SelfTestFindings findings;
  std::atomic<uint64_t> done = 0;
  uint64_t total = 0;
};

} // namespace

Result<SelfTestReport> meshwright::runtime::runSelfTest(World &world, const SelfTestOptions &options) {
  return Suite(world, options).run();
}
