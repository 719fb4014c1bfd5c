//===- MakeOrder.cpp - the published orders by name -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Orders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace meshwright;
using namespace meshwright::schedule;

/// The most tasks of an order, so that a shape from anywhere does not exhaust memory.
static constexpr int64_t kMaxTasks = int64_t(1) << 26;

static TaskOrder makeEmpty(const OrderShape &shape) {
  TaskOrder order;
  order.numMicroBatches = shape.microBatches;
  order.ranks.resize(shape.ranks);
  return order;
}

TaskOrder schedule::makeLoop(const OrderShape &shape) {
  TaskOrder order = makeEmpty(shape);
  for (int64_t stage = 0; stage < shape.ranks * shape.chunks; ++stage)
    order.rankOfStage.push_back(stage % shape.ranks);
  return order;
}

TaskOrder schedule::makeV(const OrderShape &shape) {
  TaskOrder order = makeEmpty(shape);
  for (int64_t stage = 0; stage < 2 * shape.ranks; ++stage)
    order.rankOfStage.push_back(std::min(stage, 2 * shape.ranks - 1 - stage));
  return order;
}

namespace {
/// A row of Orders.def, with the maker of its kind.
struct Family {
  OrderKind kind;
  llvm::StringLiteral name, alias;
  int64_t chunks, microBatchesPerRank;
  TaskOrder (*make)(const OrderShape &shape);
};
} // namespace

static constexpr Family kFamilies[] = {
#define ORDER(KIND, NAME, ALIAS, CHUNKS, MICRO_BATCHES)                                                                \
  {OrderKind::KIND, NAME, ALIAS, CHUNKS, MICRO_BATCHES, make##KIND},
#include "meshwright/Orders/Orders.def"
};

static const Family &getFamily(OrderKind kind) { return kFamilies[static_cast<size_t>(kind)]; }

llvm::ArrayRef<OrderKind> schedule::getOrderKinds() {
  static const llvm::SmallVector<OrderKind> kinds =
      llvm::map_to_vector(kFamilies, [](const Family &family) { return family.kind; });
  return kinds;
}

llvm::StringRef schedule::getName(OrderKind kind) { return getFamily(kind).name; }

llvm::StringRef schedule::getAlias(OrderKind kind) { return getFamily(kind).alias; }

std::optional<OrderKind> schedule::findOrderKind(llvm::StringRef name) {
  for (const Family &family : kFamilies)
    if (name.equals_insensitive(family.name) || (!family.alias.empty() && name.equals_insensitive(family.alias)))
      return family.kind;
  return std::nullopt;
}

template <typename... Args> static llvm::Error refuse(const char *format, Args... args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), format, args...);
}

static llvm::Error checkShape(OrderKind kind, const OrderShape &shape) {
  if (shape.ranks < 1 || shape.microBatches < 1 || shape.chunks < 1 || shape.group < 0)
    return refuse("a pipeline has at least 1 rank, 1 micro-batch and 1 chunk per rank, but has %lld, %lld and %lld",
                  (long long)shape.ranks, (long long)shape.microBatches, (long long)shape.chunks);
  if (shape.ranks > kMaxTasks / shape.chunks || shape.ranks * shape.chunks > kMaxTasks / 3 / shape.microBatches)
    return refuse("%lld ranks of %lld chunks and %lld micro-batches are more than %lld tasks", (long long)shape.ranks,
                  (long long)shape.chunks, (long long)shape.microBatches, (long long)kMaxTasks);
  const Family &family = getFamily(kind);
  if (int64_t chunks = family.chunks; chunks > 0 && shape.chunks != chunks)
    return refuse("%s has %lld chunk%s per rank, not %lld", getName(kind).str().c_str(), (long long)chunks,
                  chunks > 1 ? "s" : "", (long long)shape.chunks);
  if (int64_t least = family.microBatchesPerRank; shape.microBatches < least * shape.ranks)
    return refuse("%s has at least %lld micro-batches per rank, %lld for %lld ranks, not %lld",
                  family.name.str().c_str(), (long long)least, (long long)(least * shape.ranks), (long long)shape.ranks,
                  (long long)shape.microBatches);
  return llvm::Error::success();
}

llvm::Expected<TaskOrder> schedule::makeOrder(OrderKind kind, const OrderShape &shape) {
  if (llvm::Error error = checkShape(kind, shape))
    return std::move(error);
  return getFamily(kind).make(shape);
}
