//===- ExactCheck.cpp - the programs in exact arithmetic ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element is the first of the lanes of its place (ExactPackage.cpp); what the others hold is nobody's.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/ExactCheck.h"
#include "meshwright/runtime/InitialValues.h"
#include "meshwright/runtime/Provenance.h"
#include <cstring>
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

std::string ExactReport::toString() const {
  std::string values = fmt::format("{} and {}", count(variables, "variable"), count(outputs, "output"));
  if (differences.empty())
    return values + " are exactly those of the serial program";
  constexpr size_t mostNamed = 8;
  std::string text = fmt::format("{} of {} differ from the serial program", differences.size(), values);
  for (size_t i = 0; i != std::min(differences.size(), mostNamed); ++i)
    text += "\n  " + differences[i].toString();
  return text + (differences.size() > mostNamed ? "\n  ..." : "");
}

//===----------------------------------------------------------------------===//
// Random values
//===----------------------------------------------------------------------===//

namespace {

/// An array of a value of an exact package: places of `lanes` elements.
class Places {
public:
  Places(DType type, const Shape &shape)
      : lanes(shape.back()), placeBytes(lanes * runtime::getSize(type)),
        bytes(*getNumElements(shape) * runtime::getSize(type)) {}

  uint64_t size() const { return bytes.size() / placeBytes; }
  std::span<const std::byte> getBytes() const { return bytes; }
  template <typename T> void set(uint64_t i, T value) {
    std::memcpy(bytes.data() + i * placeBytes, &value, sizeof(value));
  }
  std::byte *get(uint64_t i) { return bytes.data() + i * placeBytes; }

  /// Copies elements, floats as residues.
  void assign(DType type, std::span<const std::byte> elements) {
    uint64_t elementBytes = runtime::getSize(type);
    for (uint64_t i = 0, n = size(); i != n; ++i)
      if (isFloat(type))
        set(i, Residue(loadAsDouble(type, elements.data() + i * elementBytes)));
      else
        std::memcpy(get(i), elements.data() + i * elementBytes, elementBytes);
  }

private:
  uint64_t lanes, placeBytes;
  std::vector<std::byte> bytes;
};

/// Random residues, or random integers in [min, max).
void fillRandom(DType type, uint64_t key, int64_t min, uint64_t span, Places &places) {
  for (uint64_t i = 0, n = places.size(); i != n; ++i) {
    uint64_t random = mixBits(key + i);
    if (isFloat(type)) {
      places.set(i, hashToResidue(random));
      continue;
    }
    uint64_t value = static_cast<uint64_t>(min) + (span == 0 ? random : random % span);
    std::memcpy(places.get(i), &value, getSize(type));
  }
}

/// The range of random values of an input of integers: what it promises or, where it promises nothing, a few, and of a
/// key of random numbers all bits.
std::pair<int64_t, uint64_t> getRange(const Port &port) {
  constexpr uint64_t few = 8;
  if (port.dtype() == I1)
    return {0, 2};
  if (!port.has_max())
    return {0, port.dtype() == U32 || port.dtype() == U64 ? 0 : few};
  auto min = static_cast<int64_t>(port.has_min() ? port.min() : 0), max = static_cast<int64_t>(port.max());
  return {min, std::max<int64_t>(max - min, 1)};
}

} // namespace

void ExactCheck::scatter(const ValueSet &set, const ValueSet &serialSet, size_t i, std::span<const std::byte> whole) {
  session->scatter(set, i, whole);
  serial->scatter(serialSet, i, whole);
}

void ExactCheck::fillVariables() {
  const ValueSet &set = session->getVariables();
  for (size_t i = 0; i != set.size(); ++i) {
    const Variable &variable = original.message().variables(static_cast<int>(i));
    Places places(set.getType(i), set.getShape(i));
    uint64_t key = getStreamKey(variable.name(), seed);
    if (isFloat(variable.dtype()) && variable.kind() != Variable::ACCUMULATOR) {
      fillRandom(variable.dtype(), key, 0, 0, places);
    } else if (!isFloat(variable.dtype()) && !variable.has_init()) {
      fillRandom(variable.dtype(), key, 0, 2, places);
    } else {
      std::vector<std::byte> elements(places.size() * getSize(variable.dtype()));
      fillInitialValues(variable.init(), key, 0, places.size(), variable.dtype(), elements.data());
      places.assign(variable.dtype(), elements);
    }
    scatter(set, serial->getVariables(), i, places.getBytes());
  }
}

void ExactCheck::fillInputs(const Feeder *feeder) {
  const ValueSet &set = session->getInputs();
  for (size_t i = 0; i != set.size(); ++i) {
    const Port &port = original.message().inputs(static_cast<int>(i));
    Places places(set.getType(i), set.getShape(i));
    if (std::optional<TensorView> given = feeder ? feeder->getValue(port.name()) : std::nullopt) {
      places.assign(port.dtype(), given->bytes);
    } else {
      auto [min, span] = getRange(port);
      fillRandom(port.dtype(), getStreamKey(port.name(), seed + steps), min, span, places);
    }
    scatter(set, serial->getInputs(), i, places.getBytes());
  }
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

ExactCheck::~ExactCheck() = default;

Result<std::unique_ptr<ExactCheck>> ExactCheck::create(const LoadedPackage &package, SessionOptions options,
                                                       uint64_t seed) {
  std::unique_ptr<ExactCheck> check(new ExactCheck(package, seed));
  MW_TRY_ASSIGN(LoadedPackage exact, package.createExact());
  check->exact = std::make_unique<LoadedPackage>(std::move(exact));
  options.platform.target.clear();
  MW_TRY_ASSIGN(check->session, Session::create(*check->exact, options));
  options.serial = true;
  options.world = nullptr;
  options.flights = nullptr;
  MW_TRY_ASSIGN(check->serial, Session::create(*check->exact, options));
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

/// Compares the part of a rank with the whole value: calls visit(element, wanted, found). Both have places of `lanes`
/// elements.
static void compareParts(const LocalPart &part, std::span<const std::byte> whole, std::span<const std::byte> local,
                         uint64_t elementBytes, int64_t lanes,
                         const std::function<void(uint64_t, const std::byte *, const std::byte *)> &visit) {
  part.forEachRun([&](int64_t to, int64_t from, int64_t length) {
    for (int64_t i = 0; i < length; i += lanes)
      visit(static_cast<uint64_t>((from + i) / lanes), whole.data() + (from + i) * elementBytes,
            local.data() + (to + i) * elementBytes);
  });
}

Status ExactCheck::compare(bool variables, uint32_t position, ExactReport &report) {
  const ValueSet &set = variables ? session->getVariables() : session->getOutputs();
  const ValueSet &serialSet = variables ? serial->getVariables() : serial->getOutputs();
  std::vector<std::byte> whole, sum;
  for (size_t i = 0; i != set.size(); ++i) {
    if (variables ? session->isIdle(i) : !session->isKnown(i))
      continue;
    ++(variables ? report.variables : report.outputs);
    whole.resize(set.getBytes(i));
    serialSet.gather(i, whole);
    const Layout &layout = set.getLayout(i);
    std::span<const int64_t> shape(set.getShape(i));
    int64_t lanes = shape.back();
    DType type = set.getType(i);
    ExactDifference difference;
    difference.name = set.getName(i);
    auto compareAt = [&](int64_t rank, const LocalPart &part, std::span<const std::byte> local) {
      uint64_t differing = 0, elements = 0;
      bool isFirstRank = difference.ranks.empty();
      compareParts(part, whole, local, getSize(type), lanes,
                   [&](uint64_t element, const std::byte *wanted, const std::byte *found) {
                     ++elements;
                     if (std::memcmp(wanted, found, getSize(type)) == 0 || differing++ != 0 || !isFirstRank)
                       return;
                     difference.rank = rank;
                     difference.index = getIndex(element, shape.first(shape.size() - 1));
                     difference.found = describe(type, found);
                     difference.expected = describe(type, wanted);
                   });
      if (differing != 0 && isFirstRank) {
        difference.differing = differing;
        difference.elements = elements;
      }
      if (differing != 0)
        difference.ranks.push_back(rank);
    };
    if (layout.getNumAddends() > 1) {
      sum.resize(whole.size());
      MW_TRY(session->gather(set, i, sum));
      compareAt(0, LocalPart(Layout::replicated(set.getShape(i)), {}), sum);
    } else {
      for (int64_t rank = 0; rank != session->getNumRanks(); ++rank)
        if (std::span<std::byte> local = set.getArray(i, rank); !local.empty())
          compareAt(rank, set.getPart(i, rank), local);
    }
    if (difference.ranks.empty())
      continue;
    const Program &program = session->getProgram(difference.rank);
    const auto &places = variables ? program.variable_buffers() : program.output_buffers();
    if (int32_t buffer = places[static_cast<int>(i)]; buffer >= 0)
      difference.collectives = findLastCollectives(program, position, static_cast<uint32_t>(buffer));
    report.differences.push_back(std::move(difference));
  }
  return {};
}

Result<ExactReport> ExactCheck::step(const Feeder *feeder) {
  uint32_t position = session->getAccumulationPosition();
  fillInputs(feeder);
  ++steps;
  MW_TRY(session->step());
  MW_TRY(serial->step().within("serial program"));
  ExactReport report;
  MW_TRY(compare(false, position, report));
  MW_TRY(compare(true, position, report));
  return report;
}
