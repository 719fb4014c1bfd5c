//===- SerialCheck.cpp - comparison with the serial program ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a step of the ranks, the first process runs the same step of the serial program and of its twin, and compares
// all outputs and variables. Elements in doubt are few; for them alone twins run that round at random, one after the
// other until no doubt is left. Serial variables then take the distributed values, unless the programs go apart.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/SerialCheck.h"
#include "Places.h"
#include "meshwright/runtime/Readings.h"
#include "meshwright/runtime/Rounding.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/ranges.h>
#include <limits>
#include <map>

using namespace meshwright;
using namespace meshwright::runtime;

/// The twins that round at random, at most; where programs go apart, always all of them.
static constexpr int mostRuns = 32;

/// The places of their rounding (Rounding.h). An error of so many places counts as so many times smaller; most round by
/// as many places as errors may be larger, to show what a step, or the sign of a gradient that is next to zero, makes
/// of errors that are allowed.
static unsigned getPlaces(int number) {
  constexpr unsigned places[] = {1, 8, 2, 8, 4, 8, 8, 8};
  static_assert(places[1] == errorFactor);
  return places[(number - 1) % std::size(places)];
}

static std::string count(size_t n, const char *what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string CheckReport::toString() const {
  std::string values = fmt::format("{} and {}", count(variables, "variable"), count(outputs, "output"));
  std::string text = agrees() ? values + " agree with the serial program"
                              : fmt::format("{} of {} differ from the serial program", disagreeing, values);
  if (!nonFiniteDifference.empty())
    text += ", " + nonFiniteDifference;
  if (!name.empty())
    text += fmt::format(", largest difference {:.2e} where {:.2e} is allowed ({}{})", difference, allowed, name,
                        index.empty() ? "" : fmt::format(" [{}]", fmt::join(index, ", ")));
  else if (agrees() && (!isSkipped || nonFinite == 0))
    text += ", bit for bit";
  if (nonFinite != 0)
    text += fmt::format("; {} not finite{}, \"{}\" first", nonFinite == 1 ? "1 is" : fmt::format("{} are", nonFinite),
                        isSkipped ? ", in a step that both skip" : "", nonFiniteName);
  return text;
}

Result<std::vector<std::optional<double>>> meshwright::runtime::readScalars(const Session &session,
                                                                            std::span<const std::string> names) {
  constexpr size_t kLargest = 8;
  std::vector<std::byte> bytes(names.size() * kLargest);
  std::vector<Gathered> wanted;
  for (size_t i = 0; i != names.size(); ++i)
    if (auto found = findScalar(session, names[i]))
      if (found->set != &session.getOutputs() || session.isKnown(found->index))
        wanted.push_back(
            {found->set, found->index, std::span(bytes).subspan(i * kLargest, found->set->getBytes(found->index))});
  MW_TRY(session.gather(wanted));
  std::vector<std::optional<double>> values(names.size());
  for (const Gathered &value : wanted)
    values[(value.whole.data() - bytes.data()) / kLargest] =
        loadAsDouble(value.set->getType(value.index), value.whole.data());
  return values;
}

//===----------------------------------------------------------------------===//
// The programs
//===----------------------------------------------------------------------===//

SerialCheck::~SerialCheck() = default;

Result<std::unique_ptr<SerialCheck>> SerialCheck::create(const Session &session, SessionOptions options,
                                                         CheckMode mode) {
  std::unique_ptr<SerialCheck> check(new SerialCheck(session, mode));
  options.serial = true;
  options.world = nullptr;
  options.beside = nullptr;
  if (session.getWorld().isFirst()) {
    MW_TRY_ASSIGN(check->serial, Session::create(session.getPackage(), options));
    if (check->hasTwin())
      MW_TRY(check->createTwin(options));
    const ValueSet &variables = check->serial->getVariables();
    check->offsets = {0};
    for (size_t i = 0; i != variables.size(); ++i)
      check->offsets.push_back(check->offsets.back() + variables.getBytes(i));
    check->before.resize(check->offsets.back());
  }
  check->arithmetic = session.getPackage().getArithmetic();
  return check;
}

/// The twin computes on the CPU, whatever the ranks do.
Status SerialCheck::createTwin(const SessionOptions &options) {
  MW_TRY_ASSIGN(LoadedPackage package, session.getPackage().createTwin());
  twinPackage = std::make_unique<LoadedPackage>(std::move(package));
  SessionOptions twinOptions;
  twinOptions.serial = true;
  twinOptions.platform.threads = options.platform.threads;
  twinOptions.timeoutSeconds = options.timeoutSeconds;
  MW_TRY_ASSIGN(twin, Session::create(*twinPackage, twinOptions));
  return {};
}

std::span<std::byte> SerialCheck::getScratch(int which, uint64_t bytes) {
  if (scratch[which].size() < bytes)
    scratch[which].resize(bytes);
  return std::span(scratch[which]).first(bytes);
}

Status SerialCheck::initialize(const SafeTensors *file, uint64_t seed) {
  return initialize([&](Session &session) { return session.initialize(file, seed).status(); });
}

Status SerialCheck::initialize(const std::function<Status(Session &)> &fill) {
  if (serial)
    MW_TRY(fill(*serial));
  const ValueSet &set = session.getVariables();
  Status status;
  for (size_t i = 0; i != set.size(); ++i) {
    if (session.isIdle(i))
      continue;
    std::span<std::byte> ours = getScratch(0, set.getBytes(i)), theirs = getScratch(1, set.getBytes(i));
    MW_TRY(session.gather(set, i, ours));
    MW_TRY(session.checkReplicas(set, i).within("initial values"));
    if (!serial || !status.ok())
      continue;
    serial->getVariables().gather(i, theirs);
    if (!ours.empty() && std::memcmp(ours.data(), theirs.data(), ours.size()) != 0)
      status = Status(Code::CheckFailed,
                      fmt::format("the initial value of \"{}\" differs from the serial program's", set.getName(i)));
  }
  return session.getWorld().agree(status);
}

Status SerialCheck::synchronize() {
  const ValueSet &set = session.getVariables();
  for (size_t i = 0; i != set.size(); ++i) {
    std::span<std::byte> whole = getScratch(0, set.getBytes(i));
    MW_TRY(session.gather(set, i, whole));
    if (serial)
      serial->scatter(serial->getVariables(), i, whole);
  }
  if (serial)
    serial->setAccumulationPosition(session.getAccumulationPosition());
  return {};
}

/// The variables of a session, one after another.
static std::vector<std::byte> saveVariables(const Session &session) {
  const ValueSet &variables = session.getVariables();
  std::vector<std::byte> bytes;
  for (size_t i = 0; i != variables.size(); ++i) {
    size_t begin = bytes.size();
    bytes.resize(begin + variables.getBytes(i));
    variables.gather(i, std::span(bytes).subspan(begin));
  }
  return bytes;
}

static void loadVariables(Session &session, std::span<const std::byte> bytes) {
  const ValueSet &variables = session.getVariables();
  for (size_t i = 0; i != variables.size(); ++i) {
    session.scatter(variables, i, bytes.first(variables.getBytes(i)));
    bytes = bytes.subspan(variables.getBytes(i));
  }
}

static Status runStep(Session &session, uint32_t position) {
  session.setAccumulationPosition(position);
  MW_TRY(session.step().within("serial program"));
  for (const ValueSet *set : {&session.getVariables(), &session.getOutputs()})
    for (size_t i = 0; i != set->size(); ++i)
      MW_TRY(session.pull(*set, i, 0).within("serial program"));
  return {};
}

/// Keeps the serial variables, and runs the serial step and that of the twin.
Status SerialCheck::prepareStep(const Feeder &feeder) {
  position = serial->getAccumulationPosition();
  before = saveVariables(*serial);
  feeder.scatter(*serial);
  MW_TRY(runStep(*serial, position));
  ++steps;
  return twin ? runTwin(0, feeder) : Status();
}

/// Gives a twin's value the elements of another type.
static void scatterToTwin(Session &twin, const ValueSet &set, size_t i, DType type,
                          std::span<const std::byte> elements) {
  if (!isFloat(type))
    return scatterToPlaces(twin, set, i, elements);
  uint64_t size = getSize(type), n = elements.size() / size;
  std::vector<double> wide(n);
  for (uint64_t element = 0; element != n; ++element)
    wide[element] = loadAsDouble(type, elements.data() + element * size);
  scatterToPlaces(twin, set, i, std::as_bytes(std::span(wide)));
}

uint64_t SerialCheck::getSeed(int number) const {
  return mixBits(steps * (mostRuns + 1) + static_cast<uint64_t>(number));
}

/// Runs the step of the twin that rounds nothing, number 0, or of one that rounds at random.
Status SerialCheck::runTwin(int number, const Feeder &feeder) {
  std::optional<RandomRounding> rounding;
  if (number != 0)
    rounding = {getSeed(number), getPlaces(number)};
  chooseRounding(rounding);
  bool isApart = mode == CheckMode::Apart;
  states.resize(mostRuns + 1);
  const ValueSet &variables = serial->getVariables();
  if (isApart && !states[number].empty())
    loadVariables(*twin, states[number]);
  else
    for (size_t i = 0; i != variables.size(); ++i)
      scatterToTwin(*twin, twin->getVariables(), i, variables.getType(i),
                    std::span(before).subspan(offsets[i], variables.getBytes(i)));
  const ValueSet &inputs = twin->getInputs();
  for (size_t i = 0; i != inputs.size(); ++i)
    if (std::optional<TensorView> value = feeder.getValue(inputs.getName(i)))
      scatterToTwin(*twin, inputs, i, value->type, value->bytes);
  MW_TRY(runStep(*twin, position));
  if (isApart)
    states[number] = saveVariables(*twin);
  return {};
}

/// Runs the serial step again: as it was for number 0, else from variables and inputs that are moved by roundings.
Status SerialCheck::runPerturbed(int number, const Feeder &feeder) {
  uint64_t seed = getSeed(number);
  bool isApart = mode == CheckMode::Apart;
  states.resize(mostRuns + 1);
  auto perturbSet = [&](const ValueSet &set) {
    for (size_t i = 0; i != set.size(); ++i) {
      std::span<std::byte> value = getScratch(2, set.getBytes(i));
      set.gather(i, value);
      if (number != 0)
        perturb(set.getType(i), value, arithmetic, seed + i, getPlaces(number));
      serial->scatter(set, i, value);
    }
  };
  bool isBefore = !isApart || number == 0 || states[number].empty();
  loadVariables(*serial, isBefore ? before : states[number]);
  if (isBefore)
    perturbSet(serial->getVariables());
  feeder.scatter(*serial);
  perturbSet(serial->getInputs());
  MW_TRY(runStep(*serial, position));
  if (isApart)
    states[number] = saveVariables(*serial);
  return {};
}

Status SerialCheck::runSample(int number, const Feeder &feeder) {
  return twin ? runTwin(number, feeder) : runPerturbed(number, feeder);
}

/// Finds out whether both programs report that a gradient was not finite.
Status SerialCheck::findSkipped(CheckReport &report) {
  const std::string &name = session.getPackage().message().metrics().found_inf();
  if (name.empty())
    return {};
  MW_TRY_ASSIGN(auto ours, readScalars(session, std::span(&name, 1)));
  if (!serial)
    return {};
  MW_TRY_ASSIGN(auto theirs, readScalars(*serial, std::span(&name, 1)));
  report.isSkipped = ours.front().value_or(0) > 0 && theirs.front().value_or(0) > 0;
  return {};
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

void SerialCheck::noteWrong(bool isVariable, size_t index, CheckReport &report) {
  report.disagreeing += wrong.insert({isVariable, index}).second;
}

/// The index of an element in an array of that shape.
static Shape getIndex(uint64_t element, const Shape &shape) {
  Shape index(shape.size());
  for (size_t dim = shape.size(); dim-- != 0; element /= static_cast<uint64_t>(shape[dim]))
    index[dim] = static_cast<int64_t>(element % static_cast<uint64_t>(shape[dim]));
  return index;
}

/// Keeps the element in the report if it is the farthest so far.
void SerialCheck::note(const Doubt &doubt, CheckReport &report) {
  const ValueSet &set = getSet(*serial, doubt.isVariable);
  double ratio = doubt.samples.getRatio();
  if (ratio == 0 || (!report.name.empty() && ratio <= largestRatio))
    return;
  largestRatio = ratio;
  report.name = set.getName(doubt.index);
  report.index = getIndex(doubt.element, set.getShape(doubt.index));
  report.difference = doubt.samples.getError();
  report.allowed = doubt.samples.getAllowed();
}

/// The element of a value of a session, which may be a twin.
static double loadElement(const Session &session, const ValueSet &set, size_t i, std::span<const std::byte> whole,
                          uint64_t element) {
  uint64_t lanes = session.getPackage().isTwin() ? static_cast<uint64_t>(set.getShape(i).back()) : 1;
  return loadAsDouble(set.getType(i), whole.data() + element * lanes * getSize(set.getType(i)));
}

/// True if the ranks' parts of the value may be rounded before they are added: outputs, gradients among them, and sums
/// of gradients.
bool SerialCheck::isSum(const Compared &value) const {
  const auto &variables = session.getPackage().message().variables();
  return !value.isVariable || variables[static_cast<int>(value.index)].kind() == Variable::ACCUMULATOR;
}

/// The size of a typical element of the serial value, in the mean square. Parts of a sum are as large, even where they
/// cancel.
static double getTypical(DType type, std::span<const std::byte> elements) {
  double squares = 0, count = 0;
  for (uint64_t at = 0, size = getSize(type); at != elements.size(); at += size)
    if (double element = loadAsDouble(type, elements.data() + at); std::isfinite(element)) {
      squares += element * element;
      ++count;
    }
  return count == 0 ? 0 : std::sqrt(squares / count);
}

/// Compares values that differ in some bits. Elements that are not near enough become doubts.
void SerialCheck::compareValue(const Compared &value, CheckReport &report) {
  const ValueSet &set = getSet(*serial, value.isVariable);
  uint64_t size = getSize(value.type), n = value.ours.size() / size;
  std::span<std::byte> exact;
  if (twin) {
    exact = getScratch(2, getSet(*twin, value.isVariable).getBytes(value.index));
    getSet(*twin, value.isVariable).gather(value.index, exact);
  }
  double typical = isSum(value) ? getTypical(value.type, value.theirs) : 0;
  for (uint64_t element = 0; element != n; ++element) {
    double found = loadAsDouble(value.type, value.ours.data() + element * size);
    double expected = loadAsDouble(value.type, value.theirs.data() + element * size);
    if (found == expected)
      continue;
    FiniteOutcome outcome = compareFiniteness(found, expected, report.isSkipped);
    if (outcome == FiniteOutcome::Agree)
      continue;
    if (outcome == FiniteOutcome::Disagree) {
      if (report.nonFiniteDifference.empty())
        report.nonFiniteDifference =
            fmt::format("\"{}\" [{}] is {} where the serial program has {}", set.getName(value.index),
                        fmt::join(getIndex(element, set.getShape(value.index)), ", "), found, expected);
      noteWrong(value.isVariable, value.index, report);
      continue;
    }
    double reference =
        twin ? loadElement(*twin, getSet(*twin, value.isVariable), value.index, exact, element) : expected;
    // A step that is skipped for an overflow that the twin has not, or the other way round.
    if (!std::isfinite(reference))
      reference = expected;
    std::optional<double> old;
    if (value.isVariable && mode == CheckMode::Together)
      old = loadAsDouble(value.type, before.data() + offsets[value.index] + element * size);
    Doubt doubt = {value.isVariable, value.index, element, {value.type, found, reference, old}};
    doubt.samples.magnitude = std::max(doubt.samples.magnitude, typical);
    doubt.samples.add(expected);
    if (doubt.samples.agrees())
      note(doubt, report);
    else
      doubts.push_back(doubt);
  }
}

Status SerialCheck::compareValues(bool variables, CheckReport &report) {
  const ValueSet &set = getSet(session, variables);
  for (size_t i = 0; i != set.size(); ++i) {
    if (variables ? session.isIdle(i) : !session.isKnown(i))
      continue;
    ++(variables ? report.variables : report.outputs);
    std::span<std::byte> ours = getScratch(0, set.getBytes(i)), theirs = getScratch(1, set.getBytes(i));
    MW_TRY(session.gather(set, i, ours));
    MW_TRY(session.checkReplicas(set, i).within(variables ? "variables" : "outputs"));
    if (!serial)
      continue;
    DType type = set.getType(i);
    getSet(*serial, variables).gather(i, theirs);
    if ((classify(type, ours) != Finiteness::Finite || classify(type, theirs) != Finiteness::Finite) &&
        report.nonFinite++ == 0)
      report.nonFiniteName = set.getName(i);
    bool isEqual = ours.empty() || std::memcmp(ours.data(), theirs.data(), ours.size()) == 0;
    if (!isEqual && isFloat(type))
      compareValue({variables, i, type, ours, theirs}, report);
    else if (!isEqual)
      noteIntegers({variables, i, type, ours, theirs}, report);
    // The next step starts from the distributed values.
    if (variables && mode == CheckMode::Together)
      serial->scatter(serial->getVariables(), i, ours);
  }
  return {};
}

/// Integers and booleans have to be equal.
void SerialCheck::noteIntegers(const Compared &value, CheckReport &report) {
  uint64_t size = getSize(value.type), differing = 0;
  for (uint64_t at = 0; at != value.ours.size(); at += size)
    differing += std::memcmp(value.ours.data() + at, value.theirs.data() + at, size) != 0;
  noteWrong(value.isVariable, value.index, report);
  if (std::isinf(largestRatio))
    return;
  largestRatio = std::numeric_limits<double>::infinity();
  report.name = getSet(*serial, value.isVariable).getName(value.index);
  report.index.clear();
  report.difference = static_cast<double>(differing);
  report.allowed = 0;
}

/// Adds the sample of the run that is done to every doubt, and keeps those that it does not settle.
void SerialCheck::addSamples(unsigned places, CheckReport &report) {
  const Session &sampled = twin ? *twin : *serial;
  std::vector<Doubt> left;
  const Doubt *last = nullptr;
  std::span<std::byte> whole;
  for (Doubt &doubt : doubts) {
    const ValueSet &set = getSet(sampled, doubt.isVariable);
    if (!last || last->isVariable != doubt.isVariable || last->index != doubt.index) {
      whole = getScratch(2, set.getBytes(doubt.index));
      set.gather(doubt.index, whole);
    }
    last = &doubt;
    doubt.samples.add(loadElement(sampled, set, doubt.index, whole, doubt.element), places);
    if (doubt.samples.agrees())
      note(doubt, report);
    else
      left.push_back(doubt);
  }
  doubts = std::move(left);
}

/// How far a run of the serial program took the elements of a value from where it took them before, at most.
static double getLargestChange(DType type, std::span<const std::byte> before, std::span<const std::byte> after) {
  double largest = 0;
  for (uint64_t at = 0, size = getSize(type); at != before.size(); at += size)
    if (double change = std::fabs(loadAsDouble(type, before.data() + at) - loadAsDouble(type, after.data() + at));
        std::isfinite(change))
      largest = std::max(largest, change);
  return largest;
}

/// Without a twin, adds to every doubt the largest change of its value in a run from perturbed variables. That of the
/// element alone may be none: perturbations move little of what cancels.
template <typename Doubts>
static void addLargestChanges(const Session &serial, Doubts &doubts,
                              std::map<std::pair<bool, size_t>, std::vector<std::byte>> &references, bool isReference) {
  std::map<std::pair<bool, size_t>, double> changes;
  for (auto &doubt : doubts) {
    const ValueSet &set = doubt.isVariable ? serial.getVariables() : serial.getOutputs();
    std::pair<bool, size_t> key = {doubt.isVariable, doubt.index};
    auto [change, isNew] = changes.try_emplace(key, 0);
    if (isNew) {
      std::vector<std::byte> value(set.getBytes(doubt.index));
      set.gather(doubt.index, value);
      if (isReference)
        references[key] = std::move(value);
      else
        change->second = getLargestChange(set.getType(doubt.index), references[key], value);
    }
    doubt.samples.add(doubt.samples.reference + change->second);
  }
}

/// Holds the elements in doubt against programs that round in other ways. Where programs go apart, all of them go on.
Status SerialCheck::judgeDoubts(const Feeder &feeder, CheckReport &report) {
  std::vector<std::byte> after;
  std::map<std::pair<bool, size_t>, std::vector<std::byte>> references;
  uint32_t next = serial->getAccumulationPosition();
  bool isApart = mode == CheckMode::Apart;
  if (!twin) {
    after = saveVariables(*serial);
    if (!doubts.empty()) {
      MW_TRY(runPerturbed(0, feeder));
      addLargestChanges(*serial, doubts, references, true);
    }
  }
  for (int number = 1; number <= mostRuns && (isApart || !doubts.empty()); ++number) {
    MW_TRY(runSample(number, feeder));
    if (!twin)
      addLargestChanges(*serial, doubts, references, false);
    // A run from perturbed variables has the program's own rounding, which is no larger for a larger perturbation.
    addSamples(twin ? getPlaces(number) : 1, report);
  }
  for (const Doubt &doubt : doubts) {
    noteWrong(doubt.isVariable, doubt.index, report);
    note(doubt, report);
  }
  if (!twin) {
    loadVariables(*serial, after);
    serial->setAccumulationPosition(next);
  }
  return {};
}

Result<CheckReport> SerialCheck::check(const Feeder &feeder) {
  World &world = session.getWorld();
  MW_TRY(world.agree(serial ? prepareStep(feeder) : Status()));
  CheckReport report;
  doubts.clear();
  wrong.clear();
  largestRatio = 0;
  MW_TRY(findSkipped(report));
  MW_TRY(compareValues(false, report));
  MW_TRY(compareValues(true, report));
  MW_TRY(world.agree(serial ? judgeDoubts(feeder, report) : Status()));
  return report;
}
