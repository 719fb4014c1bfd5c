//===- Session.cpp - a package while it runs ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the arenas, mirrors, executors and communicators of this process's ranks from a package, and runs steps with
// one thread per rank. Whole arrays are scattered to, and gathered from, the parts that placements describe.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Session.h"
#include "Mirrors.h"
#include "meshwright/runtime/Cpu.h"
#include "meshwright/runtime/FlightRecorder.h"
#include "meshwright/runtime/Inproc.h"
#include "meshwright/runtime/RankTeam.h"
#include "meshwright/runtime/Readings.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

struct Session::Implementation {
  Implementation(const LoadedPackage &package, const SessionOptions &options)
      : package(package), options(options), mesh(options.serial ? Mesh() : package.getMesh()),
        ownWorld(options.world ? nullptr : createLocalWorld()), world(options.world ? *options.world : *ownWorld) {}

  const LoadedPackage &package;
  SessionOptions options;
  Mesh mesh;
  std::unique_ptr<World> ownWorld;
  World &world;
  std::unique_ptr<Platform> platform;
  /// The devices of the ranks of this process.
  std::vector<std::unique_ptr<Device>> devices;
  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<Executor>> executors;
  std::optional<Mirrors> mirrors;
  std::vector<RankMemory> memory;
  ValueSet variables, inputs, outputs;
  Readings readings;
  /// The position of the next step in its gradient accumulation.
  uint32_t position = 0;
  std::function<Status(int64_t)> stepWork;
  /// Set while a step is to be left.
  std::atomic<bool> isInterrupted = false;
  /// Last, so that its threads end before what they use.
  std::unique_ptr<RankTeam> team;

  RankRange getRanks() const { return backend->getRanks(); }
  std::unique_ptr<Executor> &getExecutor(int64_t rank) { return executors[rank - getRanks().begin]; }

  const Program &getProgram(int64_t rank) const {
    const meshwright::Package &message = package.message();
    return options.serial ? message.serial() : message.programs(message.program_of_rank(static_cast<int>(rank)));
  }

  /// All processes come to the end of this together, whatever goes wrong on one of them.
  Status createExecutors() {
    MW_TRY(createPlatform());
    MW_TRY(world.agree(createDevices()));
    auto made = platform->createBackend({mesh.getNumRanks(), options.serial ? std::nullopt : options.link,
                                         options.timeoutSeconds, options.checkCollectives},
                                        devices);
    MW_TRY(world.agree(made.status()));
    backend = std::move(*made);
    executors.resize(getRanks().size());
    mirrors.emplace(getRanks());
    MW_TRY(world.agree(prepareExecutors()));
    // When all have described what they will do.
    backend->beginStep();
    MW_TRY(team->run([this](int64_t rank) {
      Status status = backend->getCommunicator(rank).connect();
      backend->getCommunicator(rank).finishStep(status);
      return status;
    }));
    return collectMemory();
  }

  Status createPlatform() {
    PlatformOptions wanted = options.platform;
    wanted.timeoutSeconds = options.timeoutSeconds;
    if (options.serial)
      wanted.hostLink = std::nullopt;
    const DeviceKind &kind = options.device ? *options.device : cpuKind;
    MW_TRY_ASSIGN(platform, kind.createPlatform(package, world, mesh.getNumRanks(), wanted));
    return {};
  }

  Status createDevices() {
    RankRange ranks = world.getRanks(mesh.getNumRanks());
    for (int64_t rank = ranks.begin; rank != ranks.end; ++rank) {
      MW_TRY_ASSIGN(devices.emplace_back(), platform->createDevice(rank));
    }
    return {};
  }

  RankFlight *getFlight(int64_t rank) const {
    return options.serial || !options.flights ? nullptr : &options.flights->getRank(rank);
  }

  const Device *getOwner(int64_t rank) const {
    if (!options.beside)
      return nullptr;
    const Implementation &other = *options.beside->implementation;
    return other.devices[rank - other.getRanks().begin].get();
  }

  Status prepareExecutors() {
    MW_TRY_ASSIGN(team, RankTeam::create(getRanks()));
    return team->run([this](int64_t rank) -> Status {
      platform->prepareThread();
      MW_TRY_ASSIGN(getExecutor(rank),
                    Executor::create({package, getProgram(rank), mesh, *devices[rank - getRanks().begin],
                                      backend->getCommunicator(rank), rank, getFlight(rank), getOwner(rank),
                                      options.countAllocations, &isInterrupted}));
      return {};
    });
  }

  /// Each process knows the scratch memory of its ranks' libraries; the rest is in the package.
  Status collectMemory() {
    std::vector<uint64_t> mine;
    for (const std::unique_ptr<Executor> &executor : executors)
      mine.push_back(executor->getScratchBytes());
    MW_TRY_ASSIGN(std::vector<Bytes> all, world.gatherForAll(std::as_bytes(std::span(mine))));
    // Each process has a number for each of its ranks.
    for (const Bytes &scratch : all)
      for (size_t at = 0; at + sizeof(uint64_t) <= scratch.size(); at += sizeof(uint64_t)) {
        const Program &program = getProgram(static_cast<int64_t>(memory.size()));
        memory.push_back({program.persistent_bytes(), program.arena_bytes(), program.host_arena_bytes(), 0});
        std::memcpy(&memory.back().scratch, scratch.data() + at, sizeof(uint64_t));
      }
    return {};
  }

  Status createAllValues() {
    const meshwright::Package &message = package.message();
    const ProgramLayouts &layouts = options.serial ? package.getSerialLayouts() : package.getLayouts();
    MW_TRY(createValues(
        variables, message.variables(), layouts.variables,
        [](const Program &program) -> const auto & { return program.variable_buffers(); }, "variable"));
    MW_TRY(createValues(
        inputs, message.inputs(), layouts.inputs,
        [](const Program &program) -> const auto & { return program.input_buffers(); }, "input"));
    return createValues(
        outputs, message.outputs(), layouts.outputs,
        [](const Program &program) -> const auto & { return program.output_buffers(); }, "output");
  }

  /// Collects where the ranks hold the values; `getPlaces` is the program's list for them.
  template <typename Messages, typename GetPlaces>
  Status createValues(ValueSet &set, const Messages &messages, const std::vector<Layout> &layouts, GetPlaces getPlaces,
                      const char *what) {
    for (int i = 0; i != messages.size(); ++i) {
      set.add(messages[i].name(), messages[i].dtype(), layouts[i], mesh);
      for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank) {
        int32_t place = getPlaces(getProgram(rank))[i];
        if (place == -1)
          continue;
        std::span<std::byte> array;
        if (getRanks().contains(rank)) {
          MW_TRY_ASSIGN(array, mirrors->add(set, static_cast<size_t>(i), rank, *getExecutor(rank), place));
        }
        set.addHolder(rank, array);
      }
      if (!isLeftOut(messages[i]))
        MW_TRY(set.checkHolders(mesh).within(fmt::format("{} \"{}\"", what, messages[i].name())));
    }
    return {};
  }

  /// The serial program of a package whose accumulation takes place within a step has nothing to accumulate.
  bool isLeftOut(const Variable &variable) const {
    return options.serial && variable.kind() == Variable::ACCUMULATOR && package.getAccumulationSteps() == 1;
  }
  bool isLeftOut(const Port &) const { return false; }

  /// Calls wait(executor) on the thread of every rank. One that fails releases the others, whose devices may wait for
  /// it.
  template <typename Fn> Status waitOnRanks(Fn &&wait) {
    return team->run([&](int64_t rank) {
      Status status = wait(*getExecutor(rank));
      if (!status.ok())
        backend->getCommunicator(rank).finishStep(status);
      return status;
    });
  }

  /// A step was run on all ranks of this process, from that time on.
  void endStep(int64_t begin) {
    readings.noteStep(position, static_cast<double>(TimeRange::now() - begin) * 1e-9);
    mirrors->noteComputed(variables);
    mirrors->noteComputed(outputs);
    position = (position + 1) % package.getAccumulationSteps();
  }

  /// The first process takes the packed values apart.
  Status unpack(std::span<const Gathered> values, std::span<const Bytes> packed) const {
    std::vector<uint64_t> offsets(packed.size());
    Bytes joined;
    for (const Gathered &value : values) {
      joined.clear();
      for (size_t process = 0; process != packed.size(); ++process) {
        uint64_t bytes =
            value.set->getPackedBytes(value.index, world.getRanks(mesh.getNumRanks(), static_cast<int64_t>(process)));
        if (packed[process].size() - offsets[process] < bytes)
          return faultError("process {} sent {} bytes of \"{}\" where {} are wanted", process,
                            packed[process].size() - offsets[process], value.set->getName(value.index), bytes);
        auto begin = packed[process].begin() + static_cast<ptrdiff_t>(offsets[process]);
        joined.insert(joined.end(), begin, begin + static_cast<ptrdiff_t>(bytes));
        offsets[process] += bytes;
      }
      value.set->unpack(value.index, joined, value.whole);
    }
    return {};
  }

  /// Ranks of the first process are compared element by element, those of others by checksums.
  static Status compareHolders(const ValueSet &set, size_t i, const std::vector<int64_t> &holders,
                               std::span<const uint32_t> checksums) {
    int64_t first = holders.front();
    for (int64_t rank : std::span(holders).subspan(1)) {
      std::span<const std::byte> ours = set.getArray(i, rank), theirs = set.getArray(i, first);
      bool areHere = !ours.empty() && !theirs.empty();
      std::optional<int64_t> element;
      if (areHere)
        element = findDifference(set.getPart(i, rank), ours.data(), theirs.data(), runtime::getSize(set.getType(i)));
      if (areHere ? !element : checksums[rank] == checksums[first])
        continue;
      return Status(Code::CheckFailed,
                    fmt::format("ranks {} and {} differ in {}\"{}\"", first, rank,
                                element ? fmt::format("element {} of ", *element) : "", set.getName(i)));
    }
    return {};
  }

  /// The checksums of every rank's part of a value, on the first process; 0 for a rank that holds none.
  Result<std::vector<uint32_t>> gatherChecksums(const ValueSet &set, size_t i) const {
    std::vector<uint32_t> mine;
    for (int64_t rank = getRanks().begin; rank != getRanks().end; ++rank)
      mine.push_back(set.getArray(i, rank).empty() ? 0 : set.computeChecksum(i, rank));
    MW_TRY_ASSIGN(std::vector<Bytes> all, world.gather(std::as_bytes(std::span(mine))));
    std::vector<uint32_t> checksums;
    for (const Bytes &bytes : all)
      for (size_t at = 0; at + sizeof(uint32_t) <= bytes.size(); at += sizeof(uint32_t))
        std::memcpy(&checksums.emplace_back(), bytes.data() + at, sizeof(uint32_t));
    return checksums;
  }
};

Session::Session(std::unique_ptr<Implementation> implementation) : implementation(std::move(implementation)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(const LoadedPackage &package, const SessionOptions &options) {
  if (options.serial && !package.hasSerial())
    return inputError("the package was made without its serial program");
  auto implementation = std::make_unique<Implementation>(package, options);
  MW_TRY(implementation->createExecutors());
  MW_TRY(implementation->world.agree(implementation->createAllValues()));
  auto *self = implementation.get();
  self->stepWork = [self](int64_t rank) {
    Status status = self->mirrors->push(rank);
    if (status.ok())
      status = self->getExecutor(rank)->runStep(self->position, self->readings.getNextPlace());
    self->backend->getCommunicator(rank).finishStep(status);
    return status;
  };
  return std::unique_ptr<Session>(new Session(std::move(implementation)));
}

int64_t Session::getNumRanks() const { return implementation->mesh.getNumRanks(); }
RankRange Session::getRanks() const { return implementation->getRanks(); }
World &Session::getWorld() const { return implementation->world; }
const Mesh &Session::getMesh() const { return implementation->mesh; }
const LoadedPackage &Session::getPackage() const { return implementation->package; }
const SessionOptions &Session::getOptions() const { return implementation->options; }
const std::string &Session::getTarget() const { return implementation->platform->getTarget(); }
const Program &Session::getProgram(int64_t rank) const { return implementation->getProgram(rank); }
const Executor &Session::getExecutor(int64_t rank) const { return *implementation->getExecutor(rank); }
const RankMemory &Session::getMemory(int64_t rank) const { return implementation->memory[rank]; }
const ValueSet &Session::getVariables() const { return implementation->variables; }
const ValueSet &Session::getInputs() const { return implementation->inputs; }
const ValueSet &Session::getOutputs() const { return implementation->outputs; }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void Session::scatter(const ValueSet &set, size_t i, std::span<const std::byte> whole) {
  RankRange ranks = getRanks();
  for (int64_t rank = ranks.begin; rank != ranks.end; ++rank)
    set.scatterTo(i, rank, whole.data());
  noteWritten(set, i);
}

void Session::noteWritten(const ValueSet &set, size_t i) { implementation->mirrors->noteWritten(set, i); }
Status Session::pull(const ValueSet &set, size_t i, int64_t rank) const {
  return implementation->mirrors->pull(set, i, rank);
}

Status Session::gather(const ValueSet &set, size_t i, std::span<std::byte> whole) const {
  Gathered value{&set, i, whole};
  return gather(std::span(&value, 1));
}

Status Session::gather(std::span<const Gathered> values) const {
  for (const Gathered &value : values)
    MW_TRY(implementation->mirrors->pull(*value.set, value.index));
  if (getWorld().isAlone()) {
    for (const Gathered &value : values)
      value.set->gather(value.index, value.whole);
    return {};
  }
  Bytes packed;
  for (const Gathered &value : values)
    value.set->pack(value.index, getRanks(), packed);
  MW_TRY_ASSIGN(std::vector<Bytes> all, getWorld().gather(packed));
  return getWorld().isFirst() ? implementation->unpack(values, all) : Status();
}

Status Session::checkReplicas(const ValueSet &set, size_t i) const {
  MW_TRY(implementation->mirrors->pull(set, i));
  std::vector<uint32_t> checksums;
  if (!getWorld().isAlone()) {
    MW_TRY_ASSIGN(checksums, implementation->gatherChecksums(set, i));
  }
  Status status;
  for (int64_t rank = 0; rank != getNumRanks() && getWorld().isFirst(); ++rank)
    if (status.ok() && set.isFirstHolder(i, rank))
      status = Implementation::compareHolders(set, i, set.getHolders(i, rank), checksums);
  return getWorld().agree(status);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status Session::forEachRank(const std::function<Status(int64_t)> &work) {
  return getWorld().agree(implementation->team->run(work));
}

uint32_t Session::getAccumulationPosition() const { return implementation->position; }
void Session::setAccumulationPosition(uint32_t position) { implementation->position = position; }

bool Session::isIdle(size_t i) const {
  return implementation->position == 0 &&
         implementation->package.message().variables(static_cast<int>(i)).kind() == Variable::ACCUMULATOR;
}

bool Session::isKnown(size_t i) const {
  return isUpdated() || !implementation->package.message().outputs(static_cast<int>(i)).at_update();
}

void Session::interrupt() { implementation->isInterrupted = true; }

Status Session::step() {
  int64_t begin = TimeRange::now();
  implementation->isInterrupted = false;
  implementation->backend->beginStep();
  MW_TRY(implementation->team->run(implementation->stepWork));
  implementation->endStep(begin);
  return {};
}

Status Session::resume() {
  implementation->mirrors->noteComputed(implementation->variables);
  return implementation->team->run([this](int64_t rank) { return implementation->getExecutor(rank)->restore(); });
}

bool Session::runsAhead() const {
  return !implementation->executors.empty() && !implementation->executors.front()->isAddressable();
}

Status Session::synchronize() {
  if (!runsAhead())
    return {};
  return implementation->waitOnRanks([](Executor &executor) { return executor.synchronize(); });
}

Status Session::prepareReadings(std::span<const std::string> names) {
  return implementation->readings.prepare(*this, names, implementation->executors);
}

size_t Session::getNumUnread() const { return implementation->readings.getNumUnread(); }

Result<StepReading> Session::readStep() {
  uint32_t place = implementation->readings.getOldestPlace();
  StepCosts costs;
  std::mutex mutex;
  auto finish = [&](Executor &executor) -> Status {
    MW_TRY_ASSIGN(StepCosts finished, executor.finishReadings(place));
    std::lock_guard held(mutex);
    costs.add(finished);
    return {};
  };
  if (runsAhead())
    MW_TRY(implementation->waitOnRanks(finish));
  else
    for (const std::unique_ptr<Executor> &executor : implementation->executors)
      MW_TRY(finish(*executor));
  return implementation->readings.read(*this, costs);
}

Result<std::vector<RankTrace>> Session::traceStep() {
  std::vector<RankTrace> traces(getRanks().size());
  int64_t begin = TimeRange::now();
  implementation->backend->beginStep();
  MW_TRY(implementation->team->run([&](int64_t rank) {
    Status status = implementation->mirrors->push(rank);
    if (status.ok())
      status = implementation->getExecutor(rank)->runTracedStep(
          implementation->position, implementation->readings.getNextPlace(), traces[rank - getRanks().begin]);
    Communicator &communicator = implementation->backend->getCommunicator(rank);
    communicator.finishStep(status);
    communicator.setTrace(nullptr);
    return status;
  }));
  implementation->endStep(begin);
  return traces;
}

/// The types of the operands of a program's products and convolutions.
static std::set<DType> findProductTypes(const Program &program) {
  std::set<DType> types;
  for (const Task &task : program.tasks())
    for (const Instruction &instruction : task.instructions())
      if (instruction.has_matmul())
        types.insert(instruction.matmul().lhs_dtype());
      else if (instruction.has_convolution())
        types.insert(instruction.convolution().lhs_dtype());
  return types;
}

Result<DeviceRates> Session::measureRates() {
  std::set<DType> types;
  for (int64_t rank = getRanks().begin; rank != getRanks().end; ++rank)
    types.merge(findProductTypes(getProgram(rank)));
  std::vector<DType> list(types.begin(), types.end());
  std::vector<DeviceRates> rates(getRanks().size());
  MW_TRY(forEachRank([&](int64_t rank) -> Status {
    MW_TRY_ASSIGN(std::optional<DeviceRates> measured, implementation->getExecutor(rank)->measureRates(list));
    if (measured)
      rates[rank - getRanks().begin] = *measured;
    return {};
  }));
  DeviceRates mean;
  auto numRanks = static_cast<double>(rates.size());
  for (const DeviceRates &one : rates) {
    mean.bytesPerSecond += one.bytesPerSecond / numRanks;
    for (const auto &[type, flops] : one.flopsPerSecond)
      mean.flopsPerSecond[type] += flops / numRanks;
  }
  return mean;
}

Result<std::optional<double>> Session::measureAlone(int64_t rank, const Instruction &instruction) {
  std::optional<double> seconds;
  MW_TRY(implementation->team->run([&](int64_t member) -> Status {
    if (member == rank) {
      MW_TRY_ASSIGN(seconds, implementation->getExecutor(rank)->measureAlone(instruction));
    }
    return {};
  }));
  return seconds;
}

Result<StepProfile> Session::profile(uint32_t position, int steps) {
  size_t numRanks = implementation->executors.size();
  std::vector<std::vector<std::vector<double>>> samples(numRanks, std::vector<std::vector<double>>(steps + 1));
  implementation->backend->setProfiling(true);
  Status status;
  for (int step = 0; step <= steps && status.ok(); ++step) {
    implementation->backend->beginStep();
    status = implementation->team->run([&](int64_t rank) {
      Status result = implementation->getExecutor(rank)->runProfiledStep(position, samples[rank][step]);
      implementation->backend->getCommunicator(rank).finishStep(result);
      return result;
    });
  }
  implementation->backend->setProfiling(false);
  MW_TRY(status);
  StepProfile profile;
  for (size_t rank = 0; rank != numRanks; ++rank) {
    std::vector<double> &medians = profile.seconds.emplace_back();
    std::vector<double> values(steps);
    for (size_t i = 0; i != samples[rank][0].size(); ++i) {
      for (int step = 0; step != steps; ++step)
        values[step] = samples[rank][step + 1][i];
      std::nth_element(values.begin(), values.begin() + steps / 2, values.end());
      medians.push_back(values[steps / 2]);
    }
  }
  return profile;
}
