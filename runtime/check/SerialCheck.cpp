//===- SerialCheck.cpp - comparison with the serial program ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a step of the ranks, the first process runs the same step of the serial program and compares all outputs and
// variables. A value farther apart than its tolerance is in doubt, not wrong: the serial step runs again from variables
// that differ by one rounding, and the change of its results tells how far rounding alone may move the value. Serial
// variables then take the distributed values, so that differences do not add up over steps.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/SerialCheck.h"
#include "meshwright/runtime/Readings.h"
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

static std::string count(size_t n, const char *what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string CheckReport::toString() const {
  std::string values = fmt::format("{} and {}", count(variables, "variable"), count(outputs, "output"));
  std::string text = agrees() ? values + " agree with the serial program"
                              : fmt::format("{} of {} differ from the serial program", disagreeing, values);
  if (!name.empty())
    text += fmt::format(", largest difference {:.2e} where {:.0e} is allowed ({})", largest.difference,
                        largest.tolerance, name);
  else if (!isSkipped || nonFinite == 0)
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

Result<std::unique_ptr<SerialCheck>> SerialCheck::create(const Session &session, SessionOptions options) {
  std::unique_ptr<SerialCheck> check(new SerialCheck(session));
  options.serial = true;
  options.world = nullptr;
  options.beside = nullptr;
  if (session.getWorld().isFirst()) {
    MW_TRY_ASSIGN(check->serial, Session::create(session.getPackage(), options));
  }
  check->arithmetic = session.getPackage().getArithmetic();
  return check;
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

std::optional<double> SerialCheck::getLearningRate() {
  const std::string &name = session.getPackage().message().metrics().learning_rate();
  auto values = readScalars(*serial, std::span(&name, 1));
  return values.ok() ? values->front() : std::nullopt;
}

void SerialCheck::computeScales() {
  const ValueSet &outputs = serial->getOutputs(), &variables = serial->getVariables();
  outputScales.assign(outputs.size(), 0);
  variableScales.assign(variables.size(), 0);
  const auto &messages = session.getPackage().message().variables();
  auto isAccumulator = [&](size_t i) { return messages[static_cast<int>(i)].kind() == Variable::ACCUMULATOR; };
  scaleGradients(outputs, outputScales, [&](size_t i) { return outputs.getName(i).starts_with("grad/"); });
  if (std::optional<double> rate = getLearningRate())
    variableScales.assign(variables.size(), std::fabs(*rate));
  else
    scaleByKind();
  // Accumulators hold gradients.
  scaleGradients(variables, variableScales, isAccumulator);
}

double SerialCheck::getSerialNorm(const ValueSet &set, size_t i) {
  std::span<std::byte> bytes = getScratch(0, set.getBytes(i));
  set.gather(i, bytes);
  return getNorm({set.getType(i), set.getShape(i), bytes});
}

/// A thousandth of the norm of all of them.
void SerialCheck::scaleGradients(const ValueSet &set, std::vector<double> &scales,
                                 const std::function<bool(size_t)> &isGradient) {
  double squares = 0;
  for (size_t i = 0; i != set.size(); ++i)
    if (isGradient(i) && isFloat(set.getType(i)))
      squares += std::pow(getSerialNorm(set, i), 2);
  for (size_t i = 0; i != set.size(); ++i)
    if (isGradient(i) && isFloat(set.getType(i)))
      scales[i] = 1e-3 * std::sqrt(squares);
}

/// By what an array of a variable's size would have as norm if its elements were typical of its kind.
void SerialCheck::scaleByKind() {
  const ValueSet &variables = serial->getVariables();
  const auto &messages = session.getPackage().message().variables();
  std::array<double, Variable::Kind_ARRAYSIZE> squaresOfKind = {}, elementsOfKind = {};
  auto getKind = [&](size_t i) {
    int kind = messages[static_cast<int>(i)].kind();
    return Variable::Kind_IsValid(kind) ? kind : 0;
  };
  for (size_t i = 0; i != variables.size(); ++i)
    if (isFloat(variables.getType(i))) {
      squaresOfKind[getKind(i)] += std::pow(getSerialNorm(variables, i), 2);
      elementsOfKind[getKind(i)] += *getNumElements(variables.getShape(i));
    }
  for (size_t i = 0; i != variables.size(); ++i)
    if (isFloat(variables.getType(i)) && elementsOfKind[getKind(i)] > 0)
      variableScales[i] = 1e-3 * std::sqrt(squaresOfKind[getKind(i)] / elementsOfKind[getKind(i)] *
                                           *getNumElements(variables.getShape(i)));
}

/// Keeps the comparison in the report if it is the farthest so far, measured by its tolerance.
void SerialCheck::note(const std::string &name, const Comparison &comparison, CheckReport &report) {
  auto getRatio = [](const Comparison &c) {
    // A difference that is no number is the worst of all.
    double ratio = c.difference == 0 ? 0 : c.difference / c.tolerance;
    return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  };
  report.disagreeing += !comparison.agrees();
  double ratio = getRatio(comparison);
  if (ratio == 0 || (!report.name.empty() && ratio <= getRatio(report.largest)))
    return;
  report.largest = comparison;
  report.name = name;
}

Status SerialCheck::compareValues(bool variables, CheckReport &report) {
  const ValueSet &set = variables ? session.getVariables() : session.getOutputs();
  const std::vector<double> &scales = variables ? variableScales : outputScales;
  for (size_t i = 0; i != set.size(); ++i) {
    if (variables ? session.isIdle(i) : !session.isKnown(i))
      continue;
    ++(variables ? report.variables : report.outputs);
    std::span<std::byte> ours = getScratch(0, set.getBytes(i)), theirs = getScratch(1, set.getBytes(i));
    MW_TRY(session.gather(set, i, ours));
    MW_TRY(session.checkReplicas(set, i).within(variables ? "variables" : "outputs"));
    if (!serial)
      continue;
    const ValueSet &serialSet = variables ? serial->getVariables() : serial->getOutputs();
    serialSet.gather(i, theirs);
    Comparison comparison = compare({set.getType(i), set.getShape(i), ours}, {set.getType(i), set.getShape(i), theirs},
                                    scales[i], arithmetic, 0, report.isSkipped);
    if ((classify(set.getType(i), ours) != Finiteness::Finite ||
         classify(set.getType(i), theirs) != Finiteness::Finite) &&
        report.nonFinite++ == 0)
      report.nonFiniteName = set.getName(i);
    if (!comparison.agrees() && std::isfinite(comparison.difference) && isFloat(set.getType(i)))
      doubts.push_back({variables, i, {ours.begin(), ours.end()}, {theirs.begin(), theirs.end()}});
    else
      note(set.getName(i), comparison, report);
    // The next step starts from the distributed values.
    if (variables)
      serial->scatter(serialSet, i, ours);
  }
  return {};
}

/// Runs the serial step at a position again from variables that differ by one rounding, and compares the values in
/// doubt with a tolerance for that difference.
Status SerialCheck::judgeDoubts(const Feeder &feeder, uint32_t position, CheckReport &report) {
  const ValueSet &variables = serial->getVariables();
  uint64_t offset = 0;
  for (size_t i = 0; i != variables.size(); ++i) {
    std::span<std::byte> value = std::span(before).subspan(offset, variables.getBytes(i));
    offset += value.size();
    perturb(variables.getType(i), value, arithmetic);
    serial->scatter(variables, i, value);
  }
  serial->setAccumulationPosition(position);
  MW_TRY(runSerialStep(feeder));
  for (const Doubt &doubt : doubts) {
    const ValueSet &set = doubt.isVariable ? variables : serial->getOutputs();
    double scale = (doubt.isVariable ? variableScales : outputScales)[doubt.index];
    std::span<std::byte> again = getScratch(0, set.getBytes(doubt.index));
    set.gather(doubt.index, again);
    auto view = [&](std::span<const std::byte> bytes) {
      return TensorView{set.getType(doubt.index), set.getShape(doubt.index), bytes};
    };
    double noise = compare(view(again), view(doubt.theirs), scale, arithmetic, 0, report.isSkipped).difference;
    note(set.getName(doubt.index),
         compare(view(doubt.ours), view(doubt.theirs), scale, arithmetic, std::isfinite(noise) ? noise : 0,
                 report.isSkipped),
         report);
  }
  return {};
}

Status SerialCheck::runSerialStep(const Feeder &feeder) {
  feeder.scatter(*serial);
  MW_TRY(serial->step().within("serial program"));
  for (const ValueSet *set : {&serial->getVariables(), &serial->getOutputs()})
    for (size_t i = 0; i != set->size(); ++i)
      MW_TRY(serial->pull(*set, i, 0).within("serial program"));
  return {};
}

/// Keeps the serial variables, runs the serial step and computes by what its results are measured.
Status SerialCheck::prepareStep(const Feeder &feeder) {
  const ValueSet &variables = serial->getVariables();
  uint64_t bytes = 0;
  for (size_t i = 0; i != variables.size(); ++i)
    bytes += variables.getBytes(i);
  before.resize(bytes);
  for (size_t i = 0, offset = 0; i != variables.size(); offset += variables.getBytes(i++))
    variables.gather(i, std::span(before).subspan(offset, variables.getBytes(i)));
  MW_TRY(runSerialStep(feeder));
  computeScales();
  return {};
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

Result<CheckReport> SerialCheck::check(const Feeder &feeder) {
  uint32_t position = serial ? serial->getAccumulationPosition() : 0;
  World &world = session.getWorld();
  MW_TRY(world.agree(serial ? prepareStep(feeder) : Status()));
  CheckReport report;
  doubts.clear();
  MW_TRY(findSkipped(report));
  MW_TRY(compareValues(false, report));
  MW_TRY(compareValues(true, report));
  // Only the process with the serial program knows whether there are doubts.
  std::byte doubtful{!doubts.empty()};
  MW_TRY_ASSIGN(Bytes shared, world.share({doubtful}));
  if (shared.front() != std::byte(0)) {
    MW_TRY(world.agree(serial ? judgeDoubts(feeder, position, report) : Status()));
    MW_TRY(synchronize());
  }
  return report;
}
