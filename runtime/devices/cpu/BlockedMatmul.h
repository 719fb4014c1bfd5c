//===- BlockedMatmul.h - products without a library -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_BLOCKEDMATMUL_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_BLOCKEDMATMUL_H

#include "meshwright/runtime/MatmulProblem.h"
#include <cstddef>

namespace meshwright::runtime {

/// Bytes of scratch memory that the product needs on so many threads, aligned to 64.
size_t getBlockedMatmulScratch(const MatmulProblem &problem, int threads);

/// Computes the product on so many threads, on whose number the bits do not depend. Floats are accumulated in f64 if
/// one of the types is f64, else in f32; integers wrap in 64 bits, and residues in their field.
void runBlockedMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                      std::byte *scratch, int threads);

} // namespace meshwright::runtime

#endif
