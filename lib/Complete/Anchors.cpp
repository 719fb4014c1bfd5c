//===- Anchors.cpp - tracks when scopes begin and end ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Anchors.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright::complete;
using llvm::StringRef;

bool AnchorFinder::add(StringRef text) {
  StringRef block = text;
  bool out = block.consume_back(".out");
  if ((!out && !block.consume_back(".in")) || block.empty())
    return false;
  blocks[block].push_back(anchors.size());
  anchors.emplace_back();
  anchors.back().text = text.str();
  anchors.back().out = out;
  last.push_back({-1, -1});
  return true;
}

void AnchorFinder::visit(StringRef scope, bool backward, bool passive) {
  int64_t item = numItems++;
  if (passive || scope.empty())
    return;
  int64_t active = numActive++;
  auto enter = [&](StringRef block) {
    auto found = blocks.find(block);
    if (found == blocks.end())
      return;
    for (unsigned index : found->second) {
      Anchor &anchor = anchors[index];
      int64_t &before = last[index][backward];
      if (before < 0)
        anchor.begin[backward] = item;
      anchor.entered[backward] += before < 0 || before + 1 != active;
      anchor.end[backward] = item + 1;
      before = active;
    }
  };
  // Every prefix of whole components; an escaped dot does not end a component.
  for (size_t position = 0; position < scope.size(); ++position) {
    if (scope[position] == '\\')
      ++position;
    else if (scope[position] == '.')
      enter(scope.take_front(position));
  }
  enter(scope);
}

llvm::SmallVector<int64_t, 0> AnchorFinder::getCuts() const {
  llvm::SmallVector<int64_t, 0> cuts;
  for (const Anchor &anchor : anchors)
    for (bool backward : {false, true})
      cuts.push_back(anchor.out != backward ? anchor.end[backward] : anchor.begin[backward]);
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  return cuts;
}
