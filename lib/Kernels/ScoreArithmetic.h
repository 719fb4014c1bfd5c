//===- ScoreArithmetic.h - the arithmetic of a kernel of scores --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_SCOREARITHMETIC_H
#define MESHWRIGHT_LIB_KERNELS_SCOREARITHMETIC_H

#include "dialects/Dist/Dist.h"

namespace meshwright::schedule {

/// Lets the kernels of scores in `module` compute in f32, in which their products add: values that depend on a product
/// and are computed element by element are rounded to 16 bits only where a product or a reduction reads them. Nothing
/// is changed if a sum is read where scores are made again outside of kernels, as by a backward that has none: it would
/// compute other probabilities than its forward.
void widenScores(mlir::ModuleOp module);

/// Turns quotients by a value that is repeated into products with its inverse, which rounds once more.
void invertDivisors(dist::KernelOp kernel);

} // namespace meshwright::schedule

#endif
