//===- ResidueMatmul.h - products of residues -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_RESIDUEMATMUL_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_RESIDUEMATMUL_H

#include "meshwright/runtime/MatmulProblem.h"
#include <cstddef>

namespace meshwright::runtime {

/// Computes a product whose three types are residues.
void runResidueMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs, std::byte *out);

} // namespace meshwright::runtime

#endif
