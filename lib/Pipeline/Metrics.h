//===- Metrics.h - what a package reports while it runs ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_METRICS_H
#define MESHWRIGHT_LIB_PIPELINE_METRICS_H

#include "meshwright/Emit/Emit.h"

namespace meshwright {

/// Fills in what the metrics report from the serial step: the loss is the first scalar float among its results, the
/// learning rate the result `lr`, the norm of the gradients `grad_norm`, and `loss_scale`, `found_inf` and
/// `skipped_steps` are called so; a token is an element of the first integer input with a batch, else a sample is. The
/// arithmetic is the narrowest float type that any operation computes.
void describeMetrics(mlir::ModuleOp serial, emit::EmitOptions &options);

} // namespace meshwright

#endif
