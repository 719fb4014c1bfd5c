//===- InitialValues.h - values of variables before step 0 ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element's value depends on the variable's name, the seed and the element's index in the whole value alone, so a
// rank computes its part where it lives and every mesh gets the same bits. Only additions, products, quotients and
// square roots in f64 are used, each rounded once, so that every machine gets the same bits too. The formulas, with
// numpy code, are in docs/reference/initial-values.md.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_INITIALVALUES_H
#define MESHWRIGHT_RUNTIME_INITIALVALUES_H

#include "meshwright/runtime/Layout.h"

namespace meshwright::runtime {

/// Checks that values of `type` can be drawn from `init`; errors name what was found.
Status checkInitializer(const Initializer &init, DType type);

/// The stream of a variable: a hash of its name and the seed.
uint64_t getStreamKey(std::string_view name, uint64_t seed);

/// Fills `count` elements of `type` at `to` with the values of the elements from `index` on. The initializer has been
/// checked.
void fillInitialValues(const Initializer &init, uint64_t key, uint64_t index, uint64_t count, DType type,
                       std::byte *to);

/// Fills elements [begin, end) of a rank's array; what lies beyond its part is zero.
void fillInitialValues(const Initializer &init, uint64_t key, const LocalPart &part, DType type,
                       std::span<std::byte> local, uint64_t begin, uint64_t end);

} // namespace meshwright::runtime

#endif
