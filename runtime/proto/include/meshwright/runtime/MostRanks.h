//===- MostRanks.h - how large a mesh may be --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_MOSTRANKS_H
#define MESHWRIGHT_RUNTIME_MOSTRANKS_H

#include <cstdint>

namespace meshwright::runtime {

/// The most ranks of a mesh that is compiled for or run: every rank has an entry in a package, and some checks look at
/// each.
inline constexpr int64_t mostRanks = 65536;

} // namespace meshwright::runtime

#endif
