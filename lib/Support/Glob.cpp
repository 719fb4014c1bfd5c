//===- Glob.cpp - patterns over dotted names ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The states are positions in the glob; all that can be reached after a piece of the name are kept at once, so that no
// glob takes exponential time.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Glob.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

/// Cuts `text` into characters; a backslash and what follows it are one piece.
static SmallVector<StringRef> pieces(StringRef text) {
  SmallVector<StringRef> result;
  while (!text.empty()) {
    size_t length = text.front() == '\\' && text.size() > 1 ? 2 : 1;
    result.push_back(text.take_front(length));
    text = text.drop_front(length);
  }
  return result;
}

/// Whether a piece of a glob that is neither `*` nor `?` stands for `piece` of a name.
static bool isLiteral(StringRef pattern, StringRef piece) {
  if (pattern == piece)
    return true;
  return pattern.size() == 2 && pattern != "\\." && pattern.drop_front() == piece;
}

bool meshwright::matchGlob(StringRef glob, StringRef name) {
  SmallVector<StringRef> patterns = pieces(glob);
  size_t end = patterns.size();
  BitVector states(end + 1), next(end + 1);
  // A star may match nothing.
  auto enter = [&](BitVector &set, size_t state) {
    set.set(state);
    for (; state < end && patterns[state] == "*"; ++state)
      set.set(state + 1);
  };
  enter(states, 0);
  for (StringRef piece : pieces(name)) {
    next.reset();
    for (unsigned state : states.set_bits()) {
      if (state == end)
        continue;
      StringRef pattern = patterns[state];
      bool isRun = pattern == "?" && piece != ".";
      if (pattern == "*" || isRun)
        enter(next, state);
      if (isRun || (pattern != "*" && pattern != "?" && isLiteral(pattern, piece)))
        enter(next, state + 1);
    }
    std::swap(states, next);
  }
  return states.test(end);
}
