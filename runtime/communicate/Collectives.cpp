//===- Collectives.cpp - what the kinds of collectives have in common -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Communicator.h"

using namespace meshwright;
using namespace meshwright::runtime;

std::string_view meshwright::runtime::getName(Collective::Kind kind) {
  switch (kind) {
  case Collective::ALL_REDUCE:
    return "c_allreduce";
  case Collective::ALL_GATHER:
    return "c_allgather";
  case Collective::REDUCE_SCATTER:
    return "c_reducescatter";
  case Collective::ALL_TO_ALL:
    return "c_alltoall";
  case Collective::BROADCAST:
    return "c_broadcast";
  case Collective::REDUCE:
    return "c_reduce";
  case Collective::SEND:
    return "c_send";
  default:
    return "collective of an unknown kind";
  }
}

bool meshwright::runtime::isReducing(Collective::Kind kind) {
  return kind == Collective::ALL_REDUCE || kind == Collective::REDUCE_SCATTER || kind == Collective::REDUCE;
}
bool meshwright::runtime::hasRoot(Collective::Kind kind) {
  return kind == Collective::BROADCAST || kind == Collective::REDUCE || kind == Collective::SEND;
}
bool meshwright::runtime::hasOperandPerMember(Collective::Kind kind) {
  return kind == Collective::REDUCE_SCATTER || kind == Collective::ALL_TO_ALL;
}
bool meshwright::runtime::hasResultPerMember(Collective::Kind kind) {
  return kind == Collective::ALL_GATHER || kind == Collective::ALL_TO_ALL;
}

bool meshwright::runtime::isReducible(Collective::Reduction reduction, DType type) {
  switch (reduction) {
  case Collective::SUM:
  case Collective::PRODUCT:
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
  double n = static_cast<double>(members), bytes = static_cast<double>(partBytes);
  switch (kind) {
  case Collective::ALL_REDUCE:
    return 2 * bytes * (n - 1) / n;
  case Collective::BROADCAST:
  case Collective::REDUCE:
    return bytes * (n - 1) / n;
  case Collective::SEND:
    return bytes;
  default:
    // The full value, or the local one of an all-to-all, is n parts.
    return bytes * (n - 1);
  }
}

std::vector<int64_t> meshwright::runtime::getMembers(const Collective &collective, const Mesh &mesh, int64_t rank) {
  std::vector<int64_t> group = mesh.getGroup(rank, std::span(collective.axes().data(), collective.axes().size()));
  if (collective.kind() != Collective::SEND)
    return group;
  return {group[collective.parts(0).root()], group[collective.to()]};
}
