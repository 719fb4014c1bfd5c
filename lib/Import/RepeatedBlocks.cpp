//===- RepeatedBlocks.cpp - maximal repetitions, cut into blocks ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations that apply parameters to data (anchors), in program order, form a sequence; its repetitions are rows
// of blocks:
//
//   embed | ln qkv out ln up down | ln qkv out ln up down | ln head
//           └── period 6 ───────┘                           ↑ part of the repetition, but of no whole period
//
// A repetition can be cut at several places. The best one has the fewest live bytes: one activation is alive between
// two blocks, several are alive inside a block.
//
//===----------------------------------------------------------------------===//

#include "RepeatedBlocks.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

using namespace meshwright;
using namespace meshwright::importer;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

//===----------------------------------------------------------------------===//
// Repetitions
//===----------------------------------------------------------------------===//

/// The Z function: for every position the length of the longest common prefix of `text` and its suffix from there.
static SmallVector<unsigned, 0> matchPrefix(ArrayRef<uint64_t> text) {
  SmallVector<unsigned, 0> length(text.size(), 0);
  if (!text.empty())
    length[0] = text.size();
  for (size_t i = 1, begin = 0, end = 0; i < text.size(); ++i) {
    size_t known = i < end ? std::min<size_t>(length[i - begin], end - i) : 0;
    while (i + known < text.size() && text[known] == text[i + known])
      ++known;
    length[i] = known;
    if (i + known > end)
      std::tie(begin, end) = std::tuple(i, i + known);
  }
  return length;
}

/// For every position of `text` the length of the longest common prefix of `pattern` and the suffix from there.
static SmallVector<unsigned, 0> matchPattern(ArrayRef<uint64_t> pattern, ArrayRef<uint64_t> text) {
  SmallVector<uint64_t, 0> joined(pattern);
  llvm::append_range(joined, text);
  SmallVector<unsigned, 0> length = matchPrefix(joined);
  length.erase(length.begin(), length.begin() + pattern.size());
  for (unsigned &value : length)
    value = std::min<unsigned>(value, pattern.size());
  return length;
}

static SmallVector<uint64_t, 0> reversed(ArrayRef<uint64_t> text) {
  return SmallVector<uint64_t, 0>(text.rbegin(), text.rend());
}

/// Adds the repetitions of [begin, end) that touch its middle. A repetition of period p that begins at least p before
/// the middle is found by comparing the sequence shifted by p around `middle - p`, any other one around `middle`.
static void addMiddle(ArrayRef<uint64_t> sequence, unsigned begin, unsigned end, SmallVectorImpl<Repetition> &found) {
  unsigned middle = begin + (end - begin) / 2;
  ArrayRef<uint64_t> left = sequence.slice(begin, middle - begin), right = sequence.slice(middle, end - middle);
  SmallVector<uint64_t, 0> leftBack = reversed(left), whole = reversed(sequence.slice(begin, end - begin));
  SmallVector<unsigned, 0> rightInAll = matchPattern(right, sequence.slice(begin, end - begin)),
                           leftInLeft = matchPrefix(leftBack), rightInRight = matchPrefix(right),
                           leftInAll = matchPattern(leftBack, whole);
  auto add = [&](unsigned from, unsigned to, unsigned period) {
    if (to - from >= 2 * period)
      found.push_back({from, to, period});
  };
  for (unsigned period = 1; period <= left.size(); ++period) {
    unsigned forward = rightInAll[left.size() - period];
    unsigned backward = period < left.size() ? leftInLeft[period] : 0;
    add(middle - period - backward, middle + forward, period);
  }
  for (unsigned period = 1; period <= right.size(); ++period) {
    unsigned forward = period < right.size() ? rightInRight[period] : 0;
    unsigned backward = leftInAll[right.size() - period];
    add(middle - backward, middle + period + forward, period);
  }
}

SmallVector<Repetition, 0> importer::findRepetitions(ArrayRef<uint64_t> sequence) {
  SmallVector<Repetition, 0> found;
  SmallVector<std::pair<unsigned, unsigned>> pending{{0, sequence.size()}};
  while (!pending.empty()) {
    auto [begin, end] = pending.pop_back_val();
    if (end - begin < 2)
      continue;
    addMiddle(sequence, begin, end, found);
    unsigned middle = begin + (end - begin) / 2;
    pending.push_back({begin, middle});
    pending.push_back({middle, end});
  }
  // Two repetitions with the same period overlap by less than a period, so if two share an end, one contains the other.
  llvm::sort(found, [](const Repetition &a, const Repetition &b) {
    return std::tuple(a.period, a.begin, b.end) < std::tuple(b.period, b.begin, a.end);
  });
  SmallVector<Repetition, 0> maximal;
  for (const Repetition &repetition : found)
    if (maximal.empty() || maximal.back().period != repetition.period || maximal.back().end < repetition.end)
      maximal.push_back(repetition);
  llvm::sort(maximal, [](const Repetition &a, const Repetition &b) {
    return std::tuple(b.end - b.begin, a.period, a.begin) < std::tuple(a.end - a.begin, b.period, b.begin);
  });
  return maximal;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The live bytes of a place where no block may begin.
static constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();

namespace {

/// Cuts repetitions of anchors into rows of blocks.
class BlockCutter {
public:
  explicit BlockCutter(const NetworkShape &network);

  SmallVector<BlockRow, 0> run();

private:
  void findPlaces();
  std::optional<BlockRow> cut(const Repetition &repetition) const;
  int64_t getMostBytes(unsigned first, unsigned period, unsigned blocks) const;
  BlockRow getRow(unsigned first, unsigned period, unsigned blocks) const;
  bool isRow(ArrayRef<unsigned> row) const;
  bool isReadAlike(unsigned value, ArrayRef<unsigned> row) const;
  bool isFree(const Repetition &repetition) const { return used.find_first_in(repetition.begin, repetition.end) < 0; }

  const NetworkShape &network;
  SmallVector<unsigned, 0> anchors;
  /// The operations that read the results of each operation, in program order.
  SmallVector<SmallVector<unsigned, 2>, 0> readers;
  /// For anchor i, the best first operation of a block whose first anchor it is. The last entry is the best end of a
  /// block with the last anchor.
  SmallVector<unsigned, 0> places;
  /// Bytes of the activations that are alive before each operation.
  SmallVector<int64_t, 0> alive;
  /// Anchors that already belong to a block.
  llvm::BitVector used;
};

} // namespace

BlockCutter::BlockCutter(const NetworkShape &network) : network(network), readers(network.ops.size()) {
  for (auto [index, op] : llvm::enumerate(network.ops)) {
    if (op.isAnchor)
      anchors.push_back(index);
    for (unsigned operand : op.operands)
      if (readers[operand].empty() || readers[operand].back() != index)
        readers[operand].push_back(index);
  }
  used.resize(anchors.size());
  findPlaces();
}

/// Finds for each anchor the place between the previous anchor and itself where the fewest bytes are alive, the last
/// one of several; and such a place after the last anchor.
void BlockCutter::findPlaces() {
  SmallVector<int64_t, 0> ending(network.ops.size() + 1, 0);
  int64_t bytes = 0;
  unsigned best = 0;
  auto visit = [&](unsigned op, bool mayBegin) {
    // A value dies after its last reader.
    bytes -= ending[op];
    alive.push_back(mayBegin ? bytes : kNowhere);
    if (alive[op] <= alive[best])
      best = op;
  };
  for (auto [index, op] : llvm::enumerate(network.ops)) {
    visit(index, op.mayBegin);
    if (op.isAnchor) {
      places.push_back(best);
      best = index + 1;
    }
    if (op.bytes > 0 && !readers[index].empty()) {
      bytes += op.bytes;
      ending[readers[index].back() + 1] += op.bytes;
    }
  }
  visit(network.ops.size(), true);
  places.push_back(best);
}

int64_t BlockCutter::getMostBytes(unsigned first, unsigned period, unsigned blocks) const {
  int64_t most = 0;
  for (unsigned block = 1; block < blocks; ++block)
    most = std::max(most, alive[places[first + block * period]]);
  return most;
}

/// The row of blocks with `period` anchors each. Its outer borders are as far from their anchors as the first inner
/// border, unless more bytes are alive there: the first norm of a head does not belong to the last block.
BlockRow BlockCutter::getRow(unsigned first, unsigned period, unsigned blocks) const {
  BlockRow row;
  for (unsigned block = 0; block <= blocks; ++block)
    row.push_back(places[first + block * period]);
  unsigned inner = first + period, last = first + blocks * period - 1;
  unsigned before = anchors[inner] - row[1], after = row[1] - anchors[inner - 1];
  unsigned begin = anchors[first] - std::min(before, anchors[first]), end = anchors[last] + after;
  if ((first == 0 || begin > anchors[first - 1]) && alive[begin] <= alive[row.front()])
    row.front() = begin;
  if (end <= row.back() && alive[end] <= alive[row[1]])
    row.back() = end;
  return row;
}

/// True if `value` is only read in its own block and the next one, or in the same way in all blocks after its own. A
/// value from before the row is read in the first block only, or in the same way in all.
bool BlockCutter::isReadAlike(unsigned value, ArrayRef<unsigned> row) const {
  auto getBlock = [&](unsigned op) -> int { return llvm::upper_bound(row, op) - row.begin() - 1; };
  int maker = getBlock(value);
  std::map<int, SmallVector<uint64_t, 4>> kinds;
  for (unsigned reader : readers[value])
    if (int block = getBlock(reader); block > maker && reader < row.back())
      kinds[block].push_back(network.ops[reader].kind);
  if (kinds.empty() || kinds.rbegin()->first == maker + 1)
    return true;
  for (auto &[block, ofBlock] : kinds)
    llvm::sort(ofBlock);
  size_t after = row.size() - 2 - maker;
  return kinds.size() == after &&
         llvm::all_of(kinds, [&](const auto &entry) { return entry.second == kinds.begin()->second; });
}

/// True if every block has a GEMM and reads an activation of the block before it, and `isReadAlike` holds for all
/// values.
bool BlockCutter::isRow(ArrayRef<unsigned> row) const {
  for (unsigned block = 0; block + 1 < row.size(); ++block) {
    bool hasProduct = false, isChained = block == 0;
    for (unsigned index = row[block]; index < row[block + 1]; ++index) {
      const NetworkShape::Op &op = network.ops[index];
      hasProduct |= op.isHeavy;
      isChained = isChained || llvm::any_of(op.operands, [&](unsigned operand) {
                    return network.ops[operand].bytes > 0 && row[block - 1] <= operand && operand < row[block];
                  });
    }
    if (!hasProduct || !isChained)
      return false;
  }
  for (unsigned value = 0; value < row.back(); ++value)
    if (network.ops[value].bytes > 0 && !isReadAlike(value, row))
      return false;
  return true;
}

/// The blocks of a repetition: as few periods per block as make a valid row, cut where the fewest bytes cross the worst
/// border.
std::optional<BlockRow> BlockCutter::cut(const Repetition &repetition) const {
  constexpr unsigned kMostPeriods = 8;
  unsigned length = repetition.end - repetition.begin;
  unsigned most = std::min(length / 2, kMostPeriods * repetition.period);
  for (unsigned period = repetition.period; period <= most; period += repetition.period) {
    unsigned blocks = length / period, slack = length % period, best = repetition.begin;
    for (unsigned first = repetition.begin; first <= repetition.begin + slack; ++first)
      if (getMostBytes(first, period, blocks) <= getMostBytes(best, period, blocks))
        best = first;
    BlockRow row = getRow(best, period, blocks);
    if (getMostBytes(best, period, blocks) < kNowhere && isRow(row))
      return row;
  }
  return std::nullopt;
}

SmallVector<BlockRow, 0> BlockCutter::run() {
  SmallVector<uint64_t, 0> kinds;
  for (unsigned anchor : anchors)
    kinds.push_back(network.ops[anchor].kind);
  SmallVector<BlockRow, 0> rows;
  // Each attempt visits the whole network, so their number is bounded; the longest repetitions come first.
  constexpr unsigned kMostAttempts = 64;
  unsigned longest = 0, attempts = 0;
  for (const Repetition &repetition : findRepetitions(kinds)) {
    // Two small layers of one kind next to many large blocks do not form blocks.
    if (4 * (repetition.end - repetition.begin) < longest || attempts == kMostAttempts)
      break;
    if (!isFree(repetition))
      continue;
    ++attempts;
    std::optional<BlockRow> row = cut(repetition);
    if (!row)
      continue;
    longest = std::max(longest, repetition.end - repetition.begin);
    used.set(repetition.begin, repetition.end);
    rows.push_back(std::move(*row));
  }
  llvm::sort(rows, [](const BlockRow &a, const BlockRow &b) { return a.front() < b.front(); });
  return rows;
}

SmallVector<BlockRow, 0> importer::findRepeatedBlocks(const NetworkShape &network) {
  return BlockCutter(network).run();
}
