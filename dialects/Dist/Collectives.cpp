//===- Collectives.cpp - the kinds of collectives -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Collectives.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace meshwright::dist;

std::optional<CollectiveKind> meshwright::dist::getCollectiveKind(ConversionOpInterface op) {
  return llvm::TypeSwitch<mlir::Operation *, std::optional<CollectiveKind>>(op)
      .Case<AllReduceOp>([](auto) { return CollectiveKind::AllReduce; })
      .Case<AllGatherOp>([](auto) { return CollectiveKind::AllGather; })
      .Case<ReduceScatterOp>([](auto) { return CollectiveKind::ReduceScatter; })
      .Case<AllToAllOp>([](auto) { return CollectiveKind::AllToAll; })
      .Case<HolderBroadcastOp>([](auto) { return CollectiveKind::Broadcast; })
      .Case<HolderReduceOp>([](auto) { return CollectiveKind::Reduce; })
      .Case<SendOp>([](auto) { return CollectiveKind::Send; })
      .Default([](auto) { return std::nullopt; });
}

int64_t meshwright::dist::countCrossings(CollectiveKind kind, int64_t n) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return 2 * (n - 1);
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
  case CollectiveKind::Broadcast:
  case CollectiveKind::Reduce:
    return n - 1;
  case CollectiveKind::Send:
    return 1;
  }
  llvm_unreachable("all kinds are covered");
}

double meshwright::dist::getSentBytes(CollectiveKind kind, double bytes, int64_t n) {
  return bytes * static_cast<double>(countCrossings(kind, n)) / static_cast<double>(n);
}

int64_t meshwright::dist::countParticipants(CollectiveKind kind, int64_t n) {
  return kind == CollectiveKind::Send ? 2 : n;
}
