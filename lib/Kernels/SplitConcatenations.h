//===- SplitConcatenations.h - splits concatenations with many operands -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_SPLITCONCATENATIONS_H
#define MESHWRIGHT_LIB_KERNELS_SPLITCONCATENATIONS_H

#include "mlir/IR/Block.h"

namespace meshwright::schedule {

/// The most operands of a concatenation that is computed in one kernel.
inline constexpr unsigned kMaxConcatenated = 16;

/// Makes trees of concatenations of at most `kMaxConcatenated` operands each. For every element a kernel looks at each
/// operand whether it is the one: for n operands of equal size that is work, and code, in proportion to n² otherwise.
void splitConcatenations(mlir::Block &block);

} // namespace meshwright::schedule

#endif
