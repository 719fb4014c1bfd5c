//===- SerialCheck.cpp - comparison with the serial program ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a step of the ranks, the first process runs the same step of the serial program and of its twin, and compares
// all outputs and variables. As soon as a float differs in a bit, a first sample of all elements is taken. Elements
// that are still in doubt with it are kept by number, and samples follow one after the other until no doubt is left.
// Serial variables then take the distributed values, unless the programs go apart.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/SerialCheck.h"
#include "Places.h"
#include "meshwright/runtime/Readings.h"
#include "meshwright/runtime/Rounding.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/ranges.h>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

/// The samples of twins that round at random or, without a twin, of the serial program from variables that are moved by
/// as much, at most; where programs go apart, always all of them.
static constexpr int mostRuns = 32;

/// The samples of the serial program before those of the twin. For each, nine in ten elements in doubt stay in none.
static constexpr int movedRuns = 8;

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

/// The most elements of an array from which a kernel makes one of fewer elements.
static uint64_t getLongestSum(const Program &program) {
  uint64_t longest = 1;
  for (const Task &task : program.tasks())
    for (const Instruction &instruction : task.instructions()) {
      const Kernel &kernel = instruction.kernel();
      auto getElements = [&](int argument) {
        const Buffer &buffer = program.buffers(static_cast<int>(kernel.arguments(argument)));
        return buffer.bytes() / getSize(buffer.dtype());
      };
      int inputs = kernel.arguments_size() - static_cast<int>(kernel.outputs());
      uint64_t fewest = std::numeric_limits<uint64_t>::max();
      for (int i = inputs; i < kernel.arguments_size(); ++i)
        fewest = std::min(fewest, getElements(i));
      for (int i = 0; i < inputs; ++i)
        if (getElements(i) > fewest)
          longest = std::max(longest, getElements(i));
    }
  return longest;
}

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
    check->longestSum = getLongestSum(session.getPackage().message().serial());
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

void SerialCheck::Snapshot::take(const ValueSet &set) {
  offsets.resize(1);
  for (size_t i = 0; i != set.size(); ++i)
    offsets.push_back(offsets.back() + set.getBytes(i));
  bytes.resize(offsets.back());
  for (size_t i = 0; i != set.size(); ++i)
    set.gather(i, get(i));
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
  before.take(serial->getVariables());
  feeder.scatter(*serial);
  MW_TRY(runStep(*serial, position));
  for (bool areVariables : {false, true})
    results[areVariables].take(getSet(*serial, areVariables));
  next = results[true];
  ++steps;
  samples = 0;
  isLastMoved = false;
  return twin ? runTwin(0, std::nullopt, feeder) : Status();
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

int SerialCheck::getMostRuns() const { return twin && mode == CheckMode::Together ? movedRuns + mostRuns : mostRuns; }

/// Where programs go apart, a twin goes on from its own variables, so there are twins alone.
SerialCheck::SampleRun SerialCheck::getRun(int number) const {
  if (!twin)
    return {false, static_cast<double>(getPlaces(number))};
  if (mode == CheckMode::Together && number <= movedRuns)
    return {false, 0.5};
  return {true, static_cast<double>(getPlaces(mode == CheckMode::Together ? number - movedRuns : number))};
}

uint64_t SerialCheck::getSeed(int number) const {
  return mixBits(steps * (movedRuns + mostRuns + 1) + static_cast<uint64_t>(number));
}

/// Runs the step of the twin that rounds nothing, number 0, or of one that rounds at random.
Status SerialCheck::runTwin(int number, std::optional<unsigned> places, const Feeder &feeder) {
  chooseRounding(places ? std::optional(RandomRounding{getSeed(number), *places}) : std::nullopt);
  bool isApart = mode == CheckMode::Apart;
  states.resize(mostRuns + 1);
  const ValueSet &variables = serial->getVariables();
  if (isApart && !states[number].empty())
    loadVariables(*twin, states[number]);
  else
    for (size_t i = 0; i != variables.size(); ++i)
      scatterToTwin(*twin, twin->getVariables(), i, variables.getType(i), before.get(i));
  const ValueSet &inputs = twin->getInputs();
  for (size_t i = 0; i != inputs.size(); ++i)
    if (std::optional<TensorView> value = feeder.getValue(inputs.getName(i)))
      scatterToTwin(*twin, inputs, i, value->type, value->bytes);
  MW_TRY(runStep(*twin, position));
  if (isApart) {
    Snapshot state;
    state.take(twin->getVariables());
    states[number] = std::move(state.bytes);
  }
  return {};
}

/// Runs the serial step again, from variables and inputs that are moved by roundings.
Status SerialCheck::runPerturbed(int number, double places, const Feeder &feeder) {
  uint64_t seed = getSeed(number);
  bool isApart = mode == CheckMode::Apart;
  states.resize(mostRuns + 1);
  auto perturbSet = [&](const ValueSet &set) {
    for (size_t i = 0; i != set.size(); ++i) {
      std::span<std::byte> value = getScratch(2, set.getBytes(i));
      set.gather(i, value);
      perturb(set.getType(i), value, arithmetic, seed + i, places);
      serial->scatter(set, i, value);
    }
  };
  bool isBefore = !isApart || states[number].empty();
  loadVariables(*serial, isBefore ? before.bytes : states[number]);
  if (isBefore)
    perturbSet(serial->getVariables());
  if (twin)
    moved.take(serial->getVariables());
  feeder.scatter(*serial);
  perturbSet(serial->getInputs());
  MW_TRY(runStep(*serial, position));
  if (isApart) {
    Snapshot state;
    state.take(serial->getVariables());
    states[number] = std::move(state.bytes);
  }
  return {};
}

/// Takes the next sample of all elements.
Status SerialCheck::runSample(const Feeder &feeder) {
  SampleRun run = getRun(++samples);
  isLastMoved = !run.isTwin;
  return run.isTwin ? runTwin(samples, static_cast<unsigned>(run.places), feeder)
                    : runPerturbed(samples, run.places, feeder);
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

template <typename T> static double loadElement(std::span<const std::byte> elements, uint64_t element) {
  T value;
  std::memcpy(&value, elements.data() + element * sizeof(T), sizeof(T));
  if constexpr (isNarrowFloat<T>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

/// The largest distance of two elements in one place.
template <typename T>
static double getLargestChange(std::span<const std::byte> before, std::span<const std::byte> after) {
  double largest = 0;
  for (uint64_t i = 0, n = before.size() / sizeof(T); i != n; ++i)
    if (double change = std::fabs(loadElement<T>(before, i) - loadElement<T>(after, i)); std::isfinite(change))
      largest = std::max(largest, change);
  return largest;
}

/// Sample `number` of a value: its elements as the run has them. A run from variables that were moved gives a variable
/// its update there, beside a twin: how far it was moved is no error. Without a twin, the largest change among the
/// elements of a value is a sample of each, too. That of the element alone may be none: perturbations move little of
/// what cancels.
class SerialCheck::SampledValue {
public:
  SampledValue(SerialCheck &check, bool isVariable, size_t index)
      : isUpdate(check.isLastMoved && check.twin && isVariable), hasLargest(!check.twin) {
    const Session &session = check.isLastMoved ? *check.serial : *check.twin;
    const ValueSet &set = check.getSet(session, isVariable);
    if (!check.isLastMoved) {
      lanes = static_cast<uint64_t>(set.getShape(index).back());
      places = static_cast<unsigned>(check.getRun(check.samples).places);
    }
    std::span<std::byte> whole = check.getScratch(3, set.getBytes(index));
    set.gather(index, whole);
    elements = whole;
    if (isUpdate)
      moved = check.moved.get(index);
    if (hasLargest)
      dispatch(set.getType(index), [&](auto zero) {
        largest = getLargestChange<decltype(zero)>(check.results[isVariable].get(index), elements);
      });
  }

  template <typename T> void addTo(ElementSamples &samples, uint64_t element) const {
    double sample = lanes == 0 ? loadElement<T>(elements, element) : loadElement<double>(elements, element * lanes);
    if (isUpdate)
      sample = samples.old.value_or(0) + (sample - loadElement<T>(moved, element));
    samples.add(sample, places);
    if (hasLargest)
      samples.add(samples.reference + largest);
  }

private:
  bool isUpdate, hasLargest;
  /// The lanes of a twin's places; 0 where it is the serial program's value.
  uint64_t lanes = 0;
  /// A run from moved variables has the program's own rounding, which is no larger for a larger perturbation.
  unsigned places = 1;
  std::span<const std::byte> elements, moved;
  double largest = 0;
};

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

void SerialCheck::noteNonFinite(const Compared &value, uint64_t element, double found, double expected,
                                CheckReport &report) {
  const ValueSet &set = getSet(*serial, value.isVariable);
  if (report.nonFiniteDifference.empty())
    report.nonFiniteDifference =
        fmt::format("\"{}\" [{}] is {} where the serial program has {}", set.getName(value.index),
                    fmt::join(getIndex(element, set.getShape(value.index)), ", "), found, expected);
  noteWrong(value.isVariable, value.index, report);
}

/// Compares the elements of a value. Those that are not near enough become doubts.
template <typename T> void SerialCheck::compareElements(const Compared &value, CheckReport &report) {
  const FloatFormat &format = getFloatFormat(value.type);
  std::span<std::byte> exact;
  uint64_t lanes = 0;
  if (twin) {
    const ValueSet &set = getSet(*twin, value.isVariable);
    lanes = static_cast<uint64_t>(set.getShape(value.index).back());
    exact = getScratch(2, set.getBytes(value.index));
    set.gather(value.index, exact);
  }
  std::optional<SampledValue> sampled;
  if (samples != 0)
    sampled.emplace(*this, value.isVariable, value.index);
  uint64_t n = value.ours.size() / sizeof(T);
  double typical = isSum(value) ? getTypical(value.type, value.theirs) : 0;
  // Without a twin, a sum that ends in one number has no other element to show how far the order of additions goes, and
  // moving the addends by roundings of their own does not change those of the partial sums.
  double morePlaces = !twin && isSum(value) && n == 1 ? std::sqrt(2 * static_cast<double>(longestSum)) : 0;
  for (uint64_t element = 0; element != n; ++element) {
    double found = loadElement<T>(value.ours, element), expected = loadElement<T>(value.theirs, element);
    if (found == expected)
      continue;
    FiniteOutcome outcome = compareFiniteness(found, expected, report.isSkipped);
    if (outcome == FiniteOutcome::Disagree)
      noteNonFinite(value, element, found, expected, report);
    if (outcome != FiniteOutcome::Finite)
      continue;
    double reference = twin ? loadElement<double>(exact, element * lanes) : expected;
    // A step that is skipped for an overflow that the twin has not, or the other way round.
    if (!std::isfinite(reference))
      reference = expected;
    std::optional<double> old;
    if (value.isVariable && mode == CheckMode::Together)
      old = loadElement<T>(before.get(value.index), element);
    Doubt doubt = {value.isVariable, value.index, element, {format, found, reference, old}};
    doubt.samples.magnitude = std::max(doubt.samples.magnitude, typical);
    doubt.samples.morePlaces = morePlaces;
    doubt.samples.add(expected);
    if (sampled)
      sampled->addTo<T>(doubt.samples, element);
    if (doubt.samples.agrees())
      note(doubt, report);
    else
      doubts.push_back(doubt);
  }
}

/// Compares values that differ in some bits. The first of them takes the first sample, unless that is the twin's, whose
/// values are still needed.
Status SerialCheck::compareValue(const Compared &value, const Feeder &feeder, CheckReport &report) {
  if (samples == 0 && !getRun(1).isTwin)
    MW_TRY(runSample(feeder));
  dispatch(value.type, [&](auto zero) {
    if constexpr (!std::is_integral_v<decltype(zero)>)
      compareElements<decltype(zero)>(value, report);
  });
  return {};
}

Status SerialCheck::compareValues(bool variables, const Feeder &feeder, CheckReport &report) {
  const ValueSet &set = getSet(session, variables);
  Status status;
  for (size_t i = 0; i != set.size(); ++i) {
    if (variables ? session.isIdle(i) : !session.isKnown(i))
      continue;
    ++(variables ? report.variables : report.outputs);
    std::span<std::byte> ours = getScratch(0, set.getBytes(i));
    MW_TRY(session.gather(set, i, ours));
    MW_TRY(session.checkReplicas(set, i).within(variables ? "variables" : "outputs"));
    if (!serial || !status.ok())
      continue;
    DType type = set.getType(i);
    std::span<std::byte> theirs = results[variables].get(i);
    if ((classify(type, ours) != Finiteness::Finite || classify(type, theirs) != Finiteness::Finite) &&
        report.nonFinite++ == 0)
      report.nonFiniteName = set.getName(i);
    bool isEqual = ours.empty() || std::memcmp(ours.data(), theirs.data(), ours.size()) == 0;
    // The other processes wait for the values that follow.
    if (!isEqual && isFloat(type))
      status = compareValue({variables, i, type, ours, theirs}, feeder, report);
    else if (!isEqual)
      noteIntegers({variables, i, type, ours, theirs}, report);
    // The next step starts from the distributed values.
    if (variables && mode == CheckMode::Together)
      std::copy(ours.begin(), ours.end(), next.get(i).begin());
  }
  return session.getWorld().agree(status);
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
void SerialCheck::addSamples(CheckReport &report) {
  std::vector<Doubt> left;
  const Doubt *last = nullptr;
  std::optional<SampledValue> sampled;
  for (Doubt &doubt : doubts) {
    if (!last || last->isVariable != doubt.isVariable || last->index != doubt.index)
      sampled.emplace(*this, doubt.isVariable, doubt.index);
    last = &doubt;
    dispatch(getSet(*serial, doubt.isVariable).getType(doubt.index),
             [&](auto zero) { sampled->addTo<decltype(zero)>(doubt.samples, doubt.element); });
    if (doubt.samples.agrees())
      note(doubt, report);
    else
      left.push_back(doubt);
  }
  doubts = std::move(left);
}

/// Holds the elements in doubt against programs that round in other ways. Where programs go apart, all of them go on.
Status SerialCheck::judgeDoubts(const Feeder &feeder, CheckReport &report) {
  while (samples != getMostRuns() && (mode == CheckMode::Apart || !doubts.empty())) {
    MW_TRY(runSample(feeder));
    addSamples(report);
  }
  for (const Doubt &doubt : doubts) {
    noteWrong(doubt.isVariable, doubt.index, report);
    note(doubt, report);
  }
  loadVariables(*serial, next.bytes);
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
  MW_TRY(compareValues(false, feeder, report));
  MW_TRY(compareValues(true, feeder, report));
  MW_TRY(world.agree(serial ? judgeDoubts(feeder, report) : Status()));
  return report;
}
