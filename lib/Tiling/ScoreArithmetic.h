//===- ScoreArithmetic.h - the arithmetic of a kernel of scores --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TILING_SCOREARITHMETIC_H
#define MESHWRIGHT_LIB_TILING_SCOREARITHMETIC_H

#include "dialects/Dist/Dist.h"

namespace meshwright::tiling {

/// Lets `kernel` compute with scores in f32, in which its products add: values that depend on a product and are computed
/// element by element are rounded to 16 bits only where a product or a reduction reads them. Quotients by a value that
/// is repeated become products with its inverse. Both change results by less than the roundings that they replace.
void simplifyArithmetic(dist::KernelOp kernel);

} // namespace meshwright::tiling

#endif
