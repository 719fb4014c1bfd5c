//===- SerialCheck.cpp - the serial program beside the others -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/SerialCheck.h"
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
  if (name.empty())
    return text + ", bit for bit";
  return text + fmt::format(", largest difference {:.2e} where {:.0e} is allowed ({})", largest.difference,
                            largest.tolerance, name);
}

std::optional<double> meshwright::runtime::readScalar(const Session &session, const std::string &name) {
  if (name.empty())
    return std::nullopt;
  for (const ValueSet *set : {&session.getOutputs(), &session.getVariables()}) {
    std::optional<size_t> i = set->find(name);
    if (!i || *getNumElements(set->getShape(*i)) != 1)
      continue;
    std::array<std::byte, 8> bytes = {};
    session.gather(*set, *i, std::span(bytes).first(set->getBytes(*i)));
    return loadAsDouble(set->getType(*i), bytes.data());
  }
  return std::nullopt;
}

Result<std::unique_ptr<SerialCheck>> SerialCheck::create(const Session &session, SessionOptions options) {
  std::unique_ptr<SerialCheck> check(new SerialCheck(session));
  options.serial = true;
  MW_TRY_ASSIGN(check->serial, Session::create(session.getPackage(), options));
  check->arithmetic = session.getPackage().getArithmetic();
  return check;
}

std::span<std::byte> SerialCheck::getScratch(int which, uint64_t bytes) {
  if (scratch[which].size() < bytes)
    scratch[which].resize(bytes);
  return std::span(scratch[which]).first(bytes);
}

Status SerialCheck::initialize(const SafeTensors *file, uint64_t seed) {
  auto report = serial->initialize(file, seed);
  if (!report.ok())
    return report.status();
  const ValueSet &set = session.getVariables();
  for (size_t i = 0; i != set.size(); ++i) {
    std::span<std::byte> ours = getScratch(0, set.getBytes(i)), theirs = getScratch(1, set.getBytes(i));
    session.gather(set, i, ours);
    MW_TRY(session.checkReplicas(set, i, ours).within("initial values"));
    serial->gather(serial->getVariables(), i, theirs);
    if (!ours.empty() && std::memcmp(ours.data(), theirs.data(), ours.size()) != 0)
      return Status(Code::CheckFailed,
                    fmt::format("the initial value of \"{}\" differs from the serial program's", set.getName(i)));
  }
  return {};
}

void SerialCheck::synchronize() {
  const ValueSet &set = session.getVariables();
  for (size_t i = 0; i != set.size(); ++i) {
    std::span<std::byte> whole = getScratch(0, set.getBytes(i));
    session.gather(set, i, whole);
    serial->scatter(serial->getVariables(), i, whole);
  }
}

std::optional<double> SerialCheck::getLearningRate() {
  return readScalar(*serial, session.getPackage().message().metrics().learning_rate());
}

void SerialCheck::computeScales() {
  const ValueSet &outputs = serial->getOutputs(), &variables = serial->getVariables();
  outputScales.assign(outputs.size(), 0);
  variableScales.assign(variables.size(), 0);
  auto getValueNorm = [&](const ValueSet &set, size_t i) {
    std::span<std::byte> bytes = getScratch(0, set.getBytes(i));
    serial->gather(set, i, bytes);
    return getNorm({set.getType(i), set.getShape(i), bytes});
  };

  double squares = 0;
  for (size_t i = 0; i != outputs.size(); ++i)
    if (outputs.getName(i).starts_with("grad/") && isFloat(outputs.getType(i)))
      squares += std::pow(getValueNorm(outputs, i), 2);
  for (size_t i = 0; i != outputs.size(); ++i)
    if (outputs.getName(i).starts_with("grad/") && isFloat(outputs.getType(i)))
      outputScales[i] = 1e-3 * std::sqrt(squares);

  if (std::optional<double> rate = getLearningRate()) {
    variableScales.assign(variables.size(), std::fabs(*rate));
    return;
  }
  const auto &messages = session.getPackage().message().variables();
  std::array<double, Variable::Kind_ARRAYSIZE> squaresOfKind = {}, elementsOfKind = {};
  auto getKind = [&](size_t i) {
    int kind = messages[static_cast<int>(i)].kind();
    return Variable::Kind_IsValid(kind) ? kind : 0;
  };
  for (size_t i = 0; i != variables.size(); ++i)
    if (isFloat(variables.getType(i))) {
      squaresOfKind[getKind(i)] += std::pow(getValueNorm(variables, i), 2);
      elementsOfKind[getKind(i)] += *getNumElements(variables.getShape(i));
    }
  for (size_t i = 0; i != variables.size(); ++i)
    if (isFloat(variables.getType(i)) && elementsOfKind[getKind(i)] > 0)
      variableScales[i] = 1e-3 * std::sqrt(squaresOfKind[getKind(i)] / elementsOfKind[getKind(i)] *
                                           *getNumElements(variables.getShape(i)));
}

Status SerialCheck::compareValues(const ValueSet &set, const ValueSet &serialSet, const std::vector<double> &scales,
                                  const char *what, CheckReport &report) {
  double worst = 0;
  if (!report.name.empty())
    worst = report.largest.difference / report.largest.tolerance;
  for (size_t i = 0; i != set.size(); ++i) {
    std::span<std::byte> ours = getScratch(0, set.getBytes(i)), theirs = getScratch(1, set.getBytes(i));
    session.gather(set, i, ours);
    MW_TRY(session.checkReplicas(set, i, ours).within(what));
    serial->gather(serialSet, i, theirs);
    Comparison comparison = compare({set.getType(i), set.getShape(i), ours}, {set.getType(i), set.getShape(i), theirs},
                                    scales[i], arithmetic);
    report.disagreeing += !comparison.agrees();
    // A difference that is no number is the worst of all.
    double ratio = comparison.difference == 0 ? 0 : comparison.difference / comparison.tolerance;
    if (std::isnan(ratio))
      ratio = std::numeric_limits<double>::infinity();
    if (ratio > worst || (report.name.empty() && ratio > 0)) {
      worst = ratio;
      report.largest = comparison;
      report.name = set.getName(i);
    }
    // The next step starts from the distributed values.
    if (&set == &session.getVariables())
      serial->scatter(serialSet, i, ours);
  }
  return {};
}

Result<CheckReport> SerialCheck::check(const Feeder &feeder) {
  feeder.scatter(*serial);
  MW_TRY(serial->step().within("serial program"));
  computeScales();
  CheckReport report;
  report.variables = session.getVariables().size();
  report.outputs = session.getOutputs().size();
  MW_TRY(compareValues(session.getOutputs(), serial->getOutputs(), outputScales, "outputs", report));
  MW_TRY(compareValues(session.getVariables(), serial->getVariables(), variableScales, "variables", report));
  return report;
}
