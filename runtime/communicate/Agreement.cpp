//===- Agreement.cpp - what the members of a group bring ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Agreement.h"

using namespace meshwright;
using namespace meshwright::runtime;

std::string meshwright::runtime::describe(const CollectiveCall &call) {
  std::string where = call.name;
  if (!call.location.empty())
    where += (where.empty() ? "" : ", ") + call.location;
  return fmt::format("{} #{}{}{}{}", getName(call.kind), call.tag, where.empty() ? "" : " (", where,
                     where.empty() ? "" : ")");
}

std::string meshwright::runtime::describe(int64_t rank, const CollectiveCall &call) {
  return fmt::format("rank {}: {}", rank, describe(call));
}

/// Describes the moved data as messages do: `2 f32`, `3 parts of 120 f32`.
static std::string describeSize(const CollectiveCall &call) {
  uint64_t count = 0;
  for (const CallPart &part : call.parts)
    count += part.count;
  std::string parts = call.parts.size() == 1 ? "" : fmt::format("{} parts of ", call.parts.size());
  return fmt::format("{}{} {}", parts, count, getName(call.type));
}

static Status checkAgreement(int64_t rankA, const CollectiveCall &a, int64_t rankB, const CollectiveCall &b) {
  auto conflict = [&](const std::string &ofA, const std::string &ofB) {
    return faultError("{} of {} meets {} of {}", describe(rankA, a), ofA, describe(rankB, b), ofB);
  };
  if (a.kind != b.kind || a.type != b.type || a.tag != b.tag || a.parts.size() != b.parts.size())
    return conflict(describeSize(a), describeSize(b));
  if (a.reduction != b.reduction)
    return conflict(Collective::Reduction_Name(a.reduction), Collective::Reduction_Name(b.reduction));
  for (size_t part = 0; part != a.parts.size(); ++part) {
    const CallPart &ofA = a.parts[part], &ofB = b.parts[part];
    if (ofA.count != ofB.count)
      return conflict(fmt::format("{} {}", ofA.count, getName(a.type)),
                      fmt::format("{} {}", ofB.count, getName(b.type)));
    if (ofA.root != ofB.root && hasRoot(a.kind))
      return conflict(fmt::format("member {}", ofA.root), fmt::format("member {}", ofB.root));
  }
  return {};
}

Status meshwright::runtime::checkAgreement(std::span<const int64_t> members,
                                           std::span<const CollectiveCall *const> calls) {
  for (size_t i = 1; i != calls.size(); ++i)
    MW_TRY(::checkAgreement(members[0], *calls[0], members[i], *calls[i]));
  return {};
}

namespace {

/// Mixes numbers into 64 bits, each by a multiplication and a shift that lose nothing.
struct Mixer {
  uint64_t state = 0x9e3779b97f4a7c15;

  void add(uint64_t value) {
    state = (state ^ value) * 0xff51afd7ed558ccd;
    state ^= state >> 32;
  }
};

} // namespace

uint64_t meshwright::runtime::getDigest(const CollectiveCall &call) {
  Mixer mixer;
  for (uint64_t value : {static_cast<uint64_t>(call.kind), static_cast<uint64_t>(call.type), uint64_t(call.tag),
                         static_cast<uint64_t>(call.reduction), uint64_t(call.parts.size())})
    mixer.add(value);
  for (const CallPart &part : call.parts) {
    mixer.add(part.count);
    mixer.add(hasRoot(call.kind) ? part.root : 0);
  }
  return mixer.state;
}
