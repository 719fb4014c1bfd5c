//===- SharedWork.h - collectives in memory that all reach ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the members of a group reach each other's buffers, a collective is: all have come, each does its share, all are
// done. The shares of all members write every result once, and an element is touched by one member alone, so that
// results may lie in the place of operands. With n members and B bytes of the full value, a member's share of an
// all-reduce reads B and writes B in its slice of all buffers, that of a reduce reads B in its slice, and of the others
// it reads and writes the member's result.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SHAREDWORK_H
#define MESHWRIGHT_RUNTIME_SHAREDWORK_H

#include "meshwright/runtime/Communicator.h"
#include <span>

namespace meshwright::runtime {

/// A member's share of a collective, as the sums and copies that it consists of. Nothing is allocated while it is done.
class SharedWork {
public:
  virtual ~SharedWork() = default;
  /// The member that has `position` does its share of what all members bring, which agrees.
  Status perform(std::span<const CollectiveCall *const> calls, size_t position);

protected:
  /// For a group of that size.
  explicit SharedWork(size_t members) : inputs(members), outputs(members) {}

  /// Reduces elements [begin, end) of `inputs`, in their order, into the same places of every one of `outputs`. There
  /// may be none.
  virtual Status reduce(std::span<const std::byte *const> inputs, std::span<std::byte *const> outputs, uint64_t begin,
                        uint64_t end) = 0;
  /// Copies some bytes between buffers that do not overlap.
  virtual Status copy(std::byte *to, const std::byte *from, uint64_t bytes) = 0;

private:
  using Calls = std::span<const CollectiveCall *const>;
  Status reducePart(Calls calls, size_t position, size_t index);
  Status movePart(Calls calls, size_t position, size_t index);

  std::vector<const std::byte *> inputs;
  std::vector<std::byte *> outputs;
};

} // namespace meshwright::runtime

#endif
