//===- ExactCheck.cpp - the programs in exact arithmetic ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both programs get the same residues, in the places of an exact package, and each rank's elements are compared with
// those of the whole serial value. Nothing is rounded, so the serial program has the same values in every process: each
// runs it for itself, and compares the ranks that it has.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/ExactCheck.h"
#include "Places.h"
#include "meshwright/runtime/InitialValues.h"
#include "meshwright/runtime/Provenance.h"
#include "meshwright/runtime/StartThread.h"
#include <fmt/ranges.h>

using namespace meshwright;
using namespace meshwright::runtime;

static std::string count(size_t n, const char *what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string ExactDifference::toString() const {
  constexpr size_t mostNamed = 4;
  std::string text = fmt::format("\"{}\" differs in {} of {} elements on rank {}", name, differing, elements, rank);
  text += index.empty() ? "" : fmt::format(", first [{}]", fmt::join(index, ", "));
  text += fmt::format(" ({} instead of {})", found, expected);
  if (ranks.size() > 1)
    text += fmt::format(", and on {} more", count(ranks.size() - 1, "rank"));
  if (collectives.empty())
    return text + "; it comes from no collective";
  std::span<const std::string> named(collectives.data(), std::min(collectives.size(), mostNamed));
  return text + fmt::format("; it comes from {}{}", fmt::join(named, ", "),
                            collectives.size() > mostNamed ? " and others" : "");
}

std::string ExactReport::toString(std::string_view separator) const {
  std::string values = count(outputs, "output");
  if (variables != 0)
    values = count(variables, "variable") + " and " + values;
  bool isOne = variables + outputs == 1;
  if (differences.empty())
    return values + (isOne ? " is exactly that" : " are exactly those") + " of the serial program";
  constexpr size_t mostNamed = 8;
  std::string text =
      fmt::format("{} of {} {} from the serial program", differences.size(), values, isOne ? "differs" : "differ");
  for (size_t i = 0; i != std::min(differences.size(), mostNamed); ++i)
    text += fmt::format("{}{}", separator, differences[i].toString());
  return text + (differences.size() > mostNamed ? fmt::format("{}...", separator) : "");
}

//===----------------------------------------------------------------------===//
// Random values
//===----------------------------------------------------------------------===//

namespace {

/// The elements of a value: residues, or integers of its type.
struct Elements {
  DType type;
  Shape shape;
  std::vector<std::byte> bytes;

  template <typename Value>
  explicit Elements(const Value &value)
      : type(isFloat(value.dtype()) ? RESIDUE : value.dtype()), shape(value.shape().begin(), value.shape().end()),
        bytes(*getNumElements(shape) * runtime::getSize(type)) {}

  uint64_t size() const { return bytes.size() / runtime::getSize(type); }
  std::byte *get(uint64_t i) { return bytes.data() + i * runtime::getSize(type); }

  /// Takes floats as residues.
  void assign(DType from, std::span<const std::byte> elements) {
    uint64_t size = runtime::getSize(from);
    if (type != RESIDUE)
      std::copy(elements.begin(), elements.end(), bytes.begin());
    else
      for (uint64_t i = 0, n = this->size(); i != n; ++i) {
        Residue residue(loadAsDouble(from, elements.data() + i * size));
        std::memcpy(get(i), &residue, sizeof(residue));
      }
  }

  /// Random residues, or random integers in [min, min + span), of all bits where span is 0.
  void fillRandom(uint64_t key, int64_t min, uint64_t span) {
    for (uint64_t i = 0, n = size(); i != n; ++i) {
      uint64_t random = mixBits(key + i);
      uint64_t value = type == RESIDUE ? hashToResidue(random).getBits()
                                       : static_cast<uint64_t>(min) + (span == 0 ? random : random % span);
      std::memcpy(get(i), &value, runtime::getSize(type));
    }
  }
};

/// The range of random values of an input of integers: what it promises or, where it promises nothing, a few, and of a
/// key of random numbers all bits.
std::pair<int64_t, uint64_t> getRange(const Port &port) {
  constexpr uint64_t few = 8;
  if (port.dtype() == I1)
    return {0, 2};
  if (!port.has_max())
    return {0, port.dtype() == U32 || port.dtype() == U64 ? 0 : few};
  // A package may promise any bounds.
  auto toInteger = [](double bound) {
    constexpr double kLargest = 0x1p62;
    return static_cast<int64_t>(bound > kLargest ? kLargest : bound > -kLargest ? bound : -kLargest);
  };
  int64_t min = toInteger(port.has_min() ? port.min() : 0), max = toInteger(port.max());
  return {min, max > min ? static_cast<uint64_t>(max) - static_cast<uint64_t>(min) : 1};
}

} // namespace

void ExactCheck::fillVariables() {
  for (size_t i = 0; i != variables.size(); ++i) {
    const Variable &variable = original.message().variables(static_cast<int>(i));
    Elements elements(variable);
    uint64_t key = getStreamKey(variable.name(), seed);
    if (isFloat(variable.dtype()) && variable.kind() != Variable::ACCUMULATOR) {
      elements.fillRandom(key, 0, 0);
    } else if (!isFloat(variable.dtype()) && !variable.has_init()) {
      elements.fillRandom(key, 0, 2);
    } else {
      std::vector<std::byte> initial(elements.size() * getSize(variable.dtype()));
      fillInitialValues(variable.init(), key, 0, elements.size(), variable.dtype(), initial.data());
      elements.assign(variable.dtype(), initial);
    }
    scatterToPlaces(*session, session->getVariables(), i, elements.bytes);
    scatterToPlaces(*serial, serial->getVariables(), variables[i], elements.bytes);
  }
}

void ExactCheck::fillInputs(const Feeder *feeder) {
  for (size_t i = 0; i != inputs.size(); ++i) {
    const Port &port = original.message().inputs(static_cast<int>(i));
    Elements elements(port);
    if (std::optional<TensorView> given = feeder ? feeder->getValue(port.name()) : std::nullopt) {
      elements.assign(port.dtype(), given->bytes);
    } else {
      auto [min, span] = getRange(port);
      elements.fillRandom(getStreamKey(port.name(), seed + steps), min, span);
    }
    scatterToPlaces(*session, session->getInputs(), i, elements.bytes);
    scatterToPlaces(*serial, serial->getInputs(), inputs[i], elements.bytes);
  }
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

ExactCheck::~ExactCheck() = default;

/// For every value of a package the number of that of the same name, type and shape in another.
template <typename Values>
static Result<std::vector<size_t>> match(const Values &values, const Values &others, const char *what) {
  std::vector<size_t> numbers;
  for (const auto &value : values) {
    auto other = std::find_if(others.begin(), others.end(), [&](const auto &o) { return o.name() == value.name(); });
    if (other == others.end())
      return inputError("the package to compare with has no {} \"{}\"", what, value.name());
    Shape shape(value.shape().begin(), value.shape().end()), expected(other->shape().begin(), other->shape().end());
    if (value.dtype() != other->dtype() || shape != expected)
      return inputError("{} \"{}\" is {}, but {} in the package to compare with", what, value.name(),
                        toString(shape, value.dtype()), toString(expected, other->dtype()));
    numbers.push_back(static_cast<size_t>(other - others.begin()));
  }
  return numbers;
}

Result<std::unique_ptr<ExactCheck>> ExactCheck::create(const LoadedPackage &package, const LoadedPackage &reference,
                                                       SessionOptions options, uint64_t seed) {
  std::unique_ptr<ExactCheck> check(new ExactCheck(package, seed));
  const auto &ours = package.message(), &theirs = reference.message();
  if (!reference.hasSerial())
    return inputError("the package has no serial program to compare with");
  if (package.getAccumulationSteps() != reference.getAccumulationSteps())
    return inputError("the package accumulates {} steps into an update, but the one to compare with {}",
                      package.getAccumulationSteps(), reference.getAccumulationSteps());
  MW_TRY_ASSIGN(check->variables, match(ours.variables(), theirs.variables(), "variable"));
  MW_TRY_ASSIGN(check->inputs, match(ours.inputs(), theirs.inputs(), "input"));
  MW_TRY_ASSIGN(check->outputs, match(ours.outputs(), theirs.outputs(), "output"));
  MW_TRY_ASSIGN(LoadedPackage exact, package.createExact());
  check->exact = std::make_unique<LoadedPackage>(std::move(exact));
  MW_TRY_ASSIGN(LoadedPackage exactReference, reference.createExact());
  check->exactReference = std::make_unique<LoadedPackage>(std::move(exactReference));
  MW_TRY_ASSIGN(check->session, Session::create(*check->exact, options));
  options.serial = true;
  options.world = nullptr;
  options.flights = nullptr;
  MW_TRY_ASSIGN(check->serial, Session::create(*check->exactReference, options));
  check->fillVariables();
  return check;
}

/// An element, as far as a reader can make sense of it.
static std::string describe(DType type, const std::byte *element) {
  if (type != RESIDUE)
    return dispatch(type, [&](auto value) -> std::string {
      std::memcpy(&value, element, sizeof(value));
      if constexpr (std::is_integral_v<decltype(value)>)
        return fmt::format("{}", value);
      else
        return "";
    });
  constexpr int64_t kLargest = int64_t(1) << 40;
  Residue residue;
  std::memcpy(&residue, element, sizeof(residue));
  if (!residue.isFinite())
    return residue.isNaN() ? "nan" : residue.getSign() > 0 ? "inf" : "-inf";
  int64_t value = residue.toSmallest();
  return value > -kLargest && value < kLargest ? fmt::format("{}", value) : "a residue";
}

/// The index of an element in an array of that shape.
static Shape getIndex(uint64_t element, std::span<const int64_t> shape) {
  Shape index(shape.size());
  for (size_t dim = shape.size(); dim-- != 0; element /= shape[dim])
    index[dim] = static_cast<int64_t>(element % shape[dim]);
  return index;
}

/// Compares the part of a rank with the whole value: calls visit(element, wanted, found).
static void compareParts(const LocalPart &part, const Places &whole, const Places &local,
                         const std::function<void(uint64_t, const std::byte *, const std::byte *)> &visit) {
  part.forEachRun([&](int64_t to, int64_t from, int64_t length) {
    for (int64_t i = 0, count = length / local.lanes; i != count; ++i) {
      int64_t element = from / local.lanes + i;
      visit(static_cast<uint64_t>(element), whole.get(element), local.get(to / local.lanes + i));
    }
  });
}

namespace {

/// Compares the ranks' parts of a value with the whole one, and keeps the first element that differs.
class PartComparison {
public:
  PartComparison(DType type, std::span<const int64_t> shape, const Places &whole)
      : type(type), shape(shape), whole(whole) {}

  void compare(int64_t rank, const LocalPart &part, const Places &local) {
    uint64_t differing = 0, elements = 0;
    bool isFirstRank = difference.ranks.empty();
    compareParts(part, whole, local, [&](uint64_t element, const std::byte *wanted, const std::byte *found) {
      ++elements;
      if (std::memcmp(wanted, found, getSize(type)) == 0 || differing++ != 0 || !isFirstRank)
        return;
      difference.rank = rank;
      difference.index = getIndex(element, shape);
      difference.found = describe(type, found);
      difference.expected = describe(type, wanted);
    });
    if (differing == 0)
      return;
    if (isFirstRank) {
      difference.differing = differing;
      difference.elements = elements;
    }
    difference.ranks.push_back(rank);
  }

  bool agrees() const { return difference.ranks.empty(); }
  ExactDifference take(std::string name) {
    difference.name = std::move(name);
    return std::move(difference);
  }

private:
  DType type;
  std::span<const int64_t> shape;
  Places whole;
  ExactDifference difference;
};

} // namespace

Status ExactCheck::compare(bool areVariables, uint32_t position, ExactReport &report) {
  const ValueSet &set = areVariables ? session->getVariables() : session->getOutputs();
  const ValueSet &serialSet = areVariables ? serial->getVariables() : serial->getOutputs();
  std::vector<std::byte> whole, sum;
  for (size_t i = 0; i != set.size(); ++i) {
    if (areVariables ? session->isIdle(i) : !session->isKnown(i))
      continue;
    ++(areVariables ? report.variables : report.outputs);
    size_t number = (areVariables ? variables : outputs)[i];
    whole.resize(serialSet.getBytes(number));
    serialSet.gather(number, whole);
    std::span<const int64_t> places(set.getShape(i));
    DType type = set.getType(i);
    auto getPlaces = [&](std::span<const std::byte> bytes, int64_t lanes) {
      return Places{bytes, lanes, getSize(type)};
    };
    PartComparison comparison(type, places.first(places.size() - 1),
                              getPlaces(whole, serialSet.getShape(number).back()));
    if (set.getLayout(i).getNumAddends() > 1) {
      sum.resize(set.getBytes(i));
      // The first process alone gets the sum of all ranks' parts.
      MW_TRY(session->gather(set, i, sum));
      if (session->getWorld().isFirst())
        comparison.compare(0, LocalPart(Layout::replicated(set.getShape(i)), {}), getPlaces(sum, places.back()));
    } else {
      for (int64_t rank = 0; rank != session->getNumRanks(); ++rank)
        if (std::span<std::byte> local = set.getArray(i, rank); !local.empty())
          comparison.compare(rank, set.getPart(i, rank), getPlaces(local, places.back()));
    }
    if (comparison.agrees())
      continue;
    ExactDifference &difference = report.differences.emplace_back(comparison.take(set.getName(i)));
    const Program &program = session->getProgram(difference.rank);
    const auto &buffers = areVariables ? program.variable_buffers() : program.output_buffers();
    if (int32_t buffer = buffers[static_cast<int>(i)]; buffer >= 0)
      difference.collectives = findLastCollectives(program, position, static_cast<uint32_t>(buffer));
  }
  return {};
}

Result<ExactReport> ExactCheck::step(const Feeder *feeder) {
  uint32_t position = session->getAccumulationPosition();
  fillInputs(feeder);
  // A step goes one way at each maximum and comparison, the next one another.
  Residue::chooseOrder(seed + steps++);
  // The serial program has one rank, and computes beside the others.
  Status serialStatus;
  std::thread thread;
  MW_TRY(startThread(thread, "for the serial program", [&] { serialStatus = serial->step(); }));
  Status status = session->step();
  thread.join();
  if (status.ok())
    status = serialStatus.within("serial program");
  MW_TRY(session->getWorld().agree(status));
  ExactReport report;
  MW_TRY(compare(false, position, report));
  MW_TRY(compare(true, position, report));
  return report;
}
