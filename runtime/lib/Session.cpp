//===- Session.cpp - a package while it runs ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Session.h"
#include "RankTeam.h"
#include "meshwright/runtime/InitialValues.h"
#include "meshwright/runtime/MatmulSet.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// ValueSet
//===----------------------------------------------------------------------===//

uint64_t ValueSet::getBytes(size_t i) const { return *getNumElements(getShape(i)) * runtime::getSize(values[i].type); }

std::optional<size_t> ValueSet::find(const std::string &name) const {
  for (size_t i = 0; i != values.size(); ++i)
    if (values[i].name == name)
      return i;
  return std::nullopt;
}

bool ValueSet::isFirstHolder(size_t i, int64_t rank) const {
  const Value &value = values[i];
  return !value.arrays[rank].empty() && value.holders[value.partOfRank[rank]].front() == rank;
}

//===----------------------------------------------------------------------===//
// Implementation
//===----------------------------------------------------------------------===//

struct Session::Implementation {
  Implementation(const LoadedPackage &package, const SessionOptions &options)
      : package(package), options(options), mesh(options.serial ? Mesh() : package.getMesh()) {}

  const LoadedPackage &package;
  SessionOptions options;
  Mesh mesh;
  LoadedKernels kernels;
  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Executor>> executors;
  ValueSet variables, inputs, outputs;
  /// Of the next step in its merge.
  uint32_t position = 0;
  std::function<Status(int64_t)> stepWork;
  /// Last, so that its threads end before what they use.
  std::unique_ptr<RankTeam> team;

  const Program &getProgram(int64_t rank) const {
    const meshwright::Package &message = package.message();
    return options.serial ? message.serial() : message.programs(message.program_of_rank(rank));
  }

  Status createExecutors() {
    devices.resize(mesh.getNumRanks());
    executors.resize(mesh.getNumRanks());
    MW_TRY_ASSIGN(team, RankTeam::create(mesh.getNumRanks()));
    backend = createInprocBackend(mesh.getNumRanks(), options.serial ? std::nullopt : options.link);
    MW_TRY(team->run([this](int64_t rank) -> Status {
      setLibraryThreads(options.threads);
      devices[rank] = createCpuDevice(kernels, options.serial ? std::nullopt : options.hostLink);
      MW_TRY_ASSIGN(executors[rank],
                    Executor::create({package, getProgram(rank), mesh, *devices[rank], backend->getCommunicator(rank),
                                      rank, options.countAllocations}));
      return {};
    }));
    // When all have described what they will do.
    backend->beginStep();
    return team->run([this](int64_t rank) {
      Status status = backend->getCommunicator(rank).connect();
      backend->getCommunicator(rank).finishStep(status);
      return status;
    });
  }

  /// Collects where the ranks hold the values; `getPlaces` is the program's list for them.
  template <typename Messages, typename GetPlaces>
  Status createValues(ValueSet &set, const Messages &messages, const std::vector<Layout> &layouts, GetPlaces getPlaces,
                      const char *what) {
    for (int i = 0; i != messages.size(); ++i) {
      ValueSet::Value &value = set.values.emplace_back();
      value.name = messages[i].name();
      value.type = messages[i].dtype();
      value.layout = &layouts[i];
      createParts(value);
      for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank) {
        int32_t place = getPlaces(getProgram(rank))[i];
        value.arrays.push_back(place == -1 ? std::span<std::byte>() : executors[rank]->getBuffer(place));
        if (place != -1)
          value.holders[value.partOfRank[rank]].push_back(rank);
      }
      if (!isLeftOut(messages[i]))
        MW_TRY(checkHolders(value).within(fmt::format("{} \"{}\"", what, value.name)));
    }
    return {};
  }

  /// The serial program of a package whose merge takes place within a step has nothing to accumulate.
  bool isLeftOut(const Variable &variable) const {
    return options.serial && variable.kind() == Variable::ACCUMULATOR && package.getMergeSteps() == 1;
  }
  bool isLeftOut(const Port &) const { return false; }

  /// Of every part that ranks hold, one does.
  Status checkHolders(const ValueSet::Value &value) const {
    for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank)
      if (value.holders[value.partOfRank[rank]].empty() && value.layout->isHeldAt(mesh.getCoordinates(rank)))
        return inputError("no rank holds part {}", value.partOfRank[rank]);
    return {};
  }

  /// Ranks with equal coordinates on the axes that split a value, or over which it is a sum, hold the same part.
  void createParts(ValueSet::Value &value) {
    for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank) {
      std::vector<int64_t> coordinates = mesh.getCoordinates(rank);
      uint32_t part = 0;
      for (uint32_t axis : value.layout->getPartAxes())
        part = part * mesh.getSize(axis) + coordinates[axis];
      // Ranks ascend, so a part is met first in the order of parts.
      if (part == value.parts.size())
        value.parts.push_back({LocalPart(*value.layout, coordinates), value.layout->getAddend(coordinates)});
      value.partOfRank.push_back(part);
    }
    value.holders.resize(value.parts.size());
  }

  /// Gives a rank its part of a whole value.
  void scatterTo(const ValueSet::Value &value, int64_t rank, const std::byte *whole) {
    const ValueSet::Value::Part &part = value.parts[value.partOfRank[rank]];
    if (value.arrays[rank].empty())
      return;
    if (part.addend == 0)
      scatterPart(part.elements, whole, value.arrays[rank].data(), runtime::getSize(value.type));
    else
      fillNeutral(value.type, value.arrays[rank]);
  }

  /// What is written sooner than it is copied.
  bool isConstant(size_t variable) const {
    return package.message().variables(static_cast<int>(variable)).init().kind() == Initializer::CONSTANT;
  }

  /// The elements of its array of a variable that a holder computes; the other holders of its part copy them.
  std::pair<uint64_t, uint64_t> getShare(size_t variable, size_t holder, size_t numHolders) const {
    const ValueSet::Value &value = variables.values[variable];
    uint64_t count = *getNumElements(value.layout->getLocalShape());
    if (isConstant(variable))
      return {0, count};
    uint64_t share = ((count + numHolders - 1) / numHolders + 63) / 64 * 64;
    return {std::min(holder * share, count), std::min((holder + 1) * share, count)};
  }

  void computeInitial(size_t variable, int64_t rank, const TensorView *source, uint64_t seed) {
    const ValueSet::Value &value = variables.values[variable];
    std::span<std::byte> local = value.arrays[rank];
    if (local.empty())
      return;
    const LocalPart &part = value.parts[value.partOfRank[rank]].elements;
    if (source)
      return scatterTo(value, rank, source->bytes.data());
    const std::vector<int64_t> &holders = value.holders[value.partOfRank[rank]];
    size_t holder = std::lower_bound(holders.begin(), holders.end(), rank) - holders.begin();
    auto [begin, end] = getShare(variable, holder, holders.size());
    fillInitialValues(package.message().variables(static_cast<int>(variable)).init(), getStreamKey(value.name, seed),
                      part, value.type, local, begin, end);
  }

  /// Copies what the other holders of the same part have computed.
  void copyInitial(size_t variable, int64_t rank) {
    const ValueSet::Value &value = variables.values[variable];
    if (value.arrays[rank].empty() || isConstant(variable))
      return;
    const std::vector<int64_t> &holders = value.holders[value.partOfRank[rank]];
    uint64_t size = runtime::getSize(value.type);
    for (size_t holder = 0; holder != holders.size(); ++holder) {
      auto [begin, end] = getShare(variable, holder, holders.size());
      if (holders[holder] != rank && begin < end)
        std::memcpy(value.arrays[rank].data() + begin * size, value.arrays[holders[holder]].data() + begin * size,
                    (end - begin) * size);
    }
  }
};

Session::Session(std::unique_ptr<Implementation> implementation) : implementation(std::move(implementation)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(const LoadedPackage &package, const SessionOptions &options) {
  if (options.serial && !package.hasSerial())
    return inputError("the package was made without its serial program");
  auto implementation = std::make_unique<Implementation>(package, options);
  MW_TRY_ASSIGN(implementation->kernels, LoadedKernels::load(package, options.target));
  MW_TRY(implementation->createExecutors());
  const meshwright::Package &message = package.message();
  const ProgramLayouts &layouts = options.serial ? package.getSerialLayouts() : package.getLayouts();
  MW_TRY(implementation->createValues(
      implementation->variables, message.variables(), layouts.variables,
      [](const Program &program) -> const auto & { return program.variable_buffers(); }, "variable"));
  MW_TRY(implementation->createValues(
      implementation->inputs, message.inputs(), layouts.inputs,
      [](const Program &program) -> const auto & { return program.input_buffers(); }, "input"));
  MW_TRY(implementation->createValues(
      implementation->outputs, message.outputs(), layouts.outputs,
      [](const Program &program) -> const auto & { return program.output_buffers(); }, "output"));
  auto *self = implementation.get();
  self->stepWork = [self](int64_t rank) {
    Status status = self->executors[rank]->runStep(self->position);
    self->backend->getCommunicator(rank).finishStep(status);
    return status;
  };
  return std::unique_ptr<Session>(new Session(std::move(implementation)));
}

int64_t Session::getNumRanks() const { return implementation->mesh.getNumRanks(); }
const Mesh &Session::getMesh() const { return implementation->mesh; }
const LoadedPackage &Session::getPackage() const { return implementation->package; }
const SessionOptions &Session::getOptions() const { return implementation->options; }
const std::string &Session::getTarget() const { return implementation->kernels.getTarget(); }
const Executor &Session::getExecutor(int64_t rank) const { return *implementation->executors[rank]; }
const ValueSet &Session::getVariables() const { return implementation->variables; }
const ValueSet &Session::getInputs() const { return implementation->inputs; }
const ValueSet &Session::getOutputs() const { return implementation->outputs; }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Result<InitialReport> Session::initialize(const SafeTensors *file, uint64_t seed) {
  InitialReport report;
  implementation->position = 0;
  const auto &messages = implementation->package.message().variables();
  const ValueSet &set = implementation->variables;
  std::vector<const TensorView *> sources(messages.size(), nullptr);
  for (int i = 0; i != messages.size(); ++i) {
    const Variable &variable = messages[i];
    const TensorView *source = file ? file->find(variable.name()) : nullptr;
    sources[i] = source;
    if (source && (source->type != variable.dtype() || source->shape != set.getShape(i)))
      return inputError("{}: tensor \"{}\" is {} but the variable is {}", file->path(), variable.name(),
                        toString(source->shape, source->type), toString(set.getShape(i), variable.dtype()));
    if (source || variable.kind() == Variable::ACCUMULATOR)
      continue;
    if (!variable.has_init())
      return inputError("variable \"{}\" of {} has no initializer and {}{}", variable.name(),
                        toString(set.getShape(i), variable.dtype()), file ? "is not in " : "no file gives it a value",
                        file ? file->path() : "");
    if (file)
      report.notInFile.push_back(variable.name());
  }
  if (file)
    for (const auto &[name, view] : file->tensors())
      if (!set.find(name))
        report.notInPackage.push_back(name);
  MW_TRY(implementation->team->run([&](int64_t rank) -> Status {
    for (size_t i = 0; i != set.values.size(); ++i)
      implementation->computeInitial(i, rank, sources[i], seed);
    return {};
  }));
  MW_TRY(implementation->team->run([&](int64_t rank) -> Status {
    for (size_t i = 0; i != set.values.size(); ++i)
      if (!sources[i])
        implementation->copyInitial(i, rank);
    return {};
  }));
  return report;
}

void Session::scatter(const ValueSet &set, size_t i, std::span<const std::byte> whole) {
  const ValueSet::Value &value = set.values[i];
  for (size_t rank = 0; rank != value.arrays.size(); ++rank)
    implementation->scatterTo(value, static_cast<int64_t>(rank), whole.data());
}

void Session::gather(const ValueSet &set, size_t i, std::span<std::byte> whole) const {
  const ValueSet::Value &value = set.values[i];
  // Addends ascend among the parts of one place.
  for (size_t part = 0; part != value.parts.size(); ++part) {
    if (value.holders[part].empty())
      continue;
    const std::byte *local = value.arrays[value.holders[part].front()].data();
    if (value.parts[part].addend == 0)
      gatherPart(value.parts[part].elements, local, whole.data(), runtime::getSize(value.type));
    else
      addPart(value.parts[part].elements, local, whole.data(), value.type);
  }
}

Status Session::checkReplicas(const ValueSet &set, size_t i) const {
  const ValueSet::Value &value = set.values[i];
  for (size_t rank = 0; rank != value.arrays.size(); ++rank) {
    uint32_t part = value.partOfRank[rank];
    if (value.arrays[rank].empty() || value.holders[part].front() == static_cast<int64_t>(rank))
      continue;
    uint64_t size = runtime::getSize(value.type);
    const std::byte *first = value.arrays[value.holders[part].front()].data();
    if (auto element = findDifference(value.parts[part].elements, value.arrays[rank].data(), first, size))
      return Status(Code::CheckFailed, fmt::format("ranks {} and {} differ in element {} of \"{}\"",
                                                   value.holders[part].front(), rank, *element, value.name));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status Session::forEachRank(const std::function<Status(int64_t)> &work) { return implementation->team->run(work); }

uint32_t Session::getMergePosition() const { return implementation->position; }
void Session::setMergePosition(uint32_t position) { implementation->position = position; }

bool Session::isIdle(size_t i) const {
  return implementation->position == 0 &&
         implementation->package.message().variables(static_cast<int>(i)).kind() == Variable::ACCUMULATOR;
}

bool Session::isKnown(size_t i) const {
  return isUpdated() || !implementation->package.message().outputs(static_cast<int>(i)).at_update();
}

Status Session::step() {
  implementation->backend->beginStep();
  MW_TRY(implementation->team->run(implementation->stepWork));
  implementation->position = (implementation->position + 1) % implementation->package.getMergeSteps();
  return {};
}

Result<StepProfile> Session::profile(uint32_t position, int steps) {
  size_t numRanks = implementation->executors.size();
  std::vector<std::vector<std::vector<double>>> samples(numRanks, std::vector<std::vector<double>>(steps + 1));
  implementation->backend->setProfiling(true);
  Status status;
  for (int step = 0; step <= steps && status.ok(); ++step) {
    implementation->backend->beginStep();
    status = implementation->team->run([&](int64_t rank) {
      Status result = implementation->executors[rank]->runProfiledStep(position, samples[rank][step]);
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

AllocationCount Session::getStepAllocations() const {
  AllocationCount sum;
  for (const std::unique_ptr<Executor> &executor : implementation->executors) {
    sum.own += executor->getStepAllocations().own;
    sum.library += executor->getStepAllocations().library;
  }
  return sum;
}
