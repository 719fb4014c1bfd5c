//===- AmxMatmul.h - f32 products of bf16 tiles -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_AMXMATMUL_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_AMXMATMUL_H

#include "meshwright/runtime/MatmulProblem.h"
#include <cstddef>

namespace meshwright::runtime {

/// True if this process may use the tiles of AMX, which it asks the system for. The variable of the environment that
/// bounds the instructions of oneDNN bounds those of the runtime too.
bool hasAmx();

/// True if tiles are the fastest way to compute the product: it is one of f32, whose operands and result have lines in
/// memory, and is long enough in all directions. `hasAmx` is asked by the caller.
bool isForAmx(const MatmulProblem &problem);

/// Bytes of scratch memory that the product needs on so many threads, aligned to 64.
size_t getAmxMatmulScratch(const MatmulProblem &problem, int threads);

/// Memory for the right operand of a product in tiles of bf16, as the first product with that operand leaves it and
/// later ones read it.
struct PackedRight {
  std::byte *at = nullptr; ///< aligned to 64; null where no other product has the operand
  bool isPacked = false;   ///< whether an earlier product has left it there
};

/// Bytes of that memory; 0 where packing is a small part of the product, or threads share what is packed.
size_t getAmxRightBytes(const MatmulProblem &problem, int threads);

/// Computes a product that `isForAmx`, on so many threads, on whose number the bits do not depend, nor on whether its
/// right operand is packed. Its error is at most that of f32 operations, apart from 2^-126 for each term.
void runAmxMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                  std::byte *scratch, int threads, const PackedRight &right = {});

} // namespace meshwright::runtime

#endif
