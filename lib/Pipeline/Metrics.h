//===- Metrics.h - finds the metrics of a training step ----------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_METRICS_H
#define MESHWRIGHT_LIB_PIPELINE_METRICS_H

#include "meshwright/Emit/Emit.h"

namespace meshwright {

/// Fills in what the metrics report from the serial step: the loss is the scalar among its results whose name ends in
/// `loss`, else the first scalar float, the learning rate that in `lr`, the norm of the gradients that in `grad_norm`,
/// and so for `loss_scale`, `found_inf` and `skipped_steps`; a token is an element of the first integer input with a
/// batch, else a sample is. The arithmetic is the narrowest float type that any operation computes.
void describeMetrics(mlir::ModuleOp serial, emit::ProgramMetrics &metrics);

} // namespace meshwright

#endif
