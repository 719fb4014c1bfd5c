//===- Collectives.cpp - what the kinds of collectives have in common -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Communicator.h"

using namespace meshwright;
using namespace meshwright::runtime;

// The package numbers the kinds as Collectives.def does.
static_assert(Collective::Kind_ARRAYSIZE == kNumCollectives);

const CollectiveTraits &meshwright::runtime::getTraits(Collective::Kind kind) {
  static constexpr CollectiveTraits unknown = {"collective of an unknown kind", AxisState::Replicated,
                                               AxisState::Replicated, [](int64_t) -> int64_t { return 0; }};
  return Collective::Kind_IsValid(kind) ? kCollectives[kind] : unknown;
}

bool meshwright::runtime::isReducible(Collective::Reduction reduction, DType type) {
  switch (reduction) {
  case Collective::SUM:
  case Collective::PRODUCT:
  case Collective::TREE:
    return isFloat(type) || isInteger(type);
  case Collective::MAX:
  case Collective::MIN:
    return getSize(type) != 0;
  case Collective::AND:
  case Collective::OR:
    return isInteger(type) || type == I1;
  default:
    return false;
  }
}

double meshwright::runtime::getSentBytes(Collective::Kind kind, uint64_t members, uint64_t partBytes) {
  const CollectiveTraits &traits = getTraits(kind);
  auto n = static_cast<double>(members), bytes = static_cast<double>(partBytes);
  if (traits.hasOperandPerMember() || traits.hasResultPerMember())
    bytes *= n;
  bytes *= static_cast<double>(traits.countCrossings(static_cast<int64_t>(members)));
  return traits.isPair() ? bytes : bytes / n;
}

std::vector<int64_t> meshwright::runtime::getMembers(const Collective &collective, const Mesh &mesh, int64_t rank) {
  std::vector<int64_t> group = mesh.getGroup(rank, std::span(collective.axes().data(), collective.axes().size()));
  if (!getTraits(collective.kind()).isPair())
    return group;
  return {group[collective.parts(0).root()], group[collective.to()]};
}
