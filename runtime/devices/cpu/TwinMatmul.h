//===- TwinMatmul.h - products of the twin ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_TWINMATMUL_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_TWINMATMUL_H

#include "meshwright/runtime/MatmulProblem.h"

namespace meshwright::runtime {

/// Computes a product of f64 whose result is rounded as the twin rounds (Rounding.h). Where it does so at random, every
/// partial sum is, too, by up to half a unit in the last place of f32, or of f64 in programs of f64.
void runTwinMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                   std::byte *scratch, int threads);

} // namespace meshwright::runtime

#endif
