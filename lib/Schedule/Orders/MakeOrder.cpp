//===- MakeOrder.cpp - the published orders by name -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Orders.h"

using namespace meshwright;
using namespace meshwright::schedule;

/// The most tasks of an order, so that a shape from anywhere does not exhaust memory.
static constexpr int64_t kMaxTasks = int64_t(1) << 26;

static constexpr OrderKind kKinds[] = {OrderKind::FillDrain,
                                       OrderKind::OneForwardOneBackward,
                                       OrderKind::EagerOneForwardOneBackward,
                                       OrderKind::Interleaved,
                                       OrderKind::DepthFirst,
                                       OrderKind::BreadthFirst,
                                       OrderKind::ZeroBubbleH1,
                                       OrderKind::ZeroBubbleH2,
                                       OrderKind::ZeroBubbleV,
                                       OrderKind::ZeroBubbleVHalf,
                                       OrderKind::ZeroBubbleVMin,
                                       OrderKind::DualPipeV};

llvm::ArrayRef<OrderKind> schedule::getOrderKinds() { return kKinds; }

llvm::StringRef schedule::getName(OrderKind kind) {
  switch (kind) {
  case OrderKind::FillDrain:
    return "fill_drain";
  case OrderKind::OneForwardOneBackward:
    return "one_f_one_b";
  case OrderKind::EagerOneForwardOneBackward:
    return "eager_one_f_one_b";
  case OrderKind::Interleaved:
    return "interleaved";
  case OrderKind::DepthFirst:
    return "depth_first";
  case OrderKind::BreadthFirst:
    return "breadth_first";
  case OrderKind::ZeroBubbleH1:
    return "zb_h1";
  case OrderKind::ZeroBubbleH2:
    return "zb_h2";
  case OrderKind::ZeroBubbleV:
    return "zb_v";
  case OrderKind::ZeroBubbleVHalf:
    return "zb_v_half";
  case OrderKind::ZeroBubbleVMin:
    return "zb_v_min";
  case OrderKind::DualPipeV:
    return "dual_pipe_v";
  }
  return "";
}

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

/// How many chunks a kind has an order for; 0: any number.
static int64_t getChunks(OrderKind kind) {
  switch (kind) {
  case OrderKind::Interleaved:
  case OrderKind::DepthFirst:
  case OrderKind::BreadthFirst:
    return 0;
  case OrderKind::ZeroBubbleV:
  case OrderKind::ZeroBubbleVHalf:
  case OrderKind::ZeroBubbleVMin:
  case OrderKind::DualPipeV:
    return 2;
  default:
    return 1;
  }
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
  if (int64_t chunks = getChunks(kind); chunks > 0 && shape.chunks != chunks)
    return refuse("%s has %lld chunk%s per rank, not %lld", getName(kind).str().c_str(), (long long)chunks,
                  chunks > 1 ? "s" : "", (long long)shape.chunks);
  if (kind == OrderKind::DualPipeV && shape.microBatches < 2 * shape.ranks)
    return refuse("dual_pipe_v has at least 2 micro-batches per rank, %lld for %lld ranks, not %lld",
                  (long long)(2 * shape.ranks), (long long)shape.ranks, (long long)shape.microBatches);
  return llvm::Error::success();
}

llvm::Expected<TaskOrder> schedule::makeOrder(OrderKind kind, const OrderShape &shape) {
  if (llvm::Error error = checkShape(kind, shape))
    return std::move(error);
  switch (kind) {
  case OrderKind::FillDrain:
    return makeFillDrain(shape);
  case OrderKind::OneForwardOneBackward:
  case OrderKind::EagerOneForwardOneBackward:
    return makeOneForwardOneBackward(shape, kind == OrderKind::EagerOneForwardOneBackward);
  case OrderKind::Interleaved:
    return makeInterleaved(shape);
  case OrderKind::DepthFirst:
    return makeDepthFirst(shape);
  case OrderKind::BreadthFirst:
    return makeBreadthFirst(shape);
  case OrderKind::ZeroBubbleH1:
  case OrderKind::ZeroBubbleH2:
    return makeZeroBubble(shape, kind == OrderKind::ZeroBubbleH1 ? 1 : 2);
  case OrderKind::ZeroBubbleV:
    return makeVShape(shape, {4, 2});
  case OrderKind::ZeroBubbleVHalf:
    return makeVShape(shape, {2, 1});
  case OrderKind::ZeroBubbleVMin:
    return makeVShape(shape, {1, 1});
  case OrderKind::DualPipeV:
    return makeDualPipeV(shape);
  }
  return refuse("there is no such order");
}
