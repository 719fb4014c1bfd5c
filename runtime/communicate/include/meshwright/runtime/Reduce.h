//===- Reduce.h - elementwise reduction of buffers --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_REDUCE_H
#define MESHWRIGHT_RUNTIME_REDUCE_H

#include "meshwright/runtime/Communicator.h"
#include <span>

namespace meshwright::runtime {

/// Reduces elements [begin, end) of `inputs`, in their order, and writes the result to the same positions of every one
/// of `outputs` (of which one may be an input).
using ReduceFn = void (*)(std::span<const std::byte *const> inputs, std::span<std::byte *const> outputs, uint64_t begin,
                          uint64_t end);

/// The function for a reduction that is defined on the type; null where it is not.
ReduceFn getReduceFn(Collective::Reduction reduction, DType type);

} // namespace meshwright::runtime

#endif
