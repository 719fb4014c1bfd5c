//===- Initialize.cpp - the first values of a session's variables ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/InitialValues.h"
#include "meshwright/runtime/Session.h"
#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>

using namespace meshwright;
using namespace meshwright::runtime;

static const Initializer &getInitializer(const Session &session, size_t variable) {
  return session.getPackage().message().variables(static_cast<int>(variable)).init();
}

/// The ranks of this process that hold the same part as `rank`; they ascend.
static std::span<const int64_t> getSharers(const Session &session, size_t variable, int64_t rank) {
  const std::vector<int64_t> &holders = session.getVariables().getHolders(variable, rank);
  RankRange ranks = session.getRanks();
  return {std::lower_bound(holders.begin(), holders.end(), ranks.begin),
          std::lower_bound(holders.begin(), holders.end(), ranks.end)};
}

/// The elements of its array that a sharer computes; the others copy them. Constants are written sooner than copied.
static std::pair<uint64_t, uint64_t> getShare(const Session &session, size_t variable, size_t sharer,
                                              size_t numSharers) {
  uint64_t count = *getNumElements(session.getVariables().getLayout(variable).getLocalShape());
  if (getInitializer(session, variable).kind() == Initializer::CONSTANT)
    return {0, count};
  uint64_t share = ((count + numSharers - 1) / numSharers + 63) / 64 * 64;
  return {std::min(sharer * share, count), std::min((sharer + 1) * share, count)};
}

static void computeInitial(const Session &session, size_t variable, int64_t rank, const TensorView *source,
                           uint64_t seed) {
  const ValueSet &set = session.getVariables();
  std::span<std::byte> local = set.getArray(variable, rank);
  if (local.empty())
    return;
  if (source)
    return set.scatterTo(variable, rank, source->bytes.data());
  std::span<const int64_t> sharers = getSharers(session, variable, rank);
  size_t sharer = std::lower_bound(sharers.begin(), sharers.end(), rank) - sharers.begin();
  auto [begin, end] = getShare(session, variable, sharer, sharers.size());
  fillInitialValues(getInitializer(session, variable), getStreamKey(set.getName(variable), seed),
                    set.getPart(variable, rank), set.getType(variable), local, begin, end);
}

/// Copies what the other sharers have computed.
static void copyInitial(const Session &session, size_t variable, int64_t rank) {
  const ValueSet &set = session.getVariables();
  std::span<std::byte> local = set.getArray(variable, rank);
  if (local.empty() || getInitializer(session, variable).kind() == Initializer::CONSTANT)
    return;
  std::span<const int64_t> sharers = getSharers(session, variable, rank);
  uint64_t size = runtime::getSize(set.getType(variable));
  for (size_t sharer = 0; sharer != sharers.size(); ++sharer) {
    auto [begin, end] = getShare(session, variable, sharer, sharers.size());
    if (sharers[sharer] != rank && begin < end)
      std::memcpy(local.data() + begin * size, set.getArray(variable, sharers[sharer]).data() + begin * size,
                  (end - begin) * size);
  }
}

/// The error for variables, each by name and type, that nothing gives a value.
static Status describeMissing(const std::vector<std::string> &missing, const std::string &origin) {
  constexpr size_t mostNamed = 5;
  bool isOne = missing.size() == 1;
  std::string names = fmt::format("{}", fmt::join(std::span(missing).first(std::min(missing.size(), mostNamed)), ", "));
  return inputError("{}{}{} no initial value: {}, and no init rule of the strategy matches {}",
                    isOne ? "variable " : fmt::format("{} variables, ", missing.size()), names,
                    missing.size() > mostNamed ? " and others, have"
                    : isOne                    ? " has"
                                               : ", have",
                    origin.empty() ? "no file is given (--init)"
                                   : fmt::format("{} not in {}", isOne ? "it is" : "they are", origin),
                    isOne ? "it" : "them");
}

/// For every variable of a session the tensor that gives it its value; null where there is none.
static Result<std::vector<const TensorView *>> findSources(const Session &session,
                                                           const std::map<std::string, TensorView> &tensors,
                                                           const std::string &origin, InitialReport &report) {
  const ValueSet &set = session.getVariables();
  std::vector<const TensorView *> sources;
  std::vector<std::string> missing;
  for (size_t i = 0; i != set.size(); ++i) {
    const Variable &variable = session.getPackage().message().variables(static_cast<int>(i));
    auto found = tensors.find(variable.name());
    const TensorView *source = sources.emplace_back(found == tensors.end() ? nullptr : &found->second);
    if (source && (source->type != variable.dtype() || !canTakeFor(source->shape, set.getShape(i))))
      return inputError("{}: tensor \"{}\" is {} but the variable is {}", origin, variable.name(),
                        toString(source->shape, source->type), toString(set.getShape(i), variable.dtype()));
    if (source || variable.kind() == Variable::ACCUMULATOR)
      continue;
    if (!variable.has_init())
      missing.push_back(fmt::format("\"{}\" of {}", variable.name(), toString(set.getShape(i), variable.dtype())));
    else if (!origin.empty())
      report.notInFile.push_back(variable.name());
  }
  if (!missing.empty())
    return describeMissing(missing, origin);
  for (const auto &[name, view] : tensors)
    if (!set.find(name))
      report.notInPackage.push_back(name);
  return sources;
}

Result<InitialReport> Session::initialize(const SafeTensors *file, uint64_t seed) {
  return file ? initialize(file->tensors(), file->path(), seed) : initialize({}, "", seed);
}

Result<InitialReport> Session::initialize(const std::map<std::string, TensorView> &tensors, const std::string &origin,
                                          uint64_t seed) {
  InitialReport report;
  setAccumulationPosition(0);
  const ValueSet &set = getVariables();
  auto sources = findSources(*this, tensors, origin, report);
  MW_TRY(getWorld().agree(sources.status()));
  MW_TRY(forEachRank([&](int64_t rank) -> Status {
    for (size_t i = 0; i != set.size(); ++i)
      computeInitial(*this, i, rank, (*sources)[i], seed);
    return {};
  }));
  MW_TRY(forEachRank([&](int64_t rank) -> Status {
    for (size_t i = 0; i != set.size(); ++i)
      if (!(*sources)[i])
        copyInitial(*this, i, rank);
    return {};
  }));
  for (size_t i = 0; i != set.size(); ++i)
    noteWritten(set, i);
  return report;
}
