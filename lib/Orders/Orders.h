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

/// The makers. Each takes a shape that `makeOrder` has found legal for its kind.
#define ORDER(KIND, NAME, ALIAS, CHUNKS, MICRO_BATCHES) TaskOrder make##KIND(const OrderShape &shape);
#include "meshwright/Orders/Orders.def"

} // namespace meshwright::schedule

#endif
