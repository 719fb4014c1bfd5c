//===- Glob.cpp - matching of globs over dotted names ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simulates a nondeterministic automaton whose states are positions in the glob. All reachable states are kept at once,
// so that no glob takes exponential time.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Glob.h"
#include "llvm/ADT/BitVector.h"

using namespace llvm;

/// Splits `text` into characters; an escaped character is one piece.
static SmallVector<StringRef> pieces(StringRef text) {
  SmallVector<StringRef> result;
  while (!text.empty()) {
    size_t length = text.front() == '\\' && text.size() > 1 ? 2 : 1;
    result.push_back(text.take_front(length));
    text = text.drop_front(length);
  }
  return result;
}

/// True if a piece of a glob other than `*` and `?` matches `piece` of a name.
static bool isLiteral(StringRef pattern, StringRef piece) {
  if (pattern == piece)
    return true;
  return pattern.size() == 2 && pattern != "\\." && pattern.drop_front() == piece;
}

bool meshwright::matchGlob(StringRef glob, StringRef name) {
  SmallVector<StringRef> patterns = pieces(glob);
  size_t end = patterns.size();
  BitVector states(end + 1), next(end + 1);
  // A star may match the empty text.
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

static bool isWild(StringRef pattern) { return pattern == "*" || pattern == "?"; }

/// For every suffix of the glob, the suffixes of the name that it matches: `[pattern][piece]`.
static SmallVector<BitVector> matchEnds(ArrayRef<StringRef> patterns, ArrayRef<StringRef> name) {
  size_t end = name.size();
  SmallVector<BitVector> matches(patterns.size() + 1, BitVector(end + 1));
  matches.back().set(end);
  for (size_t i = patterns.size(); i-- > 0;)
    for (size_t j = end + 1; j-- > 0;) {
      bool isRun = j < end && (patterns[i] == "*" || (patterns[i] == "?" && name[j] != "."));
      bool isHere = patterns[i] == "*"   ? matches[i + 1][j] || (isRun && matches[i][j + 1])
                    : patterns[i] == "?" ? isRun && (matches[i + 1][j + 1] || matches[i][j + 1])
                                         : j < end && isLiteral(patterns[i], name[j]) && matches[i + 1][j + 1];
      if (isHere)
        matches[i].set(j);
    }
  return matches;
}

std::optional<SmallVector<StringRef>> meshwright::captureGlob(StringRef glob, StringRef name) {
  SmallVector<StringRef> patterns = pieces(glob), parts = pieces(name), captures;
  SmallVector<BitVector> matches = matchEnds(patterns, parts);
  if (!matches[0][0])
    return std::nullopt;
  size_t j = 0;
  auto getOffset = [&](size_t part) { return part < parts.size() ? parts[part].data() - name.data() : name.size(); };
  for (auto [i, pattern] : enumerate(patterns)) {
    size_t begin = j;
    if (pattern != "*")
      ++j;
    while (isWild(pattern) && !matches[i + 1][j])
      ++j;
    if (isWild(pattern))
      captures.push_back(name.slice(getOffset(begin), getOffset(j)));
  }
  return captures;
}

std::optional<std::string> meshwright::fillGlob(StringRef glob, ArrayRef<StringRef> captures) {
  std::string name;
  for (StringRef pattern : pieces(glob)) {
    if (!isWild(pattern)) {
      // A backslash before anything but a dot escapes a character of the glob and is dropped.
      name += pattern.size() == 2 && pattern != "\\." ? pattern.drop_front() : pattern;
      continue;
    }
    if (captures.empty())
      return std::nullopt;
    name += captures.front();
    captures = captures.drop_front();
  }
  return captures.empty() ? std::optional(name) : std::nullopt;
}

bool meshwright::GlobList::match(ArrayRef<StringRef> names, bool isChanged) {
  bool isMatched = false;
  for (auto [use, glob] : llvm::zip_equal(uses, globs)) {
    if (llvm::none_of(names, [&](StringRef name) { return matchGlob(glob, name); }))
      continue;
    if (isChanged && !isMatched)
      use = Use::Effective;
    else if (use == Use::None)
      use = Use::Matched;
    isMatched = true;
  }
  return isMatched;
}

std::optional<unsigned> meshwright::GlobList::findUnmatched() const {
  const auto *unmatched = llvm::find(uses, Use::None);
  return unmatched == uses.end() ? std::nullopt : std::optional<unsigned>(unmatched - uses.begin());
}

SmallVector<unsigned> meshwright::GlobList::findWithoutEffect() const {
  SmallVector<unsigned> found;
  for (auto [index, use] : llvm::enumerate(uses))
    if (use == Use::Matched)
      found.push_back(index);
  return found;
}
