//===- PipelinePackage.h - a pipeline made by hand --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stage s multiplies what the stage before it sends with its w, element by element; the loss is the sum of what the
// last one makes, and every w gets an eighth of its gradient taken off. A micro-batch is a row of x [micro-batches, 4].
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_PIPELINEPACKAGE_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_PIPELINEPACKAGE_H

#include "meshwright/Orders/TaskOrder.h"
#include "package.pb.h"

namespace meshwright::test {

inline constexpr int64_t pipelineWidth = 4;

struct PipelineOptions {
  /// The time that a forward, and each half of a backward, sleeps; 0 for none.
  int32_t milliseconds = 0;
};

/// A mesh pp with a rank for each of the order. Variables `w0`, `w1`, ... of the stages, input `x`, outputs `loss` and
/// for every rank `busy0`, `busy1`, ..., the seconds that it slept. Beside it the serial program.
Package makePipelinePackage(const schedule::TaskOrder &order, const PipelineOptions &options = {});

} // namespace meshwright::test

#endif
