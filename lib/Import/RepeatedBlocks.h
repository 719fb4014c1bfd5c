//===- RepeatedBlocks.h - repeated blocks of a network ----------*- C++ -*-===//
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

/// The properties of a network's operations, in program order, that determine its repeated structure.
struct NetworkShape {
  struct Op {
    /// A hash of the operation and its types; equal for operations that do the same.
    uint64_t kind = 0;
    /// The earlier operations whose results it reads.
    llvm::SmallVector<unsigned, 2> operands;
    /// Bytes of the results that are activations, that is, depend on inputs and on parameters.
    int64_t bytes = 0;
    /// True if the operation applies a parameter to data. Blocks are recognized by the sequence of anchors.
    bool isAnchor = false;
    /// True for products such as GEMMs; every block has at least one.
    bool isHeavy = false;
    /// True if a block may begin with the operation: it is not inside a loop.
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

/// The maximal repetitions of a sequence for all periods, by the algorithm of Main and Lorentz (1984), in O(n log n).
/// Ordered by descending length, then by period and position.
llvm::SmallVector<Repetition, 0> findRepetitions(llvm::ArrayRef<uint64_t> sequence);

/// Consecutive blocks: block i is operations [begins[i], begins[i + 1]).
using BlockRow = llvm::SmallVector<unsigned, 0>;

/// The rows of repeated blocks of `network`, in program order. All blocks of a row have the same anchors. A block
/// begins where the fewest bytes of activations are alive, at the last of several such places, and so does the row. A
/// value that crosses more than one border, such as the output of an encoder that all blocks of the decoder read, must
/// be read in the same way by all blocks of the row. That rejects the halves of a residual block, which are alike
/// except for the operands of the second sum.
llvm::SmallVector<BlockRow, 0> findRepeatedBlocks(const NetworkShape &network);

} // namespace meshwright::importer

#endif
