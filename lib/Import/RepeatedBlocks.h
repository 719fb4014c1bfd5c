//===- RepeatedBlocks.h - the layers of a network by structure --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_REPEATEDBLOCKS_H
#define MESHWRIGHT_LIB_IMPORT_REPEATEDBLOCKS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace meshwright::importer {

/// A network in program order, as far as its repeated structure depends on it.
struct NetworkShape {
  struct Op {
    /// Equal for operations that do the same with values of the same types.
    uint64_t kind = 0;
    /// The operations whose results it reads, each of them earlier.
    llvm::SmallVector<unsigned, 2> operands;
    /// Bytes of its results where they are activations, which depend on inputs and on parameters; else 0.
    int64_t bytes = 0;
    /// Whether it applies a parameter to data. Blocks are told by the sequence of these.
    bool isAnchor = false;
    /// Whether it is a product: a block has one at least.
    bool isHeavy = false;
    /// Whether a block may begin with it: not inside of a loop.
    bool mayBegin = true;
  };
  llvm::SmallVector<Op, 0> ops;
};

/// A stretch of a sequence that repeats its first `period` elements: element i is equal to element i + period as long
/// as both are in [begin, end). Maximal, and at least two periods long.
struct Repetition {
  unsigned begin = 0, end = 0, period = 0;
  bool operator==(const Repetition &) const = default;
};

/// The longest repetitions of a sequence with every period, those that others contain with the same period left out; in
/// O(n log n) by the algorithm of Main and Lorentz (1984). Ordered by length, longest first, then by period and place.
llvm::SmallVector<Repetition, 0> findRepetitions(llvm::ArrayRef<uint64_t> sequence);

/// Consecutive blocks: block i is operations [begins[i], begins[i + 1]).
using BlockRow = llvm::SmallVector<unsigned, 0>;

/// The rows of repeated blocks of `network`, in program order. Two blocks of a row have the same anchors. Blocks begin
/// where the fewest bytes of activations are alive, at the last such place; where a repetition can be cut at several
/// anchors likewise. A value that crosses more than one border, such as the output of an encoder that all blocks of the
/// decoder read, is read alike by all blocks of the row, else that repetition is no row of blocks: the halves of a
/// residual block are alike too, but for what the sum in the second one reads.
llvm::SmallVector<BlockRow, 0> findRepeatedBlocks(const NetworkShape &network);

} // namespace meshwright::importer

#endif
