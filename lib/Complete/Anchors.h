//===- Anchors.h - segment and block borders by scope -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_ANCHORS_H
#define MESHWRIGHT_LIB_COMPLETE_ANCHORS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>

namespace meshwright::complete {

/// Finds where anchors, `SCOPE.in` and `SCOPE.out`, cut a list of items. The block of a scope consists of the items in
/// the scope or in scopes below it.
class AnchorFinder {
public:
  /// Adds an anchor; returns false unless its text ends in `.in` or `.out`.
  bool add(llvm::StringRef anchor);
  /// Visits the next item. An item with an empty scope, or a `passive` one, neither enters nor leaves a block.
  void visit(llvm::StringRef scope, bool backward, bool passive);

  struct Anchor {
    std::string text;
    /// For forward and backward: the number of times the block is entered, its first item, and the item after its last.
    std::array<int64_t, 2> entered = {0, 0}, begin = {0, 0}, end = {0, 0};
    bool out = false;
    bool isMetOnce() const { return entered[0] == 1 && entered[1] == 1; }
  };
  llvm::ArrayRef<Anchor> getAnchors() const { return anchors; }
  /// The items before which a segment begins, in increasing order. All anchors must be met once.
  llvm::SmallVector<int64_t, 0> getCuts() const;

private:
  llvm::SmallVector<Anchor, 0> anchors;
  /// The anchors of every block, by index.
  llvm::StringMap<llvm::SmallVector<unsigned, 2>> blocks;
  /// Per anchor and role: the number of the anchor's last item, counting items that are not passive.
  llvm::SmallVector<std::array<int64_t, 2>, 0> last;
  int64_t numItems = 0, numActive = 0;
};

} // namespace meshwright::complete

#endif
