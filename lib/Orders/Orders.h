//===- Orders.h - the makers of published orders ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ORDERS_ORDERS_H
#define MESHWRIGHT_LIB_ORDERS_ORDERS_H

#include "meshwright/Orders/TaskOrder.h"

namespace meshwright::schedule {

/// An order without tasks whose stage s is on rank s mod ranks: a loop.
TaskOrder makeLoop(const OrderShape &shape);
/// An order without tasks of two stages per rank, down and up again: rank r has the stages r and 2 · ranks − 1 − r.
TaskOrder makeV(const OrderShape &shape);

/// Every maker takes a shape that `makeOrder` has found legal for it.
TaskOrder makeFillDrain(const OrderShape &shape);
TaskOrder makeOneForwardOneBackward(const OrderShape &shape, bool eager);
TaskOrder makeInterleaved(const OrderShape &shape);
TaskOrder makeDepthFirst(const OrderShape &shape);
TaskOrder makeBreadthFirst(const OrderShape &shape);
/// `level` is 1 or 2.
TaskOrder makeZeroBubble(const OrderShape &shape, int64_t level);
/// Distances, in tasks, between the forwards of neighbouring stages on the way down and on the way up.
struct VDistances {
  int64_t down, up;
};
TaskOrder makeVShape(const OrderShape &shape, VDistances distances);
TaskOrder makeDualPipeV(const OrderShape &shape);

} // namespace meshwright::schedule

#endif
