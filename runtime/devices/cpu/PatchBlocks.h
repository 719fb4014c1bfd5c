//===- PatchBlocks.h - the memory around products of patches ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_PATCHBLOCKS_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_PATCHBLOCKS_H

#include "meshwright/runtime/ConvolutionProblem.h"
#include <cstddef>
#include <span>

namespace meshwright::runtime {

/// Gathers a block of patches of `lhs`, that of a group: element (row, column) goes to row · rowStride + column ·
/// depthStride of `block`. Spans of rows longer than 1 ask for a rowStride of 1, those of columns for such a
/// depthStride.
void gatherPatches(const ConvolutionProblem &problem, std::span<const Span> rows, std::span<const Span> columns,
                   const std::byte *lhs, std::byte *block, int64_t rowStride, int64_t depthStride);

/// Copies the part of `rhs`, that of a group, that meets these columns, one row of features for each.
void gatherKernel(const ConvolutionProblem &problem, std::span<const Span> columns, const std::byte *rhs,
                  std::byte *block);

/// Adds numbers of the type that sums are taken in.
void addSums(DType type, const std::byte *addends, std::byte *sums, int64_t count);

/// Writes sums, one row of features for each of `rows`, into `out`, that of a group.
void storeSums(const ConvolutionProblem &problem, std::span<const Span> rows, const std::byte *sums, std::byte *out);

/// Computes iterations [from, to) of the outermost loop over rows of a convolution of which every group is small: the
/// sums of all groups beside each other. `sums` has room for one of each group in f64.
void convolveGroups(const ConvolutionProblem &problem, int64_t from, int64_t to, const std::byte *lhs,
                    const std::byte *rhs, std::byte *out, std::byte *sums);

} // namespace meshwright::runtime

#endif
