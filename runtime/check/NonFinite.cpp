//===- NonFinite.cpp - values of a run that are not finite ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/NonFinite.h"
#include <fmt/ranges.h>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// A value that is looked at.
struct Candidate {
  const ValueSet *set;
  size_t index;
};

std::vector<Candidate> listCandidates(const Session &session) {
  std::vector<Candidate> candidates;
  auto add = [&](const ValueSet &set, size_t i) {
    if (isFloat(set.getType(i)))
      candidates.push_back({&set, i});
  };
  const ValueSet &outputs = session.getOutputs(), &variables = session.getVariables();
  for (size_t i = 0; i != outputs.size(); ++i)
    if (outputs.getName(i).starts_with("grad/") && session.isKnown(i))
      add(outputs, i);
  for (size_t i = 0; i != variables.size(); ++i)
    if (!session.isIdle(i))
      add(variables, i);
  return candidates;
}

} // namespace

std::string_view meshwright::runtime::getName(Finiteness kind) {
  return kind == Finiteness::NotANumber ? "nan" : "inf";
}

Result<std::vector<NonFiniteValue>> meshwright::runtime::findNonFinite(Session &session) {
  std::vector<Candidate> candidates = listCandidates(session);
  RankRange ranks = session.getRanks();
  // A byte per value for each rank of this process, then for every rank.
  Bytes found(candidates.size() * ranks.size());
  MW_TRY(session.forEachRank([&](int64_t rank) -> Status {
    for (size_t i = 0; i != candidates.size(); ++i) {
      const auto &[set, index] = candidates[i];
      if (set->getArray(index, rank).empty() || !set->isFirstHolder(index, rank))
        continue;
      MW_TRY(session.pull(*set, index, rank));
      found[(rank - ranks.begin) * candidates.size() + i] = static_cast<std::byte>(set->classify(index, rank));
    }
    return {};
  }));
  MW_TRY_ASSIGN(std::vector<Bytes> all, session.getWorld().gatherForAll(found));
  std::vector<NonFiniteValue> values(candidates.size());
  int64_t rank = 0;
  size_t size = candidates.size();
  for (const Bytes &bytes : all)
    for (size_t begin = 0; size != 0 && begin + size <= bytes.size(); begin += size, ++rank)
      for (size_t i = 0; i != candidates.size(); ++i)
        if (auto kind = static_cast<Finiteness>(bytes[begin + i]); kind != Finiteness::Finite) {
          values[i].kind = values[i].ranks.empty() ? kind : std::max(kind, values[i].kind);
          values[i].ranks.push_back(rank);
        }
  for (size_t i = 0; i != candidates.size(); ++i) {
    values[i].name = candidates[i].set->getName(candidates[i].index);
    values[i].isVariable = candidates[i].set == &session.getVariables();
  }
  std::erase_if(values, [](const NonFiniteValue &value) { return value.ranks.empty(); });
  return values;
}

static std::string describeRanks(std::span<const int64_t> ranks) {
  constexpr size_t kMost = 4;
  if (ranks.size() == 1)
    return fmt::format("rank {}", ranks.front());
  if (ranks.size() > kMost)
    return fmt::format("ranks {} and {} more", fmt::join(ranks.first(kMost), ", "), ranks.size() - kMost);
  return fmt::format("ranks {} and {}", fmt::join(ranks.first(ranks.size() - 1), ", "), ranks.back());
}

std::string meshwright::runtime::describe(std::span<const NonFiniteValue> values) {
  constexpr size_t kMost = 3;
  std::vector<std::string> texts;
  for (const NonFiniteValue &value : values.first(std::min(kMost, values.size())))
    texts.push_back(fmt::format("\"{}\" ({} on {})", value.name,
                                value.kind == Finiteness::NotANumber ? "NaN" : "infinite", describeRanks(value.ranks)));
  std::string text = fmt::format("{}", fmt::join(texts, ", "));
  return values.size() <= kMost ? text : text + fmt::format(" and {} more", values.size() - kMost);
}
